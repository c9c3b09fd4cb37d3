package control

import (
	"context"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/workspace"
)

// Differences is a page of what two environments differ in, in the order of the paths of
// documents. It may hold nothing and lead on.
type Differences struct {
	CommitSHA   string       `json:"commitSha"`
	Differences []Difference `json:"differences"`
	NextCursor  string       `json:"nextCursor,omitempty"`
}

// Difference is an item that has other rules in the two, and what a copy would do to it.
type Difference struct {
	Type      document.Type      `json:"type"`
	Key       string             `json:"key"`
	CommitSHA string             `json:"commitSha"`
	Messages  []activity.Message `json:"messages"`
}

// maxDifferences is how many a page has: as many as a change set may copy.
const maxDifferences = 2000

// Differences compares the environment to with another: what of it becomes another if the
// other's rules are copied there. Confidential values of two places count as different, so that
// nobody can ask whether they are the same. It looks through as many documents as an export's page
// has.
func (s *Session) Differences(ctx context.Context, to, from, cursor string) (*Differences, error) {
	b, o, err := s.openPage(ctx, "differences", feed.PageQuery{Cursor: cursor})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{to, from} {
		if e, known := o.View.Workspace().Environment(name); !known || e.Archived {
			return nil, refusal.NoEnvironment(name)
		}
	}
	d := &Differences{CommitSHA: o.Snapshot.Head.Commit, Differences: []Difference{}}
	last, size := "", 0
	for i := range o.Snapshot.Files {
		f := &o.Snapshot.Files[i]
		folder, _, _ := workspace.SplitPath(f.Path)
		t, isDocument := folder.Type()
		if !isDocument || t == document.Segment || f.Path <= b.After || !o.View.Readable(i) {
			continue
		}
		if size += len(f.Text); last != "" && size > ExportPage || len(d.Differences) == maxDifferences {
			d.NextCursor = s.cursors().To(b.List, last)
			break
		}
		last = f.Path
		item := f.Decode().Item
		tree := document.SecretsApart(item.Tree)
		edited, err := edit.CopyScope(tree, from, to)
		if err != nil || !edited.Changed {
			continue // what cannot be edited cannot be copied
		}
		d.Differences = append(d.Differences, Difference{t, item.Key, f.Last.SHA, activity.Diff(tree, edited.Tree)})
	}
	return d, nil
}
