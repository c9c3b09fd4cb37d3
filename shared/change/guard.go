package change

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
)

// A guard is a service account that a commit has named when it was made, and that may take
// it back where others have to approve changes: what only stops something is not held up.
// Whether there is such an account, and may edit, is asked when it does so.

// maxGuard is how many characters the name of one has at most.
const maxGuard = 100

// guardIssues are what is wrong with the name of a guard by itself.
func (r Request) guardIssues(files bool) (issues []document.Issue) {
	at := cmp.Or(r.GuardAt, "/guard")
	switch {
	case r.Guard == "":
		return nil
	case files:
		issues = []document.Issue{{Pointer: at, Message: "files keep no commits that a guard could take back; leave guard out"}}
	case r.Guard != access.PlainName(r.Guard) || utf8.RuneCountInString(r.Guard) > maxGuard:
		issues = []document.Issue{{Pointer: at, Message: "guard is the name or the id of a service account, in one line of at most 100 characters, as svc key list has it"}}
	}
	return r.with(issues)
}

// guardTrailers are the lines in which a plan's commit speaks of guards, and of what it takes back.
func (p *plan) guardTrailers(r Request) (trailers []string) {
	if r.Guard != "" {
		trailers = append(trailers, feed.Guard+r.Guard+"\n")
	}
	var undoes []string
	for _, a := range p.final {
		if v := a.write.undoes; v != nil && !slices.Contains(undoes, v.commit) {
			undoes = append(undoes, v.commit)
		}
	}
	if len(undoes) > 0 {
		trailers = append(trailers, feed.Undoes+strings.Join(undoes, ", ")+"\n")
	}
	return trailers
}

// isGuard reports whether a principal is the one that the commit has named.
func (v *reversion) isGuard(p access.Principal) bool {
	named := v.guarded.Guard
	return named != "" && p.Type == access.PrincipalServiceAccount && (named == p.Name || named == string(p.ID))
}

// undoneByGuard reports whether a write takes back what a commit did, for the guard that it
// has named. What nobody had to approve since it stops something is not taken back so.
func (a *attempt) undoneByGuard() bool {
	v := a.write.undoes
	return v != nil && a.previous == nil && !v.guarded.Exempt && v.isGuard(a.batch.state.Principal)
}

// GuardedFor is how long after a commit an alert takes it back.
const GuardedFor = 24 * time.Hour

// Guarded finds what an alert is about that began at a time: the last commit before it, of
// the last 24 hours, that has named the caller as its guard; "" for none. An alert that is
// told again finds the same one.
func (s *Writer) Guarded(ctx context.Context, began time.Time) (sha string, err error) {
	state, err := s.begin(ctx, false)
	if err != nil {
		return "", err
	}
	oldest := s.service.settings.Now().Add(-GuardedFor)
	for page := (repository.Page{Limit: maxLookedThrough}); ; {
		commits, err := state.Repository.History(ctx, state.Head, page)
		if err != nil {
			return "", repository.Fault(err)
		}
		for _, c := range commits {
			v := reversion{guarded: feed.GuardedBy(c)}
			switch when := c.Author.When; {
			case when.Before(oldest):
				return "", nil
			case !when.After(began) && !v.guarded.Exempt && v.isGuard(state.Principal):
				return c.SHA, nil
			}
		}
		if len(commits) < page.Limit {
			return "", nil
		}
		page.Before = commits[len(commits)-1].Sequence
	}
}
