package repository

import (
	"errors"
	"fmt"
	"strings"

	"svc.example/svc/shared/repository/object"
)

// check says everything that is wrong with a draft.
func (d Draft) check() error {
	var problems []error
	note := func(where string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", where, err))
		}
	}
	note("author", d.Author.Check())
	note("committer", d.Committer.Check())
	note("message", object.CheckMessage(d.Message))
	seen := map[string]bool{}
	for i, change := range d.Changes {
		where := fmt.Sprintf("changes[%d]", i)
		note(where, checkPath(change.Path))
		if seen[change.Path] {
			note(where, fmt.Errorf("%q is changed twice", change.Path))
		}
		seen[change.Path] = true
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %w", ErrDraft, errors.Join(problems...))
	}
	return nil
}

// message is what is committed: git's own end in exactly one line break.
func (d Draft) message() string { return strings.TrimRight(d.Message, "\n") + "\n" }
