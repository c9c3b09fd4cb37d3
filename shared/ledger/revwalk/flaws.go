package revwalk

import (
	"errors"
	"fmt"
	"strings"

	"svc.example/svc/shared/terminal"
)

// Flaws are what git fsck calls errors in a history: the first ones in words, and how many
// more there are.
type Flaws struct {
	first []string
	more  int
}

const (
	maxFlaws = 50
	maxTold  = 300 // bytes of a path, and of what is wrong
)

// flaw notes one where Reach is.
func (r *Reach) flaw(name, what string) {
	if len(r.Flaws.first) == maxFlaws {
		r.Flaws.more++
		return
	}
	where := "commit " + r.commitID.String()
	if name != "" || len(r.path) > 0 {
		where += ", " + terminal.Quote(terminal.Cut(strings.Join(append(r.path[:len(r.path):len(r.path)], name), "/"), maxTold))
	}
	r.Flaws.first = append(r.Flaws.first, where+": "+terminal.Cut(what, maxTold))
}

// Err tells them, and what to do; nil where there are none.
func (f *Flaws) Err() error {
	if len(f.first) == 0 {
		return nil
	}
	text := "git calls it broken, and refuses it where it looks, in a clone or a push:\n" + strings.Join(f.first, "\n")
	if f.more > 0 {
		text += fmt.Sprintf("\nand %d more", f.more)
	}
	return errors.New(text + "\ngit fsck tells of it too. Write the history anew without it (git filter-repo), or import the files alone, from a copy of the directory without .git")
}
