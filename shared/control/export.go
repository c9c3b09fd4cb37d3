package control

import (
	"context"
	"encoding/json"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/workspace"
)

// ExportPage is about how many bytes a page of an export has.
const ExportPage = 2 << 20

// exportedBytes is what surrounds a document there.
const exportedBytes = 128

// Export is a page of all documents as they are stored at one commit, in the order
// of their paths. Total counts those on all pages. Omitted are files that hold no JSON
// object, on the first page, and no more than MaxOmitted of them.
type Export struct {
	CommitSHA  string             `json:"commitSha"`
	Documents  []ExportedDocument `json:"documents"`
	Omitted    []OmittedDocument  `json:"omitted,omitempty"`
	Total      int                `json:"total"`
	NextCursor string             `json:"nextCursor,omitempty"`
}

// ExportedDocument is a document and the last commit that touched it.
type ExportedDocument struct {
	Type      document.Type   `json:"type"`
	Key       string          `json:"key"`
	CommitSHA string          `json:"commitSha"`
	Document  json.RawMessage `json:"document"`
}

// OmittedDocument is a file that cannot be told as a document, and the last commit that
// touched it.
type OmittedDocument struct {
	Type      document.Type `json:"type"`
	Key       string        `json:"key"`
	CommitSHA string        `json:"commitSha"`
}

// MaxOmitted is how many omitted files an export names.
const MaxOmitted = 1000

// Export returns the documents behind a cursor, or the first ones: at least one, and
// no more than a page holds. What is no JSON object is left out, as lists do, and named.
func (s *Session) Export(ctx context.Context, cursor string) (*Export, error) {
	b, o, err := s.openPage(ctx, "export", feed.PageQuery{Cursor: cursor})
	if err != nil {
		return nil, err
	}
	e := &Export{CommitSHA: o.Snapshot.Head.Commit, Documents: []ExportedDocument{}}
	last, size := "", 0
	for i := range o.Snapshot.Files {
		f := &o.Snapshot.Files[i]
		folder, key, isDocument := workspace.SplitPath(f.Path)
		t := folder.ItemType()
		if !o.View.Readable(i) {
			if isDocument && b.After == "" && len(e.Omitted) < MaxOmitted {
				e.Omitted = append(e.Omitted, OmittedDocument{t, key, f.Last.SHA})
			}
			continue
		}
		e.Total++
		if f.Path <= b.After || e.NextCursor != "" {
			continue
		}
		if size += len(f.Text) + len(f.Path) + exportedBytes; size > ExportPage && last != "" {
			e.NextCursor = s.cursors().To(b.List, last)
			continue
		}
		last = f.Path
		e.Documents = append(e.Documents, ExportedDocument{t, key, f.Last.SHA, f.Text})
	}
	return e, nil
}
