package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	telemetrylocal "svc.example/svc/shared/telemetry/local"
)

// Restored says what Restore has made.
type Restored struct {
	Header
	Keys, Principals, Entries int
	// Telemetry is the file that there is of it, if there is one.
	Telemetry string
}

// Restore makes a data directory of an archive. The directory must be new or empty. It
// gets its name when everything is there, and flushed.
func Restore(ctx context.Context, from io.Reader, dir string) (Restored, error) {
	if err := checkFree(dir); err != nil {
		return Restored{}, err
	}
	unfinished, discard, err := atomicfile.Unfinished(dir)
	if err != nil {
		return Restored{}, atomicfile.Named(err, dir)
	}
	defer discard()
	r, err := Unpack(ctx, from, unfinished, func(Header) error { return nil })
	if err == nil && r.Telemetry == HostedTelemetry {
		err = os.Remove(filepath.Join(unfinished, HostedTelemetry)) // svc api would not forget in it whom it is to forget
	}
	if err != nil {
		return r, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // only an empty directory goes
		return r, checkFree(dir)
	}
	return r, local.Place(unfinished, dir)
}

// checkFree refuses a directory that holds something.
func checkFree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dir); err != nil {
			return nil
		}
		return fmt.Errorf("%s is a symbolic link to what does not exist: name a directory that is new", dir)
	}
	if err != nil {
		return fmt.Errorf("%s is no directory that a backup could be restored to: %w", dir, err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty, and a backup is restored to a new directory only: name another one", dir)
	}
	return nil
}

// Unpack fills an empty directory, which nobody else knows of yet, with what is in an
// archive. After an error what is in it is of no use. Begin hears first what the archive
// is of, and may refuse it.
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
	err = local.EachAudit(dir, state.Version, func(int64, []byte) error {
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
	if _, err := os.Stat(filepath.Join(dir, HostedTelemetry)); err == nil {
		r.Telemetry = HostedTelemetry
	}
	r.Keys, r.Principals = len(state.Keys), len(state.Principals)
	if _, err := os.Stat(filepath.Join(dir, telemetrylocal.Name)); err == nil {
		r.Telemetry = telemetrylocal.Name
	}
	if err := telemetrylocal.New(dir).Verify(ctx, r.Workspace); err != nil {
		return err
	}
	return VerifyGit(ctx, filepath.Join(dir, local.RepositoryName), r.Commit)
}

// VerifyGit looks in the packs of a repository, whose branch main is at a head, for each
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
	reach := &revwalk.Reach{Objects: reader, Tell: func(pack.Object) error { return nil }, Have: objects.Packed}
	for _, ref := range references {
		if err := reach.Any(ctx, object.ParseID(ref.ID)); err != nil {
			return fmt.Errorf("git lacks what %s needs: %w", ref.Name, err)
		}
	}
	return nil
}
