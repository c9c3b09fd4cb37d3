package control

import (
	"context"
	"errors"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// item returns a document at the session's head: 404 when there is none, 422
// when it is no JSON object.
func (s *Session) item(ctx context.Context, t document.Type, key string) (*served.View, found, error) {
	o, err := s.Open(ctx)
	if err != nil {
		return nil, found{}, err
	}
	path, _ := workspace.PathOf(t, key)
	file, known := o.Snapshot.File(path)
	if !known {
		return nil, found{}, refusal.NoSuch(t, key)
	}
	d := file.Decode()
	if d.Tree.Kind != jsontree.Object {
		return nil, found{}, refusal.NotAnObject(t, key, d)
	}
	if t == workspace.SchemaType {
		d.Item = &workspace.Item{Path: path, Key: key, Tree: d.Tree, Text: file.Text}
	}
	return o.View, found{d.Item, &file}, nil
}

// found is a document and the file it stands in.
type found struct {
	*workspace.Item
	file *repository.File
}

// Flag is a flag's detail.
func (s *Session) Flag(ctx context.Context, key string) (*project.FlagDetail, error) {
	v, p, err := s.item(ctx, document.Flag, key)
	if err != nil {
		return nil, err
	}
	detail := project.DetailFlag(p.Tree, v.Workspace().WithStatus(), served.LastCommit(p.file), s.service.settings.Now())
	detail.Key = p.Key
	return &detail, nil
}

// Config is a config's detail.
func (s *Session) Config(ctx context.Context, key string) (*project.ConfigDetail, error) {
	_, p, err := s.item(ctx, document.Config, key)
	if err != nil {
		return nil, err
	}
	detail := project.DetailConfig(p.Tree, served.LastCommit(p.file), s.service.settings.Now())
	detail.Key = p.Key
	return &detail, nil
}

// Segment is a segment's detail.
func (s *Session) Segment(ctx context.Context, key string) (*project.SegmentDetail, error) {
	_, p, err := s.item(ctx, document.Segment, key)
	if err != nil {
		return nil, err
	}
	detail := project.DetailSegment(p.Tree, p.file.Last.SHA)
	detail.Key = p.Key
	return &detail, nil
}

// StoredDocument is a document as it is, or was, stored. Other requests may
// read the same tree: it is not to be changed.
type StoredDocument struct {
	CommitSHA string         `json:"commitSha"`
	Document  *jsontree.Node `json:"document"`
}

// Document returns a document as it is stored or, with a revision, as it was
// in that commit, which is then echoed as the request names it.
func (s *Session) Document(ctx context.Context, t document.Type, key string, at *string) (*StoredDocument, error) {
	if at != nil {
		return s.documentAt(ctx, t, key, *at)
	}
	_, p, err := s.item(ctx, t, key)
	if err != nil {
		return nil, err
	}
	return &StoredDocument{p.file.Last.SHA, p.Tree}, nil
}

func (s *Session) documentAt(ctx context.Context, t document.Type, key, at string) (*StoredDocument, error) {
	if !isState(at) {
		return nil, refusal.Malformed(document.Issue{Pointer: "?at", Message: "at " + refusal.IsState})
	}
	path, ok := workspace.PathOf(t, key)
	if !ok {
		return nil, refusal.NoSuch(t, key)
	}
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, err
	}
	if when, ok := repository.Time(at); ok {
		of := ""
		if _, files := repo.(change.Recurring); files { // whose ids are those of a file
			of = path
		}
		if at, err = s.commitBefore(ctx, of, at, when); err != nil {
			return nil, err
		}
	}
	sha, text, err := repo.At(ctx, s.caller.entry.Head, path, at)
	if errors.Is(err, repository.ErrAbsent) {
		o, err := s.Open(ctx)
		if err != nil {
			return nil, err
		}
		if _, now := o.Snapshot.File(path); !now {
			return nil, refusal.NoSuch(t, key)
		}
		return nil, fault.New(fault.NotFound, "the %s %s did not exist at the commit %s", t.Noun(), terminal.Quote(key), sha)
	}
	if err != nil {
		return nil, refusal.Revision("?at", at, err)
	}
	d := workspace.Decode(path, text)
	if d.Tree.Kind != jsontree.Object {
		return nil, refusal.NotAnObjectAt(at, t, key, d)
	}
	return &StoredDocument{at, d.Tree}, nil
}
