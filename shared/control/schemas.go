package control

import (
	"context"
	"slices"
	"strings"

	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/workspace"
)

// SchemaList is one page of schemas, or all of them.
type SchemaList struct {
	Schemas    []SchemaRow `json:"schemas"`
	Total      int         `json:"total"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// SchemaRow is one schema.
type SchemaRow struct {
	Key       string `json:"key"`
	CommitSHA string `json:"commitSha"`
}

// Schemas lists the schemas that configs can be bound to, by key.
func (s *Session) Schemas(ctx context.Context, q feed.PageQuery) (*SchemaList, error) {
	b, o, err := s.openPage(ctx, "schemas", q)
	if err != nil {
		return nil, err
	}
	rows := []SchemaRow{}
	for i := range o.Snapshot.Files {
		f := &o.Snapshot.Files[i]
		if folder, key, ok := workspace.SplitPath(f.Path); ok && folder == workspace.Schemas {
			rows = append(rows, SchemaRow{key, f.Last.SHA})
		}
	}
	slices.SortStableFunc(rows, func(a, b SchemaRow) int { return strings.Compare(a.Key, b.Key) })
	page, next := page(s, rows, b, func(row SchemaRow) string { return row.Key })
	return &SchemaList{page, len(rows), next}, nil
}
