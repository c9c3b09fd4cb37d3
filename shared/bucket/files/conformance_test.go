package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-billy/v5/util"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/bucket/files"
	"svc.example/svc/shared/testing/standin"
)

var ctx = context.Background()

func open(t *testing.T) (*files.Files, *bucket.Bucket) {
	t.Helper()
	client := standin.S3Client(t)
	b := bucket.New(client, standin.Bucket(t, client))
	return files.New(ctx, b, "some/prefix"), b
}

// TestConformance holds three file systems to one contract: what is told here
// of S3 is what a disk does.
func TestConformance(t *testing.T) {
	systems := map[string]func(t *testing.T) billy.Filesystem{
		"disk":   func(t *testing.T) billy.Filesystem { return osfs.New(t.TempDir()) },
		"memory": func(*testing.T) billy.Filesystem { return memfs.New() },
		"s3":     func(t *testing.T) billy.Filesystem { f, _ := open(t); return f },
	}
	tests := map[string]func(t *testing.T, f billy.Filesystem){
		"write and read": testWriteRead, "flags": testFlags, "exclusive": testExclusive, "append": testAppend,
		"seek": testSeek, "large": testLarge, "truncate": testTruncate, "missing": testMissing, "stat": testStat,
		"readdir": testReadDir, "many": testMany, "mkdir": testMkdir, "remove": testRemove, "rename": testRename,
		"tempfile": testTempFile, "chroot": testChroot, "open while written": testOpenWhileWritten, "closed": testClosed,
	}
	for system, open := range systems {
		for name, test := range tests {
			t.Run(system+"/"+name, func(t *testing.T) { test(t, open(t)) })
		}
	}
}

func put(t *testing.T, f billy.Filesystem, name, text string) {
	t.Helper()
	if err := util.WriteFile(f, name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, f billy.Filesystem, name, want string) {
	t.Helper()
	if got, err := util.ReadFile(f, name); err != nil || string(got) != want {
		t.Errorf("%s is %.50q, %v; want %.50q", name, got, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testWriteRead(t *testing.T, f billy.Filesystem) {
	for _, name := range []string{"a", "dir/b", "dir/sub/c", "with space", "plus+percent%41", "ümlaut"} {
		put(t, f, name, "text of "+name)
		wantText(t, f, name, "text of "+name)
	}
	put(t, f, "a", "") // shorter
	wantText(t, f, "a", "")
	wantText(t, f, "dir/../dir/./b", "text of dir/b")
	wantText(t, f, "/dir/b", "text of dir/b")
}

func testFlags(t *testing.T, f billy.Filesystem) {
	put(t, f, "a", "0123456789")
	for flag, want := range map[int]string{
		os.O_RDWR: "xx23456789", os.O_WRONLY: "xx23456789", os.O_RDWR | os.O_CREATE: "xx23456789",
		os.O_RDWR | os.O_TRUNC: "xx", os.O_WRONLY | os.O_CREATE | os.O_TRUNC: "xx",
	} {
		put(t, f, "a", "0123456789")
		file, err := f.OpenFile("a", flag, 0o644)
		must(t, err)
		_, err = file.Write([]byte("xx"))
		must(t, err)
		must(t, file.Close())
		wantText(t, f, "a", want)
	}
	for _, flag := range []int{os.O_RDWR, os.O_WRONLY, os.O_RDONLY, os.O_RDWR | os.O_TRUNC} {
		if _, err := f.OpenFile("missing", flag, 0o644); !os.IsNotExist(err) {
			t.Errorf("opened with %x: %v", flag, err)
		}
	}
	file, err := f.OpenFile("new", os.O_RDWR|os.O_CREATE, 0o644)
	must(t, err)
	must(t, file.Close())
	wantText(t, f, "new", "")
	file, err = f.Open("new")
	must(t, err)
	if _, err := file.Write([]byte("x")); err == nil {
		t.Error("wrote what was opened to be read")
	}
	must(t, file.Close())
}

func testExclusive(t *testing.T, f billy.Filesystem) {
	const flag = os.O_RDWR | os.O_CREATE | os.O_EXCL
	file, err := f.OpenFile("a", flag, 0o644)
	must(t, err)
	if _, err := f.OpenFile("a", flag, 0o644); !os.IsExist(err) {
		t.Errorf("taken a second time: %v", err)
	}
	_, err = file.Write([]byte("text"))
	must(t, err)
	must(t, file.Close())
	if _, err := f.OpenFile("a", flag, 0o644); !os.IsExist(err) {
		t.Errorf("taken a third time: %v", err)
	}
	wantText(t, f, "a", "text")
}

func testAppend(t *testing.T, f billy.Filesystem) {
	for i := range 3 {
		file, err := f.OpenFile("a", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		must(t, err)
		_, err = fmt.Fprint(file, i)
		must(t, err)
		must(t, file.Close())
	}
	wantText(t, f, "a", "012")
}

func testSeek(t *testing.T, f billy.Filesystem) {
	put(t, f, "a", "0123456789")
	file, err := f.Open("a")
	must(t, err)
	defer file.Close()
	for _, step := range []struct {
		offset int64
		whence int
		at     int64
		want   string
	}{{3, io.SeekStart, 3, "34"}, {2, io.SeekCurrent, 7, "78"}, {-1, io.SeekEnd, 9, "9"}, {20, io.SeekStart, 20, ""}, {0, io.SeekStart, 0, "01"}} {
		at, err := file.Seek(step.offset, step.whence)
		if err != nil || at != step.at {
			t.Errorf("%+v: at %d, %v", step, at, err)
		}
		b := make([]byte, 2)
		n, err := io.ReadFull(file, b)
		if string(b[:n]) != step.want || (n == 2) != (err == nil) {
			t.Errorf("%+v: %q, %v", step, b[:n], err)
		}
	}
	b := make([]byte, 4)
	if n, err := file.ReadAt(b, 2); n != 4 || err != nil || string(b) != "2345" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if n, err := file.ReadAt(b, 8); n != 2 || !errors.Is(err, io.EOF) || string(b[:n]) != "89" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if n, err := file.ReadAt(b, 100); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", b[:n], err)
	}
	if at, err := file.Seek(0, io.SeekCurrent); at != 2 || err != nil {
		t.Errorf("ReadAt has moved to %d, %v", at, err)
	}
}

func testLarge(t *testing.T, f billy.Filesystem) {
	content := make([]byte, 5<<20+123)
	for i := range content {
		content[i] = byte(i * 31 >> 7)
	}
	must(t, util.WriteFile(f, "large", content, 0o644))
	got, err := util.ReadFile(f, "large")
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	file, err := f.Open("large")
	must(t, err)
	defer file.Close()
	b := make([]byte, 3<<20)
	for _, offset := range []int64{1<<20 - 1, 0, 2 << 20, 4 << 20, 1 << 20} {
		n, err := file.ReadAt(b, offset)
		if !bytes.Equal(b[:n], content[offset:min(offset+3<<20, int64(len(content)))]) || err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("at %d: %d bytes, %v", offset, n, err)
		}
	}
}

func testTruncate(t *testing.T, f billy.Filesystem) {
	put(t, f, "a", "0123456789")
	file, err := f.OpenFile("a", os.O_RDWR, 0o644)
	must(t, err)
	must(t, file.Truncate(4))
	_, err = file.Seek(6, io.SeekStart)
	must(t, err)
	_, err = file.Write([]byte("x"))
	must(t, err)
	must(t, file.Close())
	wantText(t, f, "a", "0123\x00\x00x")
}

func testMissing(t *testing.T, f billy.Filesystem) {
	_, openErr := f.Open("missing")
	_, statErr := f.Stat("missing")
	_, lstatErr := f.Lstat("missing")
	for what, err := range map[string]error{
		"open": openErr, "stat": statErr, "lstat": lstatErr,
		"remove": f.Remove("missing"), "rename": f.Rename("missing", "other"),
	} {
		if !os.IsNotExist(err) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func testStat(t *testing.T, f billy.Filesystem) {
	put(t, f, "dir/a", "text")
	info, err := f.Stat("dir/a")
	if err != nil || info.Name() != "a" || info.Size() != 4 || info.IsDir() || !info.Mode().IsRegular() {
		t.Errorf("%+v, %v", info, err)
	}
	info, err = f.Stat("dir")
	if err != nil || info.Name() != "dir" || !info.IsDir() || !info.Mode().IsDir() {
		t.Errorf("%+v, %v", info, err)
	}
	if info, err := f.Stat("."); err != nil || !info.IsDir() {
		t.Errorf("%+v, %v", info, err)
	}
}

func names(t *testing.T, f billy.Filesystem, dir string) []string {
	t.Helper()
	infos, err := f.ReadDir(dir)
	must(t, err)
	all := []string{}
	for _, info := range infos {
		name := info.Name()
		if info.IsDir() {
			name += "/"
		}
		all = append(all, name)
	}
	return all
}

func testReadDir(t *testing.T, f billy.Filesystem) {
	for _, name := range []string{"b", "a", "dir/c", "dir/sub/d", "dir.e"} {
		put(t, f, name, "")
	}
	must(t, f.MkdirAll("empty", 0o755))
	for dir, want := range map[string][]string{
		"": {"a", "b", "dir/", "dir.e", "empty/"}, "dir": {"c", "sub/"}, "dir/sub": {"d"}, "empty": {},
	} {
		if got := names(t, f, dir); !slices.Equal(got, want) {
			t.Errorf("in %q there are %q, want %q", dir, got, want)
		}
	}
}

func testMany(t *testing.T, f billy.Filesystem) {
	const n = 1100
	var writers sync.WaitGroup
	var failed atomic.Value
	if _, isMemory := f.(*files.Files); !isMemory { // memfs is not safe for several writers
		for i := range n {
			put(t, f, fmt.Sprintf("dir/%04d", i), "")
		}
	} else {
		for w := range 8 {
			writers.Go(func() {
				for i := w; i < n; i += 8 {
					if err := util.WriteFile(f, fmt.Sprintf("dir/%04d", i), nil, 0o644); err != nil {
						failed.Store(err)
					}
				}
			})
		}
	}
	writers.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(err)
	}
	got := names(t, f, "dir")
	if len(got) != n || got[0] != "0000" || got[n-1] != "1099" || !slices.IsSorted(got) {
		t.Errorf("%d names", len(got))
	}
}

func testMkdir(t *testing.T, f billy.Filesystem) {
	for range 2 {
		must(t, f.MkdirAll("a/b/c", 0o755))
	}
	for _, dir := range []string{"a", "a/b", "a/b/c"} {
		if info, err := f.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
	put(t, f, "a/b/c/d", "text")
	must(t, f.Remove("a/b/c/d"))
	if info, err := f.Stat("a/b/c"); err != nil || !info.IsDir() {
		t.Errorf("with its last file the folder has gone: %v", err)
	}
	must(t, f.MkdirAll("", 0o755))
}

func testRemove(t *testing.T, f billy.Filesystem) {
	put(t, f, "a", "text")
	must(t, f.Remove("a"))
	if _, err := f.Stat("a"); !os.IsNotExist(err) {
		t.Errorf("what was removed: %v", err)
	}
	must(t, f.MkdirAll("dir", 0o755))
	put(t, f, "dir/b", "text")
	if err := f.Remove("dir"); err == nil {
		t.Error("a folder was removed with what is in it")
	}
	wantText(t, f, "dir/b", "text")
	must(t, f.Remove("dir/b"))
	must(t, f.Remove("dir"))
	if _, err := f.Stat("dir"); !os.IsNotExist(err) {
		t.Errorf("a folder that was removed: %v", err)
	}
}

func testRename(t *testing.T, f billy.Filesystem) {
	put(t, f, "a", "one")
	put(t, f, "b", "two")
	must(t, f.Rename("a", "dir/c+d e"))
	if _, err := f.Stat("a"); !os.IsNotExist(err) {
		t.Errorf("the old name: %v", err)
	}
	wantText(t, f, "dir/c+d e", "one")
	must(t, f.Rename("b", "dir/c+d e"))
	wantText(t, f, "dir/c+d e", "two")
	if strings.Contains(t.Name(), "/memory/") {
		return // memfs loses a file that is renamed to itself
	}
	must(t, f.Rename("dir/c+d e", "dir/c+d e"))
	wantText(t, f, "dir/c+d e", "two")
}

func testTempFile(t *testing.T, f billy.Filesystem) {
	seen := map[string]bool{}
	for i := range 3 {
		file, err := f.TempFile("dir", "tmp_")
		must(t, err)
		if !strings.HasPrefix(file.Name(), "dir/tmp_") && !strings.HasPrefix(file.Name(), "dir\\tmp_") || seen[file.Name()] {
			t.Errorf("its name is %s", file.Name())
		}
		seen[file.Name()] = true
		_, err = fmt.Fprint(file, i)
		must(t, err)
		must(t, file.Close())
		wantText(t, f, file.Name(), fmt.Sprint(i))
		must(t, f.Rename(file.Name(), fmt.Sprint("dir/", i)))
	}
	if got := names(t, f, "dir"); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("there are %q", got)
	}
}

func testChroot(t *testing.T, f billy.Filesystem) {
	put(t, f, "dir/a", "inside")
	put(t, f, "b", "outside")
	inner, err := f.Chroot("dir")
	must(t, err)
	wantText(t, inner, "a", "inside")
	put(t, inner, "c", "new")
	wantText(t, f, "dir/c", "new")
	if got, err := util.ReadFile(inner, "../b"); err == nil {
		t.Errorf("it reaches %q outside", got)
	}
	if got := names(t, inner, ""); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("there are %q", got)
	}
}

// testOpenWhileWritten: go-git reads a pack while it writes it.
func testOpenWhileWritten(t *testing.T, f billy.Filesystem) {
	w, err := f.TempFile("dir", "tmp_")
	must(t, err)
	if _, err := f.Stat(w.Name()); err != nil {
		t.Error(err)
	}
	r, err := f.Open(w.Name())
	must(t, err)
	for i := range 3 {
		_, err := fmt.Fprintf(w, "part %d,", i)
		must(t, err)
		got, err := io.ReadAll(r)
		if err != nil || string(got) != fmt.Sprintf("part %d,", i) {
			t.Errorf("%q, %v", got, err)
		}
	}
	must(t, w.Close())
	must(t, r.Close())
	wantText(t, f, w.Name(), "part 0,part 1,part 2,")
	must(t, f.Remove(w.Name()))
}

func testClosed(t *testing.T, f billy.Filesystem) {
	put(t, f, "a", "text")
	file, err := f.Open("a")
	must(t, err)
	must(t, file.Close())
	if _, err := file.Read(make([]byte, 1)); err == nil {
		t.Error("read a closed file")
	}
	if err := file.Close(); err == nil {
		t.Error("closed a file twice")
	}
}
