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
// else by that than false, a resumption that leaves what stood before the pause where what
// it asks for and whoever asks for it are as they were, and what a guard takes back.
func (p *plan) review(ctx context.Context, b *batch) error {
	p.reviewed = p.toReview()
	if len(p.reviewed) == 0 {
		return nil
	}
	for _, a := range p.final {
		exempt := a.touched == 1 && (a.stopsToOff(p.reviewed) || a.undoneByGuard())
		if !exempt && a.touched == 1 && a.write.resumes {
			var err error
			if exempt, err = a.restoresPaused(ctx, p.reviewed); err != nil {
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
// as the history has it, and nobody is served anything else by that in these environments
// than then.
func (a *attempt) restoresPaused(ctx context.Context, environments []string) (bool, error) {
	if !a.existed || a.previous != nil {
		return false, nil
	}
	if err := a.batch.lookUp(); err != nil {
		return false, err
	}
	paused, before, err := a.batch.pausedBy(ctx, a.path, a.write.scope, 0)
	if err != nil || before == nil {
		return false, err
	}
	if a.batch.dryRun {
		before = a.batch.mask(a.path, edit.Version{Tree: before}, currentVersion).Tree
	}
	if !jsontree.Equal(before, a.tree()) {
		return false, nil
	}
	return a.othersAsBefore(ctx, environments, paused)
}

// pausedBy is the commit that has paused an item in a scope, of those before a place in the
// history (0: of all), and the document before it; nil where that cannot be told.
func (b *batch) pausedBy(ctx context.Context, path, scope string, place int64) (paused repository.Commit, before *jsontree.Node, err error) {
	commits, err := b.state.Repository.History(ctx, b.head.Snapshot.Head, repository.Page{Path: path, Before: place, Limit: maxDocumentsRead + 1})
	if err != nil || len(commits) == 0 {
		return paused, nil, err
	}
	for i, c := range commits[1:] {
		text, readable, err := b.textAt(ctx, path, c.SHA)
		if err != nil || text == nil || !readable {
			return paused, nil, err
		}
		if tree := workspace.Decode(path, text).Tree; pauseIn(tree, scope) == nil {
			return commits[i], tree, nil
		}
	}
	return paused, nil, nil
}

// textAt is a file in a commit, nil where it is not there; not readable where nobody can
// tell.
func (b *batch) textAt(ctx context.Context, path, commit string) (text []byte, readable bool, err error) {
	_, text, err = b.state.Repository.At(ctx, b.head.Snapshot.Head, path, commit)
	switch {
	case errors.Is(err, repository.ErrAbsent):
		return nil, true, nil
	case errors.Is(err, repository.ErrUnknownCommit), errors.As(err, new(*workspace.Unread)):
		return nil, false, nil
	}
	return text, err == nil, err
}

// othersAsBefore reports whether an item that is resumed, what it asks for and whoever asks
// for it are the same in these environments as before it was paused. Where one of them was
// paused by then as well, they may be the same as before that.
func (a *attempt) othersAsBefore(ctx context.Context, environments []string, paused repository.Commit) (bool, error) {
	b, item := a.batch, a.item(a.tree())
	var related []string
	for _, environment := range environments {
		related = append(related, b.after.Related(environment, &item)...)
	}
	if len(related) > 0 {
		related = append(related, a.path)
	}
	declaration, _ := b.head.Snapshot.File(workspace.File)
	for i := 0; i < len(related); i++ {
		path := related[i]
		file, found := b.head.Snapshot.File(path)
		was, is := file.Text, file.Text
		if !found || file.Last.Sequence >= paused.Sequence {
			var readable bool
			var err error
			if b.related++; b.related > maxLookedUp {
				return false, nil
			}
			if was, readable, err = b.textAt(ctx, path, paused.Parent); err != nil || !readable {
				return false, err
			}
		}
		then := workspace.Decode(path, was).Tree
		if written := b.byPath[path]; written != nil {
			is = written.text()
			if b.dryRun && was != nil {
				shown, _ := document.Mask(then, currentVersion)
				was = document.Encode(shown)
			}
		}
		changed := workspace.Reviewed(declaration.Text, []workspace.Difference{{Path: path, Before: was, After: is}})
		if !slices.ContainsFunc(changed, func(environment string) bool { return slices.Contains(environments, environment) }) {
			continue
		}
		if pauseIn(then, a.write.scope) == nil {
			return false, nil
		}
		earlier, before, err := b.pausedBy(ctx, path, a.write.scope, paused.Sequence)
		if err != nil || before == nil {
			return false, err
		}
		paused, i = earlier, -1
	}
	return true, nil
}

// pauseIn is the rule of a scope's pause; nil for none.
func pauseIn(tree *jsontree.Node, scope string) *jsontree.Node {
	holder, _ := document.StoredScope(tree, scope)
	return document.StoredPause(document.StoredRules(holder))
}
