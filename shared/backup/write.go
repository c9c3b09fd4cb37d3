package backup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/release"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry/earlier"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/webhook"
)

// Write writes a data directory, which another process may be serving, into an
// archive; or one that was made of a hosted workspace for that, with its telemetry,
// webhooks and change requests in the files that archives have them in. What comes from the
// database is written into the folder scratch first, since an archive has the size of a file
// before its content.
func Write(ctx context.Context, dir string, to io.Writer, scratch string) (Header, error) {
	// First: of one that is applied meanwhile git has the commit, and the answers tell.
	requests, size, err := open(filepath.Join(dir, RequestsName))
	if requests == nil && err == nil {
		requests, size, err = scratched(scratch, func(f *os.File) error {
			registry, err := local.OpenRegistry(dir)
			if err != nil {
				return err
			}
			record, err := registry.Workspace(ctx)
			if err = errors.Join(err, registry.Close()); err != nil {
				return err
			}
			return request.Store{Table: bolt.New(local.DatabaseIn(dir))}.Archive(ctx, record.ID, f)
		})
	}
	if err != nil {
		return Header{}, err
	}
	defer discard(requests)
	c, err := local.Capture(ctx, dir)
	if err != nil {
		return Header{}, err
	}
	defer c.Close()
	h := Header{
		Format: Format, Release: release.Name(), At: time.Now().UTC().Truncate(time.Second),
		Workspace: c.Registry.Workspace.ID, Name: c.Registry.Workspace.Name, Commit: c.Head(), Access: c.Registry.Version,
	}
	webhooks, err := webhooksIn(ctx, dir, h.Workspace)
	if err != nil {
		return h, err
	}
	if size == 0 && len(webhooks) == 0 {
		h.Format = 1 // which older versions restore
	}
	w, err := newWriter(to, h)
	if err != nil {
		return h, err
	}
	for _, f := range c.Files {
		if err := w.add(f.Name, f.Size, f.Content); err != nil {
			return h, err
		}
	}
	if size > 0 {
		if err := w.add(RequestsName, size, requests); err != nil {
			return h, err
		}
	}
	if err := w.telemetry(ctx, dir, scratch); err != nil {
		return h, err
	}
	if len(webhooks) > 0 {
		if err := w.add(WebhooksName, int64(len(webhooks)), bytes.NewReader(webhooks)); err != nil {
			return h, err
		}
	}
	if err := w.objects(ctx, filepath.Join(dir, local.RepositoryName), c.References); err != nil {
		return h, err
	}
	return h, w.close()
}

// webhooksIn are the webhooks of a data directory.
func webhooksIn(ctx context.Context, dir, workspace string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, WebhooksName))
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	var to bytes.Buffer
	_, err = webhook.Store{Table: bolt.New(local.DatabaseIn(dir)), Workspace: workspace}.Archive(ctx, &to)
	return to.Bytes(), err
}

func (w *writer) telemetry(ctx context.Context, dir, scratch string) error {
	f, size, err := open(filepath.Join(dir, TelemetryName))
	if f == nil && err == nil {
		f, size, err = archiveTelemetry(ctx, dir, w.workspace, scratch)
	}
	if err != nil {
		return err
	}
	defer discard(f)
	if size == 0 {
		return nil
	}
	return w.add(TelemetryName, size, f)
}

// archiveTelemetry writes the telemetry of a data directory into a new file, which is to
// be removed.
func archiveTelemetry(ctx context.Context, dir, workspace, scratch string) (f *os.File, size int64, err error) {
	return scratched(scratch, func(f *os.File) error {
		store := rows.New(bolt.New(local.DatabaseIn(dir)), 0)
		if earlier.Exists(dir) {
			return earlier.Archive(ctx, dir, workspace, store, f)
		}
		return store.Archive(ctx, workspace, time.Now(), f)
	})
}

// scratched is a new file that work writes, from its beginning, to be discarded.
func scratched(scratch string, work func(f *os.File) error) (f *os.File, size int64, err error) {
	f, err = os.CreateTemp(scratch, ".svc-backup-") // for this user alone
	if err != nil {
		return nil, 0, err
	}
	if runtime.GOOS != "windows" {
		_ = os.Remove(f.Name()) // so that nothing is left of it if this process is killed
	}
	if err = work(f); err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard(f)
		return nil, 0, err
	}
	return f, size, nil
}

// discard closes a file, and removes what is left of one of scratched.
func discard(f *os.File) {
	f.Close()
	if strings.HasPrefix(filepath.Base(f.Name()), ".svc-backup-") {
		_ = os.Remove(f.Name())
	}
}

// open opens a file, if there is one.
func open(path string) (f *os.File, size int64, err error) {
	if f, err = os.Open(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// objects adds git's objects: the packs as they are, and then whatever references
// need that is in none of them.
func (w *writer) objects(ctx context.Context, git string, references []local.Reference) error {
	objects, err := disk.Open(git)
	if err != nil {
		return err
	}
	a := &addition{writer: w}
	for _, p := range objects.Packs() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.copy(git, p.Name); err != nil {
			return err
		}
	}
	slices.SortFunc(a.copied, func(x, y *pack.Index) int { return cmp.Compare(y.Len(), x.Len()) })
	reader := objects.Reader(ctx)
	defer reader.Close()
	r := &revwalk.Reach{Objects: reader, Have: a.has, Tell: a.tell}
	for _, ref := range references {
		if err := r.Any(ctx, object.ParseID(ref.ID)); err != nil {
			return errors.Join(fmt.Errorf("git lacks what %s needs, so that no backup would be whole: %w", ref.Name, err), errors.Join(a.damaged...))
		}
	}
	return a.flush()
}

// addition is which objects an archive has, and which are still to be added.
type addition struct {
	*writer
	copied  []*pack.Index
	damaged []error
	open    []pack.Object
	size    int
}

// copy adds a pack and its index. One that is gone by now was merged into another,
// and one that is damaged is of no use: what it holds is looked for in others.
func (a *addition) copy(git, name string) error {
	path := func(extension string) string {
		return filepath.Join(git, filepath.FromSlash(odb.PackPath(name, extension)))
	}
	index, err := os.ReadFile(path(".idx"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, size, err := open(path(".pack"))
	if f == nil {
		return err
	}
	defer f.Close()
	sum, err := pack.Checksum(f, size)
	var x *pack.Index
	if err == nil {
		x, err = pack.ParseIndex(index)
	}
	if err == nil && x.Pack() != sum {
		err = errors.New("its index belongs to another pack")
	}
	if err != nil {
		a.damaged = append(a.damaged, fmt.Errorf("pack %s: %w", name, err))
		return nil
	}
	a.copied = append(a.copied, x)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return a.pack(name, size, f, index)
}

func (a *addition) pack(name string, size int64, content io.Reader, index []byte) error {
	to := local.RepositoryName + "/"
	if err := a.add(to+odb.PackPath(name, ".pack"), size, content); err != nil {
		return err
	}
	return a.add(to+odb.PackPath(name, ".idx"), int64(len(index)), bytes.NewReader(index))
}

func (a *addition) has(id object.ID) bool {
	return slices.ContainsFunc(a.copied, func(x *pack.Index) bool { _, ok := x.Find(id); return ok })
}

// maxInPack bounds what is collected for a pack, uncompressed.
const maxInPack = 32 << 20

func (a *addition) tell(o pack.Object) error {
	if a.has(o.ID) {
		return nil
	}
	a.open = append(a.open, o)
	if a.size += len(o.Content); a.size < maxInPack {
		return nil
	}
	return a.flush()
}

func (a *addition) flush() error {
	if len(a.open) == 0 {
		return nil
	}
	made, err := pack.Encode(a.open)
	if err != nil {
		return err
	}
	a.open, a.size = nil, 0
	return a.pack(made.Name, int64(len(made.Bytes)), bytes.NewReader(made.Bytes), made.Index)
}
