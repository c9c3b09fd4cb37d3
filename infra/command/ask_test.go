package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestAsk(t *testing.T) {
	ask := func(answer string, person bool) (string, error) {
		var stderr bytes.Buffer
		s := &session{Invocation: Invocation{Stdin: strings.NewReader(answer), Stderr: &stderr, person: func(any) bool { return person }}}
		err := s.ask("Really? ")
		return stderr.String(), err
	}
	for _, yes := range []string{"y\n", "Yes\r\n", " y \n"} {
		if asked, err := ask(yes, true); err != nil || asked != "Really? " {
			t.Errorf("%q: %q, %v", yes, asked, err)
		}
	}
	for _, no := range []string{"\n", "n\n", "yet\n"} {
		if _, err := ask(no, true); !errors.Is(err, errNo) {
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
	s := &session{Invocation: Invocation{Getenv: func(string) string { return "" }, Now: System().Now}}
	for _, good := range []string{"Ada <ada@acme.example>", " Ada  Lovelace <ada@acme.example> ", "Ada<ada@acme.example>"} {
		s.author = good
		if by, err := s.signature(t.Context()); err != nil || by.Email != "ada@acme.example" || !strings.HasPrefix(by.Name, "Ada") || by.Check() != nil {
			t.Errorf("%q: %+v, %v", good, by, err)
		}
	}
	for _, bad := range []string{"Ada", "<ada@acme.example>", "Ada <>", "Ada <a b>", "A\nda <ada@acme.example>", "Ada <a@b> <c@d>"} {
		s.author = bad
		if by, err := s.signature(t.Context()); err == nil {
			t.Errorf("%q is %+v", bad, by)
		}
	}
}
