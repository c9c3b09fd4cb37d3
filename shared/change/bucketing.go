package change

import (
	"context"
	"errors"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// How far the history of an item is looked through for the property that its
// users were spread by: one page of commits, and of the documents before them as
// many as can be read without making the write a slow one. On AWS a page is one
// request, and a document three at the most.
const (
	maxLookedThrough = 100
	maxDocumentsRead = 4
)

// keepBucketingProperty has a rollout that stands where none stood before go on with the
// property of the last one that the scope served: switched off and on again,
// the same users are where they were. Before that it answers 400 for a request that the
// stored document does not allow.
func (a *attempt) keepBucketingProperty(ctx context.Context) error {
	if a.problem != nil {
		return editFault(a.problem)
	}
	if !a.edited.NewSplit {
		return nil
	}
	property, err := a.batch.splits[a.splitName()], error(nil)
	if property == "" && a.previous != nil && a.existed {
		property = edit.SplitProperty(a.original(), a.write.scope)
	}
	if property == "" && a.existed {
		property, err = a.lastProperty(ctx)
	}
	if err == nil && property != "" {
		a.edited.StickBy(property)
	}
	return err
}

// lastProperty goes back through the item's history, and reads the document as
// it was before each commit that may have changed what the scope serves. The
// history is that of what the write rests on, which may be on its way.
func (a *attempt) lastProperty(ctx context.Context) (string, error) {
	if err := a.batch.lookUp(); err != nil {
		return "", err
	}
	commits, err := a.batch.state.Repository.History(ctx, a.batch.head.Snapshot.Head, repository.Page{Path: a.path, Limit: maxLookedThrough})
	if err != nil {
		return "", err
	}
	differs := false
	read := 0
	for _, c := range commits {
		if differs {
			if read++; read > maxDocumentsRead {
				break
			}
			property, err := a.propertyAt(ctx, c)
			if err != nil || property != "" {
				return property, err
			}
		}
		differs = mayHaveChanged(c, a.path, a.write.scope)
	}
	return "", nil
}

// mayHaveChanged reports whether a commit may have changed what a scope serves. One
// of ours says what it changed.
func mayHaveChanged(c repository.Commit, path, scope string) bool {
	messages, ok := feed.Messages(c, path)
	if !ok || len(messages) >= activity.MaxMessages {
		return true
	}
	return slices.ContainsFunc(messages, func(m activity.Message) bool { return m.Scope == scope || m.Scope == document.DefaultScope })
}

// propertyAt is the property that the scope's rollout had after a commit.
func (a *attempt) propertyAt(ctx context.Context, c repository.Commit) (string, error) {
	_, text, err := a.batch.state.Repository.At(ctx, a.batch.head.Snapshot.Head, a.path, c.SHA)
	if errors.Is(err, repository.ErrAbsent) || errors.As(err, new(*workspace.Unread)) {
		return "", nil // it served nothing then
	}
	if err != nil {
		return "", err
	}
	tree, err := document.Parse(text)
	if err != nil {
		return "", nil // what cannot be read served nothing
	}
	return edit.SplitProperty(tree, a.write.scope), nil
}
