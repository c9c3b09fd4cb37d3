package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/backup"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/webhook"
)

// Restoration says how an archive is restored.
type Restoration struct {
	// Name is what the workspace is called from now on; "" is as it was. Its id stays:
	// every key names it.
	Name     string
	Dir      string // for what the archive holds meanwhile; "" is the system's
	Progress Progress
}

// Restored says what Restore has made.
type Restored struct {
	backup.Restored
	*Workspace
	Checked
	// References are the branches and tags of a data directory's archive that a hosted
	// workspace does not have.
	References []string
}

// Restore makes a workspace of an archive, where there is none of its id.
//
// The archive is read to its end, and checked, before anything is written. Then the
// workspace is made with a head that every version of svc refuses, so that nobody is
// served; its objects, history, keys, audit trail and telemetry are written, read back and
// compared; and one last step lets everybody in. A restore that was interrupted is
// repeated, of the same archive or another one.
func (s *Stores) Restore(ctx context.Context, from io.Reader, o Restoration) (Restored, error) {
	dir, unpacked, err := unpack(ctx, from, o.Dir, func(h backup.Header) error { return s.checkFree(ctx, h, o) })
	if err != nil {
		return Restored{}, err
	}
	defer os.RemoveAll(dir)
	p, err := local.ReadDataDir(ctx, dir)
	if err != nil {
		return Restored{}, err
	}
	if o.Name != "" {
		p.Workspace.Name = access.PlainName(o.Name)
	}
	r := Restored{Restored: unpacked}
	table, again, err := s.table.BeginRestore(ctx, p.Workspace, p.Version)
	if errors.Is(err, dynamo.ErrExists) {
		err = errThere(p.Workspace.ID)
	}
	if err != nil {
		return r, err
	}
	own := *s
	own.table = table
	w := own.workspace(p.Workspace)
	if r.Checked, err = w.restore(ctx, dir, p, unpacked, again, o.Progress); err != nil {
		return r, unfinished(p.Workspace, err)
	}
	if err := table.EndRestore(ctx, p.Workspace); err != nil {
		return r, err
	}
	for _, ref := range p.References {
		if ref.Name != local.Branch {
			r.References = append(r.References, ref.Name)
		}
	}
	r.Workspace = s.workspace(p.Workspace)
	return r, nil
}

func errThere(id string) error {
	return fmt.Errorf("there is a workspace %s in this table, and a backup is restored only where there is none: name another table, or put back what its bucket has lost with --git", id)
}

// checkFree refuses an archive before all of it is read. What there is then decides.
func (s *Stores) checkFree(ctx context.Context, h backup.Header, o Restoration) error {
	id, err := access.ParseID(h.Workspace)
	if err != nil {
		return fmt.Errorf("the archive's workspace: %w", err)
	}
	switch _, err := s.table.Workspace(ctx, id); {
	case err == nil:
		return errThere(h.Workspace)
	case !isLost(err):
		return err
	}
	all, err := s.table.Workspaces(ctx)
	if err != nil && !errors.Is(err, repository.ErrNewer) {
		return err
	}
	for _, w := range all {
		if o.Name == "" && w.Name == h.Name {
			return fmt.Errorf("there is another workspace %s already (%s): give the restored one another name with --name", w.Name, w.ID)
		}
	}
	_, err = s.bucket.Now(ctx, s3.Prefix(string(id)))
	return err
}

// unpack makes a directory of an archive, which has been read to its end and checked.
func unpack(ctx context.Context, from io.Reader, in string, begin func(backup.Header) error) (dir string, u backup.Restored, err error) {
	if dir, err = os.MkdirTemp(in, "svc-restore-"); err != nil {
		return "", u, err
	}
	if u, err = backup.Unpack(ctx, from, dir, begin); err != nil {
		return "", u, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, u, nil
}

// restore writes everything of a workspace whose head serves nobody yet, and compares it.
func (w *Workspace) restore(ctx context.Context, dir string, p local.Parts, u backup.Restored, again bool, progress Progress) (Checked, error) {
	history, err := w.putBack(ctx, dir, progress)
	if err == nil && u.Commit != "" {
		err = w.importHistory(ctx, history, u.Commit, progress)
	}
	if err == nil {
		err = w.stores.table.PutRestored(ctx, w.id(), dynamo.Restored{Principals: p.Principals, Keys: p.Keys, Version: p.Version, Uses: p.Uses, Answers: p.Answers,
			Audit: func(each func(int64, []byte) error) error { return local.EachAudit(dir, p.Version, 0, each) }})
	}
	if err == nil {
		err = restoreRows(ctx, filepath.Join(dir, backup.TelemetryName), w.ID, u.Telemetry, again, w.stores.usage)
	}
	if err == nil {
		err = restoreRows(ctx, filepath.Join(dir, backup.RequestsName), w.ID, u.Requests, again, w.stores.requests)
	}
	if err == nil {
		err = w.restoreWebhooks(ctx, dir)
	}
	if err != nil {
		return Checked{}, err
	}
	return w.verifyRestored(ctx, dir, p, u, progress)
}

// putBack stores the packs of a directory, whatever the bucket has under their names: a
// pack that is damaged there is made whole, and none is old, so that no sweep takes it.
// What the bucket has besides stays for a day, as it may be newer.
func (w *Workspace) putBack(ctx context.Context, dir string, progress Progress) (*mirror, error) {
	git := filepath.Join(dir, local.RepositoryName)
	objects, err := disk.Open(git)
	if err == nil {
		err = w.objects.Init(ctx)
	}
	if err != nil {
		return nil, err
	}
	stored, err := w.objects.List(ctx)
	if err != nil {
		return nil, err
	}
	m := &mirror{git: git, objects: objects, packs: placesIn(objects, nil)}
	packs := m.packs.names()
	if others := without(stored, packs); len(others) > 0 {
		if err := w.retire(ctx, others); err != nil {
			return nil, err
		}
	}
	return m, w.putPacks(ctx, git, packs, progress)
}

// putPacks stores packs of a repository on disk.
func (w *Workspace) putPacks(ctx context.Context, git string, names []string, progress Progress) error {
	step := progress.begin("storing", "packs")
	for i, name := range names {
		for _, extension := range []string{".pack", ".idx"} { // an index is only where its pack is
			if err := w.putFile(ctx, w.prefix()+odb.PackPath(name, extension), packPath(git, name, extension)); err != nil {
				return err
			}
		}
		step(i+1, len(names))
	}
	return nil
}

func without(all, those []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(those, name) })
}

func (w *Workspace) putFile(ctx context.Context, key, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = w.stores.bucket.Put(ctx, key, bucket.Content(f))
	return err
}

// restoreWebhooks writes the webhooks, if the archive has any, in the place of what an attempt
// before has left.
func (w *Workspace) restoreWebhooks(ctx context.Context, dir string) error {
	store := webhook.Store{Table: w.stores.rows, Workspace: w.ID}
	if err := store.Clear(ctx); err != nil {
		return err
	}
	return backup.RestoreWebhooks(ctx, dir, store)
}

// rowed are rows of a workspace.
type rowed interface {
	Remove(ctx context.Context, workspace string) error
	Restore(ctx context.Context, workspace string, from io.Reader) error
}

// restoreRows writes the rows of a file, if the archive has any, in the place of those that an
// earlier try has written.
func restoreRows(ctx context.Context, path, workspace string, there, again bool, into rowed) error {
	if again {
		if err := into.Remove(ctx, workspace); err != nil {
			return err
		}
	}
	if !there {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return into.Restore(ctx, workspace, f)
}

// verifyRestored reads back what was written and compares it with the archive.
func (w *Workspace) verifyRestored(ctx context.Context, dir string, p local.Parts, u backup.Restored, progress Progress) (Checked, error) {
	found, err := w.Check(ctx, Checking{Dir: filepath.Dir(dir), Progress: progress})
	if err != nil {
		return found, err
	}
	var wrong []error
	for _, problem := range found.Problems {
		wrong = append(wrong, errors.New(problem.What))
	}
	c, err := w.stores.table.Capture(ctx, w.id())
	if err != nil {
		return found, err
	}
	if c.Head.Commit != u.Commit || c.Head.Access != p.Version || !bytes.Equal(c.Workspace.Secret, p.Workspace.Secret) {
		wrong = append(wrong, errors.New("the head that was read back is another one"))
	}
	if !sameDocuments(c.Principals, p.Principals) || !sameDocuments(c.Keys, p.Keys) {
		wrong = append(wrong, errors.New("the keys and principals that were read back are others"))
	}
	entries := 0
	if err := w.stores.table.EachAudit(ctx, w.id(), p.Version, func([]byte) error {
		entries++
		return nil
	}); err != nil {
		return found, err
	}
	if entries != u.Entries {
		wrong = append(wrong, fmt.Errorf("of the audit trail's %d entries %d were read back", u.Entries, entries))
	}
	return found, errors.Join(wrong...)
}

// sameDocuments compares JSON, whatever its spacing.
func sameDocuments(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(a, b json.RawMessage) bool {
		var x, y bytes.Buffer
		return errors.Join(json.Compact(&x, a), json.Compact(&y, b)) == nil && bytes.Equal(x.Bytes(), y.Bytes())
	})
}

// RestoreGit puts the packs of an archive back into the bucket of a workspace whose table
// is there. Its head stays if git has all that it needs then; else the archive's commit is
// the head. Keys, roles, audit trail and telemetry are the table's.
func (s *Stores) RestoreGit(ctx context.Context, from io.Reader, o Restoration) (r Restored, at repository.Head, err error) {
	var record access.Workspace
	dir, unpacked, err := unpack(ctx, from, o.Dir, func(h backup.Header) error {
		if record, err = s.table.Workspace(ctx, access.ID(h.Workspace)); errors.Is(err, access.ErrNotFound) {
			return fmt.Errorf("there is no workspace %s in this table: leave out --git, and all of it is restored", h.Workspace)
		}
		return err
	})
	if err != nil {
		return r, at, err
	}
	defer os.RemoveAll(dir)
	r.Restored = unpacked
	w := s.workspace(record)
	if _, err := w.putBack(ctx, dir, o.Progress); err != nil {
		return r, at, err
	}
	r.Workspace = w
	at, err = w.Reindex(ctx, "", Checking{Dir: o.Dir, Progress: o.Progress})
	if err != nil && errors.Is(err, errLacks) && unpacked.Commit != "" {
		at, err = w.Reindex(ctx, unpacked.Commit, Checking{Dir: o.Dir, Progress: o.Progress})
	}
	if err == nil {
		r.Checked, err = w.Check(ctx, Checking{Dir: o.Dir, Progress: o.Progress})
	}
	return r, at, err
}
