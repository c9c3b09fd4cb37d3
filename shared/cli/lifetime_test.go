package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLifetime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "0d": 0, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "-1h": -time.Hour,
		"": -1, "d": -1, "3": -1, "1.5d": -1, "-3d": -1, "200000d": -1, "99999999999d": -1, "3w": -1,
	} {
		if l, err := lifetime(text); (err != nil) != (want == -1) || err == nil && l != want {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
}

func TestAsk(t *testing.T) {
	ask := func(answer string, person bool) (string, error) {
		var stderr bytes.Buffer
		c := &Caller{Stdin: strings.NewReader(answer), Stderr: &stderr, Person: func(any) bool { return person }}
		err := c.Ask("Really? ")
		return stderr.String(), err
	}
	for _, yes := range []string{"y\n", "Yes\r\n", " y \n"} {
		if asked, err := ask(yes, true); err != nil || asked != "Really? " {
			t.Errorf("%q: %q, %v", yes, asked, err)
		}
	}
	for _, no := range []string{"\n", "n\n", "yet\n"} {
		if _, err := ask(no, true); !errors.Is(err, ErrNo) {
			t.Errorf("%q: %v", no, err)
		}
	}
	for _, c := range []struct {
		answer string
		person bool
	}{{"", true}, {"y\n", false}} {
		if _, err := ask(c.answer, c.person); err == nil || !strings.Contains(err.Error(), "--yes") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAuthor(t *testing.T) {
	c := &Caller{Getenv: func(string) string { return "" }, Now: time.Now}
	for _, good := range []string{"Ada <ada@acme.example>", " Ada  Lovelace <ada@acme.example> ", "Ada<ada@acme.example>"} {
		c.Author = good
		if by, err := c.Signature(t.Context()); err != nil || by.Email != "ada@acme.example" || !strings.HasPrefix(by.Name, "Ada") || by.Check() != nil {
			t.Errorf("%q: %+v, %v", good, by, err)
		}
	}
	for _, bad := range []string{"Ada", "<ada@acme.example>", "Ada <>", "Ada <a b>", "A\nda <ada@acme.example>", "Ada <a@b> <c@d>"} {
		c.Author = bad
		if by, err := c.Signature(t.Context()); err == nil {
			t.Errorf("%q is %+v", bad, by)
		}
	}
}

func TestDisplay(t *testing.T) {
	for _, tt := range []struct{ workdir, path, want string }{
		{"/home/ada/app", "/home/ada/app/our-config/svc.json", "our-config/svc.json"},
		{"/home/ada/app", "/home/ada/other", "/home/ada/other"},
		{"/home/ada/app", "/home/ada/app..d/x", "/home/ada/app..d/x"},
		{"/", "/var/lib/svc/data/first.key", "/var/lib/svc/data/first.key"}, // of a service
	} {
		workdir, path, want := filepath.FromSlash(tt.workdir), filepath.FromSlash(tt.path), filepath.FromSlash(tt.want)
		if got := Display(workdir, path); got != want {
			t.Errorf("in %s, %s is shown as %s, not %s", workdir, path, got, want)
		}
	}
}
