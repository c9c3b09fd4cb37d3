package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
)

// mirror is a copy of a workspace's packs in a bare repository on disk.
type mirror struct {
	git     string
	objects *disk.Objects
	packs   places
	broken  map[string]error // packs that could not be copied whole, by name
}

// copyPacks copies packs into a new bare repository at a directory. A pack that
// is not there, or is damaged, is told in broken and does not end it. The packs
// named first are those that count for objects in several.
func (w *Workspace) copyPacks(ctx context.Context, git string, names, first []string, progress func(done, total int)) (*mirror, error) {
	m := &mirror{git: git, broken: map[string]error{}}
	if err := os.MkdirAll(filepath.Join(git, "objects", "pack"), 0o777); err != nil {
		return nil, err
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	var lock sync.Mutex
	done := 0
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range names {
		group.Go(func() error {
			err := w.copyPack(within, git, names[i])
			lock.Lock()
			defer lock.Unlock()
			done++
			progress(done, len(names))
			if _, ok := errors.AsType[*damage](err); ok {
				m.broken[names[i]] = err
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(git, "HEAD")); err != nil {
		if err := os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o666); err != nil {
			return nil, err
		}
	}
	var err error
	if m.objects, err = disk.Open(git); err != nil {
		return nil, err
	}
	m.packs = placesIn(m.objects, first)
	return m, nil
}

// damage is what is wrong with one pack, and no failure of the store.
type damage struct{ err error }

func (d *damage) Error() string { return d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

// copyPack copies a pack with its index, or leaves nothing of it.
func (w *Workspace) copyPack(ctx context.Context, git, name string) error {
	size, err := w.copyObject(ctx, name, ".pack", packPath(git, name, ".pack"))
	var sum string
	if err == nil {
		sum, err = checkPack(packPath(git, name, ".pack"), name, size)
	}
	if err == nil {
		_, err = w.copyObject(ctx, name, ".idx", packPath(git, name, ".idx"))
	}
	if err == nil {
		raw, unread := os.ReadFile(packPath(git, name, ".idx"))
		x, bad := pack.ParseIndex(raw)
		switch {
		case unread != nil:
			bad = unread
		case bad != nil:
			bad = fmt.Errorf("the index of pack %s: %w", name, bad)
		case x.Pack() != sum:
			bad = fmt.Errorf("the index of pack %s belongs to another pack", name)
		}
		if bad != nil {
			err = &damage{bad}
		}
	}
	if err != nil {
		_ = os.Remove(packPath(git, name, ".pack"))
		_ = os.Remove(packPath(git, name, ".idx"))
	}
	return err
}

// partLength is how much of an object is in memory at a time.
const partLength = 8 << 20

func (w *Workspace) copyObject(ctx context.Context, name, extension, to string) (int64, error) {
	key := w.prefix() + odb.PackPath(name, extension)
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	for offset := int64(0); ; {
		content, info, err := w.stores.bucket.GetRange(ctx, key, offset, partLength)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, &damage{fmt.Errorf("%s is not in the bucket: %w", key, fs.ErrNotExist)}
		}
		if err != nil {
			return 0, err
		}
		if _, err := out.Write(content); err != nil {
			return 0, err
		}
		if offset += int64(len(content)); offset >= info.Size {
			return offset, out.Close()
		}
	}
}

// checkPack holds a pack against the checksum at its end, and returns it.
func checkPack(path, name string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, err := pack.Checksum(f, size)
	if errors.Is(err, pack.ErrChecksum) {
		err = &damage{fmt.Errorf("pack %s is damaged: %w", name, err)}
	}
	return sum, err
}
