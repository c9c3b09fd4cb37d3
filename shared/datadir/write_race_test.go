package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/testing/must"
)

// TestAnEditOfTheLastMomentIsKept, which an editor makes by putting a file in the place
// of the one that has just been found to be as it was.
func TestAnEditOfTheLastMomentIsKept(t *testing.T) {
	for _, tt := range []struct {
		name    string
		content []byte
		edit    func(path string) error
		want    error
		left    string
	}{
		{"nobody", []byte("new"), func(string) error { return nil }, nil, "new"},
		{"an editor", []byte("new"), renamed("edited"), ErrChanged, "edited"},
		{"an editor who removes it", []byte("new"), os.Remove, ErrChanged, ""},
		{"a link", []byte("new"), func(path string) error { return errors.Join(os.Remove(path), os.Symlink("other", path)) }, ErrChanged, "other"},
		{"nobody, of a removal", nil, func(string) error { return nil }, nil, ""},
		{"an editor, of a removal", nil, renamed("edited"), ErrChanged, "edited"},
		{"an editor who removes it too", nil, os.Remove, ErrChanged, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS != "linux" && tt.content != nil && tt.want != nil {
				t.Skip("the system is not asked to exchange two files")
			}
			dir := t.TempDir()
			root := must.Get(os.OpenRoot(dir))(t)
			defer root.Close()
			path := filepath.Join(dir, "a.json")
			must.Do(t, errors.Join(renamed("old")(path), renamed("other")(filepath.Join(dir, "other"))))
			w := &writing{Edit: Edit{Path: "a.json", Was: []byte("old"), Content: tt.content}, in: inside{dir, root}, step: func() {}, waits: new(int)}
			must.Do(t, errors.Join(w.prepare(t.Context()), w.check(), tt.edit(path)))
			if err := w.replace(); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if text, _ := os.ReadFile(path); string(text) != tt.left {
				t.Errorf("there is %q, want %q", text, tt.left)
			}
		})
	}
}

// TestAnEditInPlaceIsKept: an editor has opened the file, and writes into it when it is no
// longer in its place.
func TestAnEditInPlaceIsKept(t *testing.T) {
	for name, content := range map[string][]byte{"an edit": []byte("new"), "a removal": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.json")
			must.Do(t, os.WriteFile(path, []byte("old"), 0o666))
			editor, err := os.OpenFile(path, os.O_WRONLY, 0)
			must.Do(t, err)
			if openForWritingUnknown(t, dir) {
				t.Skip("the system cannot tell who writes to a file")
			}
			saved, once := make(chan error, 1), sync.Once{}
			err = write(t.Context(), dir, []Edit{{Path: "a.json", Was: []byte("old"), Content: content}}, func() {
				if text, err := os.ReadFile(path); err == nil && string(text) == "old" {
					return // it has its place yet
				}
				once.Do(func() {
					go func() {
						time.Sleep(3 * settling)
						_, err := editor.WriteString("edited")
						saved <- errors.Join(err, editor.Close())
					}()
				})
			})
			if !errors.Is(err, ErrChanged) {
				t.Errorf("the write has %v", err)
			}
			must.Do(t, <-saved)
			if text, _ := os.ReadFile(path); string(text) != "edited" {
				t.Errorf("there is %q", text)
			}
		})
	}
}

func openForWritingUnknown(t *testing.T, dir string) bool {
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	written, err := openForWriting(root, "a.json")
	return err != nil || !written
}

// renamed puts a file in the place of another, as editors do.
func renamed(text string) func(path string) error {
	return func(path string) error {
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer root.Close()
		return atomicfile.Replace(root, filepath.Base(path), []byte(text), 0)
	}
}
