package dynamo_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/standin"
)

// eager is a ledger with a snapshot at every commit.
type eager struct{ *dynamo.Ledger }

func (eager) Due(repository.Head, *repository.Commit) bool { return true }

func store(t *testing.T, table *dynamo.Table, ws access.ID, objects repository.Objects, dir, git string) repositorytest.Store {
	ledger := table.Ledger(ws)
	bump := func() {
		must.Do(t, table.Registry(ws).SetWorkspace(background, func(w *access.Workspace) { w.Name += "." }))
	}
	return repositorytest.Store{Ledger: ledger, Objects: objects, Head: ledger.Head, Bump: bump, GitDir: dir, Git: git}
}

// mirrored are objects in a bucket that a directory follows, for git to look
// at what lies there.
type mirrored struct {
	*s3.Objects
	bucket      *bucket.Bucket
	prefix, dir string
}

func (m mirrored) PutPack(ctx context.Context, name string, content, index []byte) error {
	if err := m.Objects.PutPack(ctx, name, content, index); err != nil {
		return err
	}
	return m.follow(ctx, name)
}

// merge makes one pack of several, tells the ledger and removes those.
func (m mirrored) merge(ctx context.Context, ledger *dynamo.Ledger, packs []string) (string, error) {
	made, err := m.Objects.Merge(ctx, packs, 0, nil)
	if err != nil {
		return "", err
	}
	if err := ledger.Compacted(ctx, dynamo.Compaction{Retired: packs, Pack: made.Name, Places: maps.Collect(made.Places())}); err != nil {
		return "", err
	}
	for _, name := range packs {
		for _, extension := range []string{".idx", ".pack"} {
			path := "objects/pack/pack-" + name + extension
			if err := errors.Join(m.bucket.Delete(ctx, m.prefix+"/"+path), os.Remove(filepath.Join(m.dir, path))); err != nil {
				return "", err
			}
		}
	}
	return made.Name, m.follow(ctx, made.Name)
}

func (m mirrored) follow(ctx context.Context, name string) error {
	for _, extension := range []string{".pack", ".idx"} {
		path := "objects/pack/pack-" + name + extension
		content, _, err := m.bucket.Get(ctx, m.prefix+"/"+path)
		if err == nil {
			err = os.WriteFile(filepath.Join(m.dir, path), content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestOnAWS is what the functions run on: the table beside a bucket, whose
// packs the ledger names.
func TestOnAWS(t *testing.T) {
	table := newTable(t)
	client := standin.S3Client(t)
	b := bucket.New(client, standin.Bucket(t, client))
	for name, spoil := range map[string]func(*repositorytest.Store){
		"as it is":                     func(*repositorytest.Store) {},
		"with a snapshot every commit": func(s *repositorytest.Store) { s.Ledger, s.Extra = eager{s.Ledger.(*dynamo.Ledger)}, true },
	} {
		t.Run(name, func(t *testing.T) {
			repositorytest.Run(t, func(t *testing.T) repositorytest.Store {
				dir, git := gitDir(t)
				ws := newWorkspace(t, table)
				prefix := "workspaces/" + string(ws)
				objects := s3.New(b, prefix, table.Ledger(ws).Packs)
				must.Do(t, objects.Init(background))
				m := mirrored{objects, b, prefix, dir}
				s := store(t, table, ws, m, dir, git)
				s.Merge = func(ctx context.Context, packs []string) (string, error) {
					return m.merge(ctx, table.Ledger(ws), packs)
				}
				spoil(&s)
				return s
			})
		})
	}
}
