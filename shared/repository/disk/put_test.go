package disk_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/memfs"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
)

var ctx = context.Background()

func encode(t *testing.T, texts ...string) *pack.Pack {
	t.Helper()
	var objects []pack.Object
	for _, text := range texts {
		objects = append(objects, pack.Object{ID: object.ParseID(blobID(text)), Kind: object.Blob, Content: []byte(text)})
	}
	p, err := pack.Encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func blobID(text string) string { return object.Hash(object.Blob, []byte(text)).String() }

func wantBlob(t *testing.T, o *disk.Objects, text string) {
	t.Helper()
	got, err := o.Blob(ctx, repository.Touch{Blob: blobID(text)})
	if err != nil || string(got) != text {
		t.Errorf("blob %q is %q, %v", text, got, err)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestPutPackFlushes shows that everything that a pack needs has been flushed
// before PutPack returns, in an order that leaves no index without its pack.
func TestPutPackFlushes(t *testing.T) {
	power := newPowered(t)
	o := must[*disk.Objects](t)(disk.InitIn(power))
	for i := range 3 {
		power.take()
		p := encode(t, fmt.Sprint("text ", i))
		if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
			t.Fatal(err)
		}
		journal := power.take()
		const pack, index = "objects/pack/svc-tmp-pack", "objects/pack/svc-tmp-idx"
		for _, order := range [][]string{
			{"write objects/pack/*.keep", "rename " + pack + " objects/pack/*.pack"},
			{"write " + pack, "sync " + pack, "rename " + pack + " objects/pack/*.pack", "rename " + index + " objects/pack/*.idx", "sync objects/pack"},
			{"write " + index, "sync " + index, "rename " + index + " objects/pack/*.idx"},
		} {
			if !inOrder(journal, order...) {
				t.Errorf("PutPack did %q; it lacks %q in this order", journal, order)
			}
		}
		if last := journal[len(journal)-1]; last != "sync objects/pack" {
			t.Errorf("the last thing PutPack did is %q", last)
		}
		// The power goes at this very moment.
		after := must[*disk.Objects](t)(disk.OpenIn(power.crash(t)))
		for j := range i + 1 {
			wantBlob(t, after, fmt.Sprint("text ", j))
		}
	}
}

// TestPutPackAgain: the process that stored the pack before may not have flushed it, and a
// git that is at work may have it on its list of packs to delete.
func TestPutPackAgain(t *testing.T) {
	power := newPowered(t)
	o := must[*disk.Objects](t)(disk.InitIn(power))
	p := encode(t, "text")
	for name, content := range map[string][]byte{".pack": p.Bytes, ".idx": p.Index} {
		f := must[io.WriteCloser](t)(power.Create("objects/pack/pack-" + p.Name + name))
		if _, err := f.Write(content); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
		t.Fatal(err)
	}
	wantBlob(t, must[*disk.Objects](t)(disk.OpenIn(power.crash(t))), "text")
	for _, extension := range []string{".idx", ".pack"} {
		if err := power.Remove("objects/pack/pack-" + p.Name + extension); err != nil {
			t.Fatal(err)
		}
	}
	wantBlob(t, must[*disk.Objects](t)(disk.OpenIn(power)), "text")
	o.Release(p.Name)
	if o.Refresh(ctx); must[disk.Compaction](t)(o.Compact(ctx)).Left != 1 {
		t.Error("the released pack was not merged")
	}
}

func TestPutPackFails(t *testing.T) {
	for _, fail := range []string{
		"write objects/pack/*.keep", "write objects/pack/svc-tmp-pack", "write objects/pack/svc-tmp-idx",
		"sync objects/pack/svc-tmp-pack", "sync objects/pack/svc-tmp-idx", "rename objects/pack/svc-tmp-pack",
		"rename objects/pack/svc-tmp-idx", "sync objects/pack",
	} {
		power := newPowered(t)
		o := must[*disk.Objects](t)(disk.InitIn(power))
		p := encode(t, "text")
		power.fail = fail
		if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); !errors.Is(err, errFailed) {
			t.Errorf("%s: %v", fail, err)
		}
		power.fail = ""
		for _, f := range must[[]fs.FileInfo](t)(power.ReadDir("objects/pack")) {
			if strings.HasPrefix(f.Name(), "tmp_") || strings.HasSuffix(f.Name(), ".keep") {
				t.Errorf("%s: %s is left behind", fail, f.Name())
			}
		}
		if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
			t.Errorf("%s, then again: %v", fail, err)
		}
		wantBlob(t, must[*disk.Objects](t)(disk.OpenIn(power.crash(t))), "text")
	}
}

// TestInitFlushes: a new repository survives a loss of power.
// A directory that was moved away may be about to be replaced.
func TestNoRepositoryIsMadeWhereOneWas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repository")
	o := must[*disk.Objects](t)(disk.Init(dir))
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	p := encode(t, "text")
	if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); !errors.As(err, new(*repository.Unavailable)) {
		t.Errorf("a pack is stored: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a directory again: %v", err)
	}
}

func TestInitFlushes(t *testing.T) {
	power := newPowered(t)
	must[*disk.Objects](t)(disk.InitIn(power))
	after := power.crash(t)
	must[*disk.Objects](t)(disk.OpenIn(after))
	if _, err := disk.InitIn(after); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made a second time: %v", err)
	}
}

func TestNoFlushIsAnError(t *testing.T) {
	if _, err := disk.InitIn(memfs.New()); err == nil || !strings.Contains(err.Error(), "cannot flush") {
		t.Errorf("on a file system without flushes: %v", err)
	}
}

func keeps(t *testing.T, dir string) []string {
	t.Helper()
	return must[[]string](t)(filepath.Glob(filepath.Join(dir, "objects/pack/*.keep")))
}

// TestPacksAreKeptFromGit until they are merged or an hour old, and as long as git has a
// multi-pack-index; several of the commands that write one delete, at once, what another
// relies on.
func TestPacksAreKeptFromGit(t *testing.T) {
	dir := t.TempDir()
	o := must[*disk.Objects](t)(disk.Init(dir))
	putAll(t, o, numbered(3)...)
	own := must[[]string](t)(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))
	git(t, dir, "-c", "repack.packKeptObjects=true", "repack", "-aq")
	wantOwn := func(when string, want bool) {
		t.Helper()
		for _, task := range [][]string{{"write"}, {"repack", "--batch-size=0"}, {"expire"}} {
			git(t, dir, append([]string{"multi-pack-index"}, task...)...)
		}
		for _, pack := range own {
			if _, err := os.Stat(pack); (err == nil) != want {
				t.Errorf("%s: the pack of a commit: %v", when, err)
			}
		}
	}
	wantOwn("young", true)
	long := time.Now().Add(-2 * time.Hour)
	for _, keep := range keeps(t, dir) {
		if err := os.Chtimes(keep, long, long); err != nil {
			t.Fatal(err)
		}
	}
	o.Sweep(false)
	wantOwn("with a multi-pack-index", true)
	if err := os.Remove(filepath.Join(dir, "objects/pack/multi-pack-index")); err != nil {
		t.Fatal(err)
	}
	o.Sweep(false)
	wantOwn("after an hour", false)
}

func TestSomebodyElsesKeepStays(t *testing.T) {
	dir := t.TempDir()
	o := must[*disk.Objects](t)(disk.Init(dir))
	p := encode(t, "text")
	theirs := filepath.Join(dir, "objects/pack/pack-"+p.Name+".keep")
	if err := os.WriteFile(theirs, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
		t.Fatal(err)
	}
	o.Release(p.Name)
	must[disk.Compaction](t)(o.Compact(ctx))
	if text := must[[]byte](t)(os.ReadFile(theirs)); string(text) != "mine\n" {
		t.Errorf("somebody else's .keep is %q", text)
	}
}

func draft(path, text string) repository.Draft {
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	change := repository.Change{Path: path}
	if text != "" {
		change.Content = []byte(text)
	}
	return repository.Draft{Changes: []repository.Change{change}, Author: by, Committer: by, Message: "change " + path}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := disk.Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	for name, spoil := range map[string]struct{ file, text, want string }{
		"sha256":     {"config", "[extensions]\n\tobjectFormat = sha256\n", "sha256"},
		"alternates": {"objects/info/alternates", "/elsewhere\n", "alternates"},
		"garbage":    {"config", "[core\n", "config"},
	} {
		dir := t.TempDir()
		must[*disk.Objects](t)(disk.Init(dir))
		if err := os.WriteFile(filepath.Join(dir, spoil.file), []byte(spoil.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := disk.Open(dir); err == nil || !strings.Contains(err.Error(), spoil.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	must[*disk.Objects](t)(disk.Init(dir))
	if _, err := disk.Init(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made a second time: %v", err)
	}
}

// TestDamage damages a pack in every way one byte can: what is returned under
// an id is that object, or an error. As long as the index tells where it lies,
// that never says that it is not there.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	o := must[*disk.Objects](t)(disk.Init(dir))
	p := encode(t, "some text", "more text", strings.Repeat("long ", 100))
	if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
		t.Fatal(err)
	}
	for extension, content := range map[string][]byte{".pack": p.Bytes, ".idx": p.Index} {
		path := filepath.Join(dir, "objects/pack/pack-"+p.Name+extension)
		for i := range content {
			damaged := slices.Clone(content)
			damaged[i] ^= 0x55
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			reopened, err := disk.Open(dir)
			if err != nil {
				continue
			}
			for _, text := range []string{"some text", "more text"} {
				got, err := reopened.Blob(ctx, repository.Touch{Blob: blobID(text)})
				if extension == ".pack" && isMissing(err) {
					t.Fatalf("byte %d of the %s: %v", i, extension, err)
				}
				if err == nil && !bytes.Equal(got, []byte(text)) {
					t.Fatalf("byte %d of the %s: %q instead of %q", i, extension, got, text)
				}
			}
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestADamagedPackHidesNothing: git may have the same object loose.
func TestADamagedPackHidesNothing(t *testing.T) {
	dir := t.TempDir()
	o := must[*disk.Objects](t)(disk.Init(dir))
	p, id := encode(t, "some text"), blobID("some text")
	path, loose := filepath.Join(dir, "objects/pack/pack-"+p.Name+".pack"), filepath.Join(dir, "objects", id[:2], id[2:])
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	_, err := w.Write([]byte("blob 9\x00some text"))
	err = errors.Join(err, w.Close(), os.Mkdir(filepath.Dir(loose), 0o777), os.WriteFile(loose, deflated.Bytes(), 0o666),
		o.PutPack(ctx, p.Name, p.Bytes, p.Index), os.Chmod(path, 0o666), os.WriteFile(path, make([]byte, len(p.Bytes)), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	reader := must[*disk.Objects](t)(disk.Open(dir)).Reader(ctx)
	defer reader.Close()
	if _, got, err := reader.Read(object.ParseID(id)); string(got) != "some text" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func isMissing(err error) bool {
	lost := (*object.Lost)(nil)
	return errors.As(err, &lost) && !lost.Damaged
}

// TestLost: what is missing or damaged is told from what the disk fails to read.
func TestLost(t *testing.T) {
	id := blobID("some text")
	for name, c := range map[string]struct {
		harm          func(dir, loose, index string) error
		lost, damaged bool
	}{
		"nothing there": {func(string, string, string) error { return nil }, true, false},
		"an empty file": {func(_, loose, _ string) error { return os.WriteFile(loose, nil, 0o666) }, true, true},
		"garbage":       {func(_, loose, _ string) error { return os.WriteFile(loose, []byte("garbage"), 0o666) }, true, true},
		"a directory":   {func(_, loose, _ string) error { return os.Mkdir(loose, 0o777) }, false, false},
		"half an index": {func(_, _, index string) error {
			return errors.Join(os.Chmod(index, 0o666), os.Truncate(index, 100))
		}, true, true},
		"an index that is a directory": {func(_, _, index string) error {
			return errors.Join(os.Remove(index), os.Mkdir(index, 0o777))
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := must[*disk.Objects](t)(disk.Init(dir))
			p := encode(t, "packed")
			loose := filepath.Join(dir, "objects", id[:2], id[2:])
			err := errors.Join(o.PutPack(ctx, p.Name, p.Bytes, p.Index), os.MkdirAll(filepath.Dir(loose), 0o777),
				c.harm(dir, loose, filepath.Join(dir, "objects/pack/pack-"+p.Name+".idx")))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = must[*disk.Objects](t)(disk.Open(dir)).Reader(ctx).Read(object.ParseID(id))
			lost := (*object.Lost)(nil)
			if is := errors.As(err, &lost); is != c.lost || is && lost.Damaged != c.damaged || !errors.Is(err, odb.ErrNoObject) {
				t.Errorf("%v", err)
			}
		})
	}
}
