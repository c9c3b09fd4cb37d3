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
		u, ok := baseurl.Parse(text)
		if ok != (want != "") || ok && u.String() != want {
			t.Errorf("%q: %v, %t", text, u, ok)
		}
	}
}
