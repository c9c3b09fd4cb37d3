package change

import (
	"context"
	"errors"
	"slices"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Pausing is a request to pause an item in a scope, or to resume it.
type Pausing struct {
	Request `json:"-"`
	// Serve is what everybody gets; nil is false, of a bool flag.
	Serve             *jsontree.Node
	Resume            bool
	ExpectedCommitSHA *string
}

// Pause pauses a flag or a config in an environment, or resumes it. It is answered like a
// PATCH.
func (s *Writer) Pause(ctx context.Context, t document.Type, key, environment string, p Pausing) (*PatchResult, error) {
	return s.patch(ctx, p.Request, p.write(t, key, environment))
}

func (p Pausing) write(t document.Type, key, environment string) write {
	return patches(environment, write{
		t: t, key: key,
		sent:   sendable(sent{Type: t, Key: key, Environment: environment, Pausing: &p}, p.Serve),
		issues: p.with(tokenIssues(p.ExpectedCommitSHA)),
		token:  p.ExpectedCommitSHA,
		stops:  !p.Resume, resumes: p.Resume,
		edit: func(a *attempt) (e *edit.Edited, err error) {
			if p.Resume {
				e, err = edit.Resume(a.base, environment)
			} else {
				e, err = edit.Pause(a.base, environment, p.Serve)
			}
			if err != nil || !e.Changed {
				return e, err
			}
			// In the manner of the text, so that the two take each other back to the byte.
			if text, err := jsontree.Rewrite(a.version().Text, e.Tree); err == nil && len(text) <= document.MaxSize {
				e.Text = text
			}
			return e, nil
		},
	})
}

// Selection names the items of an operation, by their keys or by a tag.
type Selection struct {
	Malformed []document.Issue // see Request
	Keys      []string
	Tag       *string
}

// PauseMany pauses flags and configs in an environment, or resumes them.
func PauseMany(in Selection, environment string, p Pausing) Operation {
	return Operation{write: func(*Service) write {
		issues := Request{Malformed: in.Malformed}.with(slices.Concat(tokenIssues(p.ExpectedCommitSHA), selectionIssues(in.Malformed, in.Keys, in.Tag)))
		verb := "pause"
		if p.Resume {
			verb = "resume"
		}
		return write{issues: issues, parts: func(_ context.Context, b *batch) ([]write, error) {
			return b.selected(in.Keys, in.Tag, timed, verb, func(t document.Type, key string) write { return p.write(t, key, environment) })
		}}
	}}
}

// timed are the types that can be paused, and whose changes can be scheduled.
var timed = []document.Type{document.Flag, document.Config}

// FoldAll folds what has been over for long in an environment; "" for all, and the default
// rules. See edit.Fold.
func FoldAll(malformed []document.Issue, environment string) Operation {
	return Operation{write: func(*Service) write {
		return write{issues: Request{Malformed: malformed}.with(nil), parts: func(_ context.Context, b *batch) (parts []write, err error) {
			if environment != "" && environment != document.DefaultScope {
				if err := b.knowsEnvironment(environment); err != nil {
					return nil, err
				}
			}
			add := func(t document.Type, key string, scopes []string) {
				for _, scope := range scopes {
					if environment == "" || scope == environment {
						parts = append(parts, patches(scope, write{t: t, key: key, copies: true, edit: func(a *attempt) (*edit.Edited, error) {
							return edit.Fold(a.base, edit.Place{Scope: scope, Now: a.batch.now()})
						}}))
					}
				}
			}
			for _, row := range b.head.View.Flags() {
				add(document.Flag, row.Key, row.Scheduled)
			}
			for _, row := range b.head.View.Configs() {
				add(document.Config, row.Key, row.Scheduled)
			}
			return parts, nil
		}}
	}}
}

// now is the ledger's time or, where it has none, this machine's.
func (b *batch) now() time.Time {
	if !b.state.Now.IsZero() {
		return b.state.Now
	}
	return b.service.settings.Now()
}

// review says of which environments a plan has to be reviewed. What only stops something
// is never held up: a pause to the off value, unless another item there serves something
// else by that than false, a resumption that leaves what stood before the pause, and what a
// guard takes back.
func (p *plan) review(ctx context.Context, b *batch) error {
	p.reviewed = p.toReview()
	if len(p.reviewed) == 0 {
		return nil
	}
	for _, a := range p.final {
		exempt := a.touched == 1 && (a.stopsToOff(p.reviewed) || a.undoneByGuard())
		if !exempt && a.touched == 1 && a.write.resumes {
			var err error
			if exempt, err = a.restoresPaused(ctx); err != nil {
				return err
			}
		}
		if !exempt {
			return nil
		}
	}
	p.reviewed, p.exempt = nil, p.reviewed
	return nil
}

// stopsToOff reports whether a write has everybody served false of a flag, and nobody more
// than false of what asks for it in these environments.
func (a *attempt) stopsToOff(environments []string) bool {
	if !a.write.stops {
		return false
	}
	on, isBool := pauseIn(a.tree(), a.write.scope).Get("value").Get("value").Bool()
	turnsOn := func(environment string) bool { return !a.batch.after.StopsOthers(environment, a.write.key) }
	return isBool && !on && !slices.ContainsFunc(environments, turnsOn)
}

// restoresPaused reports whether a resumption leaves the document from before the pause,
// as the history has it.
func (a *attempt) restoresPaused(ctx context.Context) (bool, error) {
	if !a.existed || a.previous != nil {
		return false, nil
	}
	if err := a.batch.lookUp(); err != nil {
		return false, err
	}
	commits, err := a.batch.state.Repository.History(ctx, a.batch.head.Snapshot.Head, repository.Page{Path: a.path, Limit: maxDocumentsRead + 1})
	if err != nil || len(commits) == 0 {
		return false, err
	}
	for _, c := range commits[1:] {
		_, text, err := a.batch.state.Repository.At(ctx, a.batch.head.Snapshot.Head, a.path, c.SHA)
		if errors.Is(err, repository.ErrAbsent) || errors.As(err, new(*workspace.Unread)) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		before := workspace.Decode(a.path, text).Tree
		if a.batch.dryRun {
			before = a.batch.mask(a.path, edit.Version{Text: text, Tree: before}, currentVersion).Tree
		}
		if pauseIn(before, a.write.scope) == nil {
			return jsontree.Equal(before, a.tree()), nil
		}
	}
	return false, nil
}

// pauseIn is the rule of a scope's pause; nil for none.
func pauseIn(tree *jsontree.Node, scope string) *jsontree.Node {
	holder, _ := document.StoredScope(tree, scope)
	return document.StoredPause(document.StoredRules(holder))
}
