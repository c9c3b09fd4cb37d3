package gitremote_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/gitremote"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"https://github.com/acme/flags.git":  "https://github.com/acme/flags.git",
		"https://me@github.com/acme/flags/":  "https://github.com/acme/flags",
		"git@github.com:acme/flags.git":      "ssh://github.com:22/acme/flags.git",
		"ssh://git@git.example:2222/flags":   "ssh://git.example:2222/flags",
		"http://127.0.0.1:8080/flags.git":    "http://127.0.0.1:8080/flags.git",
		"http://git.example/flags.git":       "!unencrypted",
		"https://me:pa55@git.example/flags":  "!password",
		"me:pa55@git.example":                "!password",
		"https://git.example":                "!is no address",
		"file:///etc":                        "!is no address",
		"ext::sh -c true":                    "!is no address",
		"/srv/flags.git":                     "!is no address",
		"https://git.example/flags?a=b":      "!is no address",
		"https://git.example/flags\nx":       "!is no address",
		"":                                   "!is no address",
		"git://git.example/flags":            "!is no address",
		"https://pa55%zz@git.example/flags?": "!is no address",
	} {
		a, err := gitremote.ParseAddress(text)
		words, refused := strings.CutPrefix(want, "!")
		if refused != (err != nil) || !refused && a.String() != want || refused && !strings.Contains(err.Error(), words) || err != nil && strings.Contains(err.Error(), "pa55") {
			t.Errorf("%q is %v, %v; want %s", text, a, err, want)
		}
	}
}

func TestPaths(t *testing.T) {
	for text, want := range map[string]string{"": "", "/": "", "our-config": "our-config", "/a/b/": "a/b", "../a": "!", "a/../b": "!", "a//b": "!", "a/.git": "!", "a/./b": "!", `a\b`: "!", "a\nb": "!"} {
		path, err := gitremote.CheckPath(text)
		if (err != nil) != (want == "!") || err == nil && path != want {
			t.Errorf("%q is %q, %v", text, path, err)
		}
	}
}
