package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/checkout"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry/earlier"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/webhook"
)

// Restored says what Restore has made.
type Restored struct {
	Header
	Keys, Principals, Entries int
	Telemetry, Requests       bool // there is any
}

// Restore makes a data directory of an archive. The directory must be new or empty. It
// gets its name when everything is there, and flushed.
func Restore(ctx context.Context, from io.Reader, dir string) (Restored, error) {
	if _, err := checkout.CheckFree(dir); err != nil {
		return Restored{}, err
	}
	unfinished, discard, err := atomicfile.Unfinished(dir)
	if err != nil {
		return Restored{}, atomicfile.Named(err, dir)
	}
	defer discard()
	r, err := Unpack(ctx, from, unfinished, func(Header) error { return nil })
	if err == nil && r.Telemetry {
		err = restoreRows(unfinished, TelemetryName, func(f io.Reader) error {
			return rows.New(bolt.New(local.DatabaseIn(unfinished)), 0).Restore(ctx, r.Workspace, f)
		})
	}
	if err == nil && r.Requests {
		err = restoreRows(unfinished, RequestsName, func(f io.Reader) error {
			return request.Store{Table: bolt.New(local.DatabaseIn(unfinished))}.Restore(ctx, r.Workspace, f)
		})
	}
	if err == nil {
		err = RestoreWebhooks(ctx, unfinished, webhook.Store{Table: bolt.New(local.DatabaseIn(unfinished)), Workspace: r.Workspace})
	}
	if err == nil {
		err = removed(filepath.Join(unfinished, WebhooksName))
	}
	if err != nil {
		return r, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // only an empty directory goes
		if _, full := checkout.CheckFree(dir); full != nil {
			err = full
		}
		return r, err
	}
	return r, local.Install(unfinished, dir)
}

// restoreRows puts a file of rows where svc api has them.
func restoreRows(dir, name string, restore func(from io.Reader) error) error {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(restore(f), f.Close()); err != nil {
		return err
	}
	return os.Remove(path) // svc api would not forget in it whom it is to forget
}

// RestoreWebhooks puts those of an archive that was unpacked into a table.
func RestoreWebhooks(ctx context.Context, dir string, to webhook.Store) error {
	text, err := os.ReadFile(filepath.Join(dir, WebhooksName))
	if err != nil {
		return without(err)
	}
	if err := to.Restore(ctx, bytes.NewReader(text)); err != nil {
		return fmt.Errorf("%s, %w", WebhooksName, err)
	}
	return nil
}

func removed(path string) error { return without(os.Remove(path)) }

// without is an error other than that there is no file.
func without(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Unpack extracts an archive into an empty directory, which no other process uses yet. Its
// content is of no use after an error. Begin is called with the header first, and may refuse
// the archive.
func Unpack(ctx context.Context, from io.Reader, dir string, begin func(Header) error) (Restored, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Restored{}, err
	}
	defer root.Close()
	if _, err := disk.Init(filepath.Join(dir, local.RepositoryName)); err != nil {
		return Restored{}, err
	}
	h, err := read(from, begin, func(name string, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return put(root, name, content)
	})
	if err != nil {
		return Restored{}, err
	}
	if err := local.RestoreAnswers(ctx, dir); err != nil {
		return Restored{}, err
	}
	r := Restored{Header: h}
	if err := r.verify(ctx, dir); err != nil {
		return Restored{}, fmt.Errorf("the archive's files are undamaged, but make no workspace: %w", err)
	}
	return r, local.KeepOutOfGit(dir)
}

// put writes a file that is new, flushed, with the mode that git and svc give to it.
func put(root *os.Root, name string, content io.Reader) error {
	mode := fs.FileMode(0o600)
	if packName.MatchString(name) {
		mode = 0o444
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}

// verify reads everything that svc api would.
func (r *Restored) verify(ctx context.Context, dir string) error {
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return err
	}
	defer registry.Close()
	state, err := registry.Load(ctx)
	if err != nil {
		return err
	}
	err = local.EachAudit(dir, state.Version, 0, func(int64, []byte) error {
		r.Entries++
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := registry.LastUses(ctx); err != nil {
		return err
	}
	if state.Workspace.ID != r.Workspace || state.Version != r.Access {
		return errors.New("registry.json is not the one that backup.json tells of")
	}
	r.Keys, r.Principals = len(state.Keys), len(state.Principals)
	if err := r.verifyTelemetry(ctx, dir); err != nil {
		return err
	}
	requests, _, err := open(filepath.Join(dir, RequestsName))
	if err != nil {
		return err
	}
	if r.Requests = requests != nil; r.Requests {
		if err := errors.Join(request.CheckArchive(requests), requests.Close()); err != nil {
			return err
		}
	}
	return VerifyGit(ctx, filepath.Join(dir, local.RepositoryName), r.Commit)
}

// verifyTelemetry reads the file of telemetry, and makes one of what versions before it
// have put into their archives.
func (r *Restored) verifyTelemetry(ctx context.Context, dir string) error {
	path := filepath.Join(dir, TelemetryName)
	if earlier.Exists(dir) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			err = errors.Join(earlier.Archive(ctx, dir, r.Workspace, rows.New(nil, 0), f), f.Close())
		}
		if err == nil {
			err = os.Remove(filepath.Join(dir, earlier.Name))
		}
		if err != nil {
			return err
		}
	}
	f, _, err := open(path)
	if f == nil {
		return err
	}
	r.Telemetry = true
	return errors.Join(rows.CheckArchive(f), f.Close())
}

// VerifyGit reads from the packs of a repository, whose branch main is at a head, each
// object that a reference needs.
func VerifyGit(ctx context.Context, git, commit string) error {
	references, head, err := local.References(git)
	if err != nil {
		return err
	}
	if head != commit {
		return errors.New("packed-refs is not the one that backup.json tells of")
	}
	objects, err := disk.Open(git)
	if err == nil {
		err = objects.Broken()
	}
	if err != nil {
		return err
	}
	reader := objects.Reader(ctx)
	defer reader.Close()
	var ids []object.ID
	for _, ref := range references {
		ids = append(ids, object.ParseID(ref.ID))
	}
	if err := revwalk.Verify(ctx, reader, nil, ids...); err != nil {
		return fmt.Errorf("git lacks what its references need: %w", err)
	}
	return nil
}
