package disk_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
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
	"svc.example/svc/shared/testing/must"
)

var ctx = context.Background()

func encode(t *testing.T, texts ...string) *pack.Pack {
	t.Helper()
	var objects []pack.Object
	for _, text := range texts {
		objects = append(objects, pack.Object{ID: object.ParseID(blobID(text)), Kind: object.Blob, Content: []byte(text)})
	}
	return must.Get(pack.Encode(objects))(t)
}

func blobID(text string) string { return object.Hash(object.Blob, []byte(text)).String() }

func wantBlob(t *testing.T, o *disk.Objects, text string) {
	t.Helper()
	if got, err := o.Blob(ctx, repository.Touch{Blob: blobID(text)}); err != nil || string(got) != text {
		t.Errorf("blob %q is %q, %v", text, got, err)
	}
}

// TestPutPackFlushes shows that everything that a pack needs has been flushed
// before PutPack returns, in an order that leaves no index without its pack.
func TestPutPackFlushes(t *testing.T) {
	power := newPowered(t)
	o := must.Get(disk.InitIn(power))(t)
	for i := range 3 {
		power.take()
		p := encode(t, fmt.Sprint("text ", i))
		must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
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
		after := must.Get(disk.OpenIn(power.crash(t)))(t)
		for j := range i + 1 {
			wantBlob(t, after, fmt.Sprint("text ", j))
		}
	}
}

// TestPutPackAgain: the process that stored the pack before may not have flushed it, and a
// git that is at work may have it on its list of packs to delete.
func TestPutPackAgain(t *testing.T) {
	power := newPowered(t)
	o := must.Get(disk.InitIn(power))(t)
	p := encode(t, "text")
	for name, content := range map[string][]byte{".pack": p.Bytes, ".idx": p.Index} {
		f := must.Get(power.Create("objects/pack/pack-" + p.Name + name))(t)
		if _, err := f.Write(content); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
	wantBlob(t, must.Get(disk.OpenIn(power.crash(t)))(t), "text")
	for _, extension := range []string{".idx", ".pack"} {
		must.Do(t, power.Remove("objects/pack/pack-"+p.Name+extension))
	}
	wantBlob(t, must.Get(disk.OpenIn(power))(t), "text")
	o.Release(p.Name)
	if o.Refresh(ctx); must.Get(o.Compact(ctx))(t).Left != 1 {
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
		o := must.Get(disk.InitIn(power))(t)
		p := encode(t, "text")
		power.fail = fail
		if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); !errors.Is(err, errFailed) {
			t.Errorf("%s: %v", fail, err)
		}
		power.fail = ""
		for _, f := range must.Get(power.ReadDir("objects/pack"))(t) {
			if strings.HasPrefix(f.Name(), "tmp_") || strings.HasSuffix(f.Name(), ".keep") {
				t.Errorf("%s: %s is left behind", fail, f.Name())
			}
		}
		if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
			t.Errorf("%s, then again: %v", fail, err)
		}
		wantBlob(t, must.Get(disk.OpenIn(power.crash(t)))(t), "text")
	}
}

// TestInitFlushes: a new repository survives a loss of power.
// A directory that was moved away may be about to be replaced.
func TestNoRepositoryIsMadeWhereOneWas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repository")
	o := must.Get(disk.Init(dir))(t)
	must.Do(t, os.Rename(dir, dir+".away"))
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
	must.Get(disk.InitIn(power))(t)
	after := power.crash(t)
	must.Get(disk.OpenIn(after))(t)
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
	return must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.keep")))(t)
}

// TestPacksAreKeptFromGit until they are merged or an hour old, and as long as git has a
// multi-pack-index; several of the commands that write one delete, at once, what another
// relies on.
func TestPacksAreKeptFromGit(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	putAll(t, o, numbered(3)...)
	own := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))(t)
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
		must.Do(t, os.Chtimes(keep, long, long))
	}
	o.Sweep(false)
	wantOwn("with a multi-pack-index", true)
	must.Do(t, os.Remove(filepath.Join(dir, "objects/pack/multi-pack-index")))
	o.Sweep(false)
	wantOwn("after an hour", false)
}

func TestSomebodyElsesKeepStays(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	p := encode(t, "text")
	theirs := filepath.Join(dir, "objects/pack/pack-"+p.Name+".keep")
	must.Do(t, os.WriteFile(theirs, []byte("mine\n"), 0o600))
	must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
	o.Release(p.Name)
	must.Get(o.Compact(ctx))(t)
	if text := must.Get(os.ReadFile(theirs))(t); string(text) != "mine\n" {
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
		must.Get(disk.Init(dir))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, spoil.file), []byte(spoil.text), 0o600))
		if _, err := disk.Open(dir); err == nil || !strings.Contains(err.Error(), spoil.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	must.Get(disk.Init(dir))(t)
	if _, err := disk.Init(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made a second time: %v", err)
	}
}

// TestDamage damages a pack in every way one byte can: what is returned under
// an id is that object, or an error. As long as the index tells where it lies,
// that never says that it is not there.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	p := encode(t, "some text", "more text", strings.Repeat("long ", 100))
	must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
	for extension, content := range map[string][]byte{".pack": p.Bytes, ".idx": p.Index} {
		path := filepath.Join(dir, "objects/pack/pack-"+p.Name+extension)
		for i := range content {
			damaged := slices.Clone(content)
			damaged[i] ^= 0x55
			must.Do(t, os.Chmod(path, 0o600))
			must.Do(t, os.WriteFile(path, damaged, 0o600))
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
		must.Do(t, os.WriteFile(path, content, 0o600))
	}
}

// TestADamagedPackHidesNothing: git may have the same object loose.
func TestADamagedPackHidesNothing(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	p, id := encode(t, "some text"), blobID("some text")
	path, loose := filepath.Join(dir, "objects/pack/pack-"+p.Name+".pack"), filepath.Join(dir, "objects", id[:2], id[2:])
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	_, err := w.Write([]byte("blob 9\x00some text"))
	must.Do(t, errors.Join(err, w.Close(), os.Mkdir(filepath.Dir(loose), 0o777), os.WriteFile(loose, deflated.Bytes(), 0o666),
		o.PutPack(ctx, p.Name, p.Bytes, p.Index), os.Chmod(path, 0o666), os.WriteFile(path, make([]byte, len(p.Bytes)), 0o666)))
	reader := must.Get(disk.Open(dir))(t).Reader(ctx)
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
			o := must.Get(disk.Init(dir))(t)
			p := encode(t, "packed")
			loose := filepath.Join(dir, "objects", id[:2], id[2:])
			err := errors.Join(o.PutPack(ctx, p.Name, p.Bytes, p.Index), os.MkdirAll(filepath.Dir(loose), 0o777),
				c.harm(dir, loose, filepath.Join(dir, "objects/pack/pack-"+p.Name+".idx")))
			must.Do(t, err)
			_, _, err = must.Get(disk.Open(dir))(t).Reader(ctx).Read(object.ParseID(id))
			lost := (*object.Lost)(nil)
			if is := errors.As(err, &lost); is != c.lost || is && lost.Damaged != c.damaged || !errors.Is(err, odb.ErrNoObject) {
				t.Errorf("%v", err)
			}
		})
	}
}
