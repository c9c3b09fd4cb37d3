package terminal_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/terminal"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äöü…"},
		{"a\xff\xffb", 3, "a\xff\xff…"},
	} {
		if got := terminal.Cut(tt.text, tt.most); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

func TestQuote(t *testing.T) {
	key := strings.Repeat("ä", 200)
	for text, want := range map[string]string{
		"":                  `""`,
		"a \"b\"\x1b\u200d": `"a \"b\"\x1b\u200d"`,
		key:                 `"` + key + `"`,
		key + "b":           `"` + key + `…"`,
	} {
		if got := terminal.Quote(text); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}
