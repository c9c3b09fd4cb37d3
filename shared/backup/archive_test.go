package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/must"
)

var at = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

// made is an archive of files that no workspace has.
func made(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newWriter(&b, Header{Format: Format, Release: "v1", At: at, Workspace: "w", Name: "acme"})
	for i, name := range names {
		if err == nil {
			text := strings.Repeat("x", i*300)
			err = w.add(name, int64(len(text)), strings.NewReader(text))
		}
	}
	if err == nil {
		err = w.close()
	}
	must.Do(t, err)
	return b.Bytes()
}

const blockSize = 512 // of a tar file

const aPack = "repository.git/objects/pack/pack-0123456789012345678901234567890123456789"

// files reads an archive.
func files(text []byte) (map[string]string, error) {
	found := map[string]string{}
	_, err := read(bytes.NewReader(text), func(Header) error { return nil }, func(name string, content io.Reader) error {
		all, err := io.ReadAll(content)
		found[name] = string(all)
		return err
	})
	return found, err
}

// TestNoPartOfAnArchivePasses: wherever it ends, and whatever was changed in it.
func TestNoPartOfAnArchivePasses(t *testing.T) {
	text := made(t, "registry.json", "used.json", aPack+".pack")
	whole := len(text) - 2*blockSize // the blocks of zeros say nothing
	for end := range whole {
		if _, err := files(text[:end]); err == nil && end < whole-blockSize {
			t.Fatalf("the first %d of %d bytes are taken for a backup", end, len(text))
		}
	}
	if _, err := files(text[:4*blockSize]); !errors.Is(err, errIncomplete) {
		t.Errorf("an archive that ends early: %v", err)
	}
	_, err := files(bytes.Replace(text, []byte("xxxx"), []byte("xyxx"), 1))
	if err == nil || !strings.Contains(err.Error(), `"used.json" in the archive is damaged`) {
		t.Errorf("a byte that was changed: %v", err)
	}
}

func TestWhatIsNoBackup(t *testing.T) {
	newer := bytes.Replace(made(t), []byte(`"format": 2`), []byte(`"format": 3`), 1)
	if _, err := files(newer); !errors.Is(err, repository.ErrNewer) {
		t.Errorf("a newer format: %v", err)
	}
	for name, text := range map[string]string{"nothing": "", "text": "Dear Sir or Madam", "zeros": strings.Repeat("\x00", 10_000), "another tar file": string(other(t))} {
		if _, err := files([]byte(text)); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func other(t *testing.T) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must.Do(t, errors.Join(w.WriteHeader(&tar.Header{Name: "x", Size: 0, Typeflag: tar.TypeReg, Mode: 0o600}), w.Close()))
	return b.Bytes()
}

// TestHostileArchives: what an archive says decides neither where something is
// written nor how much memory that takes.
func TestHostileArchives(t *testing.T) {
	for _, name := range []string{
		"../registry.json", "/etc/passwd", "repository.git/hooks/pre-receive", "repository.git/config", "repository.git/HEAD",
		"repository.git/objects/pack/../../config", "repository.git/objects/pack/pack-x.pack", "first.key", "", ".", "REGISTRY.JSON", aPack + ".keep",
	} {
		if _, err := files(made(t, name)); err == nil || !strings.Contains(err.Error(), "belongs in no backup") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := files(made(t, "registry.json", "registry.json")); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a file that is there twice: %v", err)
	}
	for _, test := range []struct {
		h    tar.Header
		want string
	}{
		{tar.Header{Typeflag: tar.TypeReg, Size: 1 << 40}, "at most"},
		{tar.Header{Typeflag: tar.TypeSymlink, Linkname: "x"}, "no plain file"},
		{tar.Header{Typeflag: tar.TypeLink, Linkname: "x"}, "no plain file"},
		{tar.Header{Typeflag: tar.TypeDir}, "no plain file"},
		{tar.Header{Typeflag: tar.TypeFifo}, "no plain file"},
		{tar.Header{Typeflag: tar.TypeReg, PAXRecords: map[string]string{"SVC.more": "1"}}, "no plain file"},
	} {
		test.h.Name = "registry.json"
		text := bytes.NewBuffer(slices.Clone(made(t)[:2*blockSize]))
		must.Do(t, tar.NewWriter(text).WriteHeader(&test.h))
		if _, err := files(text.Bytes()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.h, err)
		}
	}
}

// TestVerifyGitReadsEachObject, so that none has another content than its id stands for.
func TestVerifyGitReadsEachObject(t *testing.T) {
	for _, changed := range []string{"", "changed"} {
		git := t.TempDir()
		must.Get(disk.Init(git))(t)
		blob := gitobjects.Blob("text")
		tree := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "x", ID: blob.ID})
		commit := gitobjects.Commit(tree)
		blob.Content = append(blob.Content, changed...)
		gitobjects.StoreIn(t, git, blob, tree, commit)
		must.Do(t, os.WriteFile(filepath.Join(git, "packed-refs"), []byte(commit.ID.String()+" refs/heads/main\n"), 0o666))
		if err := VerifyGit(t.Context(), git, commit.ID.String()); (err == nil) != (changed == "") {
			t.Errorf("%q: %v", changed, err)
		}
	}
}

// FuzzUnpack: an archive by anybody is refused, or is a workspace; nothing is written
// beside the directory.
func FuzzUnpack(f *testing.F) {
	f.Add(made(f, "registry.json", "used.json", aPack+".pack"))
	f.Add(made(f, "audit.log", "repository.git/packed-refs"))
	f.Add(made(f, "../x"))
	f.Add(made(f, "telemetry.db"))
	f.Add(made(f, "registry.json", TelemetryName))
	f.Fuzz(func(t *testing.T, text []byte) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "new")
		_, err := Restore(t.Context(), bytes.NewReader(text), dir)
		if entries, _ := os.ReadDir(outer); err != nil && len(entries) > 0 || len(entries) > 1 {
			t.Errorf("after %v there are %v", err, entries)
		}
		if _, there := os.Stat(dir); err != nil && !errors.Is(there, fs.ErrNotExist) {
			t.Error("a directory was made of an archive that was refused")
		}
	})
}
