package requestid_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/requestid"
)

func TestIDsAreValidAndDiffer(t *testing.T) {
	a, b := requestid.New(), requestid.New()
	if !requestid.Valid(a) || !requestid.Valid(b) || a == b {
		t.Errorf("got %q and %q", a, b)
	}
	for _, bad := range []string{"", a[:31], a + "0", strings.ToUpper("ab" + a[2:]), " " + a[1:], "g" + a[1:]} {
		if requestid.Valid(bad) {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}

func TestNamesThatAreRepeated(t *testing.T) {
	for name, want := range map[string]string{
		"":                        "",
		"build-17/step.3":         "build-17/step.3",
		strings.Repeat("x", 128):  strings.Repeat("x", 128),
		strings.Repeat("x", 129):  "",
		"with space":              "",
		"line\nbreak":             "",
		"\x1b[31mred":             "",
		"ümlaut":                  "",
		"\"quoted\"<script>&amp;": "\"quoted\"<script>&amp;",
	} {
		if got := requestid.Named(name); got != want {
			t.Errorf("%q is repeated as %q, want %q", name, got, want)
		}
	}
}
