package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-billy/v5/util"

	"svc.example/svc/shared/testing/must"
)

// powered is a file system that loses what was not flushed when the power
// goes: a file's content that was not synced, and a name whose folder was
// not. It also keeps a journal.
type powered struct {
	billy.Filesystem

	lock    sync.Mutex
	journal []string
	synced  map[string]string // content by path, as of the file's last flush
	durable map[string]string // content by path, as of the folder's last flush
	// fail makes an operation fail: its journal entry has this prefix.
	fail string
	// failFrom makes all operations fail from that one of the journal; -1 for
	// none.
	failFrom int
}

var errFailed = errors.New("the disk failed")

func newPowered(t *testing.T) *powered {
	t.Helper()
	return &powered{failFrom: -1, Filesystem: osfs.New(t.TempDir(), osfs.WithBoundOS()), synced: map[string]string{}, durable: map[string]string{}}
}

func (p *powered) note(format string, args ...any) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	entry := fmt.Sprintf(format, args...)
	p.journal = append(p.journal, entry)
	if p.fail != "" && strings.HasPrefix(entry, p.fail) || p.failFrom >= 0 && len(p.journal) > p.failFrom {
		return errFailed
	}
	return nil
}

// take returns the journal since the last time.
func (p *powered) take() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	journal := p.journal
	p.journal = nil
	return journal
}

func (p *powered) Open(name string) (billy.File, error) {
	f, err := p.OpenFile(name, os.O_RDONLY, 0)
	if info, statErr := p.Filesystem.Stat(name); err == nil && statErr == nil {
		f.(*poweredFile).folder = info.IsDir()
	}
	return f, err
}

func (p *powered) OpenFile(name string, flag int, mode os.FileMode) (billy.File, error) {
	f, err := p.Filesystem.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return &poweredFile{File: f, fs: p, name: name}, nil
}

func (p *powered) Rename(from, to string) error {
	if err := p.note("rename %s %s", kindOf(from), kindOf(to)); err != nil {
		return err
	}
	p.lock.Lock()
	p.synced[to] = p.synced[from]
	delete(p.synced, from)
	p.lock.Unlock()
	return p.Filesystem.Rename(from, to)
}

func (p *powered) Remove(name string) error {
	if err := p.note("remove %s", kindOf(name)); err != nil {
		return err
	}
	return p.Filesystem.Remove(name)
}

// kindOf is a path without what changes from run to run.
func kindOf(name string) string {
	dir, file := path.Split(name)
	switch ext := path.Ext(file); {
	case strings.HasPrefix(file, "svc-tmp-"):
		return dir + "svc-tmp-" + strings.Split(file, "-")[3] // without whose it is
	case strings.HasPrefix(file, "pack-"):
		return dir + "*" + ext
	}
	return name
}

// crash returns the file system as it is after a loss of power.
func (p *powered) crash(t *testing.T) *powered {
	t.Helper()
	p.lock.Lock()
	defer p.lock.Unlock()
	after := newPowered(t)
	for name, text := range p.durable {
		must.Do(t, util.WriteFile(after.Filesystem, name, []byte(text), 0o644))
		after.synced[name], after.durable[name] = text, text
	}
	for _, folder := range []string{"objects/pack", "refs/heads"} {
		must.Do(t, after.MkdirAll(folder, 0o755))
	}
	return after
}

type poweredFile struct {
	billy.File
	fs     *powered
	name   string
	folder bool
}

func (f *poweredFile) Name() string { return f.name }

func (f *poweredFile) Write(b []byte) (int, error) {
	if err := f.fs.note("write %s", kindOf(f.name)); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

// Sync makes a file's content durable or, for a folder, the names in it, with
// whatever content was made durable.
func (f *poweredFile) Sync() error {
	if err := f.fs.note("sync %s", kindOf(f.name)); err != nil {
		return err
	}
	f.fs.lock.Lock()
	defer f.fs.lock.Unlock()
	if !f.folder {
		text, err := util.ReadFile(f.fs.Filesystem, f.name)
		f.fs.synced[f.name] = string(text)
		return err
	}
	names, err := f.fs.Filesystem.ReadDir(f.name)
	if err != nil {
		return err
	}
	for durable := range f.fs.durable {
		if path.Dir(durable) == f.name {
			delete(f.fs.durable, durable)
		}
	}
	for _, info := range names {
		if name := path.Join(f.name, info.Name()); !info.IsDir() {
			f.fs.durable[name] = f.fs.synced[name]
		}
	}
	return nil
}

func (p *powered) ReadDir(name string) ([]fs.FileInfo, error) { return p.Filesystem.ReadDir(name) }

// inOrder reports whether entries of a journal stand in that order.
func inOrder(journal []string, entries ...string) bool {
	for _, entry := range entries {
		i := slices.Index(journal, entry)
		if i < 0 {
			return false
		}
		journal = journal[i+1:]
	}
	return true
}
