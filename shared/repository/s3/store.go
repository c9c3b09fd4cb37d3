package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/odb"
)

// store is a prefix of a bucket as package odb needs a file system.
type store struct {
	bucket *bucket.Bucket
	prefix string // ends with a slash
}

func (s store) key(path string) string { return s.prefix + path }

// busy translates the error of a store that is overloaded, or of a bucket that is lost and
// may be restored.
func busy(err error) error {
	if errors.Is(err, bucket.ErrBusy) || errors.Is(err, bucket.ErrNoBucket) {
		return fmt.Errorf("%w: %w", repository.ErrBusy, err)
	}
	return err
}

// ReadFile implements odb.FS.
func (s store) ReadFile(ctx context.Context, path string) ([]byte, error) {
	content, _, err := s.bucket.Get(ctx, s.key(path))
	return content, busy(err)
}

// ReadRange implements odb.Ranger.
func (s store) ReadRange(ctx context.Context, path string, offset, length int64) ([]byte, error) {
	content, _, err := s.bucket.GetRange(ctx, s.key(path), offset, length)
	return content, busy(err)
}

// listed is an object in a listing, as a file.
type listed struct{ bucket.Info }

func (l listed) Name() string       { return path.Base(l.Key) }
func (l listed) Size() int64        { return l.Info.Size }
func (l listed) Mode() fs.FileMode  { return 0o444 }
func (l listed) ModTime() time.Time { return l.Modified }
func (l listed) IsDir() bool        { return false }
func (l listed) Sys() any           { return nil }

// ReadDir implements odb.FS.
func (s store) ReadDir(ctx context.Context, path string) ([]fs.FileInfo, error) {
	var found []fs.FileInfo
	for info, err := range s.bucket.List(ctx, s.key(path)+"/") {
		if err != nil {
			return nil, busy(err)
		}
		found = append(found, listed{info})
	}
	return found, nil
}

// temp is a local file: an object cannot be written without its name.
type temp struct{ *os.File }

// TempFile implements odb.FS.
func (s store) TempFile(context.Context) (odb.TempFile, error) {
	f, err := os.CreateTemp("", "svc-merge-")
	return temp{f}, err
}

// Close removes the file.
func (t temp) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

// PutPack implements odb.FS.
func (s store) PutPack(ctx context.Context, name string, content io.ReadSeeker, index []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.create(ctx, odb.PackPath(name, ".pack"), content) })
	group.Go(func() error { return s.create(ctx, odb.PackPath(name, ".idx"), bucket.Bytes(index)) })
	return group.Wait()
}

// create writes what may be there already: the name tells the content and the
// fence, so it was stored by somebody who had read the same fence, and no sweep
// that this writer's fence is behind has listed it.
func (s store) create(ctx context.Context, path string, content bucket.Content) error {
	_, err := s.bucket.Create(ctx, s.key(path), content)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return busy(err)
}
