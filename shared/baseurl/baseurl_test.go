package baseurl_test

import (
	"testing"

	"svc.example/svc/shared/baseurl"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://flags.example.com":     "https://flags.example.com",
		"http://127.0.0.1:6581/v1/":     "http://127.0.0.1:6581/v1",
		"https://x.example/a/b//":       "https://x.example/a/b",
		"":                              "",
		"flags.example.com":             "",
		"ftp://flags.example.com":       "",
		"https://":                      "",
		"https://me@flags.example.com":  "",
		"https://flags.example.com?a=b": "",
		"https://flags.example.com#a":   "",
		"https://flags example.com":     "",
	} {
		if u, ok := baseurl.Parse(text); ok != (want != "") || ok && u.String() != want {
			t.Errorf("%q: %v, %t", text, u, ok)
		}
	}
}

func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"https://flags.example.com/v1":         "https://flags.example.com/v1",
		"https://ada:secret@flags.example.com": "https://xxxxx@flags.example.com",
		"https://token@flags.example.com/v1":   "https://xxxxx@flags.example.com/v1",
		"https://ada:s@cr@t@host":              "https://xxxxx@host",
		"https://ada:%zz@host":                 "https://xxxxx@host",
		"ada:secret@host":                      "xxxxx@host",
		"":                                     "",
	} {
		if got := baseurl.Redacted(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
