package repository

import "testing"

// The id joins the trailers that are there, as git interpret-trailers has it.
func TestWhereTheRequestIdStands(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	const line = "Request-Id: " + id + "\n"
	for message, want := range map[string]string{
		"Import shop\n":                          "Import shop\n\n" + line,
		"fix: a subject that looks like one":     "fix: a subject that looks like one\n\n" + line,
		"subject\n\nbody":                        "subject\n\nbody\n\n" + line,
		"subject\n\nbody\n\nSigned-off-by: A\n":  "subject\n\nbody\n\nSigned-off-by: A\n" + line,
		"subject\n\nSvc-Principal: user/a\n\n\n": "subject\n\nSvc-Principal: user/a\n" + line,
		"subject\n\nnot a trailer\nKey: value":   "subject\n\nnot a trailer\nKey: value\n\n" + line,
	} {
		if got := (Draft{Message: message, RequestID: id}).message(); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", message, got, want)
		}
	}
}
