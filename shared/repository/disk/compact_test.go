package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-billy/v5/util"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/must"
)

// putAll stores one pack for each text.
func putAll(t *testing.T, o *disk.Objects, texts ...string) {
	t.Helper()
	for _, text := range texts {
		p := encode(t, text)
		must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
		o.Release(p.Name)
	}
}

func numbered(n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprint("text ", i))
	}
	return texts
}

// TestCompactCrashes lets the disk fail at every step of a compaction and
// looks at what is there then: for a process that was killed, and after a
// loss of power.
func TestCompactCrashes(t *testing.T) {
	texts := numbered(5)
	for step := 0; ; step++ {
		power := newPowered(t)
		o := must.Get(disk.InitIn(power))(t)
		putAll(t, o, texts...)
		power.take()
		power.failFrom = step
		_, err := o.Compact(ctx)
		done := len(power.take()) <= step
		if done && err != nil {
			t.Fatal(err)
		}
		power.failFrom = -1
		for _, after := range []*powered{power, power.crash(t)} {
			reopened := must.Get(disk.OpenIn(after))(t)
			for _, o := range []*disk.Objects{o, reopened} {
				if after != power && o != reopened {
					continue
				}
				for _, text := range texts {
					wantBlob(t, o, text)
				}
			}
			// And it can be done again from there.
			if _, err := reopened.Compact(ctx); err != nil {
				t.Errorf("step %d, then again: %v", step, err)
			}
			for _, text := range texts {
				wantBlob(t, must.Get(disk.OpenIn(after))(t), text)
			}
			// What is left to merge is small beside what was merged, and the
			// removal of the last .keep need not have survived.
			if n := len(reopened.Packs()); n > 2 {
				t.Errorf("step %d, then again: %d packs", step, n)
			}
		}
		if t.Failed() || done {
			t.Logf("%d steps", step)
			return
		}
	}
}

// loseIndexes deletes what git gc deletes where it has not seen the pack beside it. It
// returns the packs' names.
func loseIndexes(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, index := range must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.idx")))(t) {
		name := strings.TrimSuffix(index, ".idx")
		must.Do(t, errors.Join(os.Remove(index), os.Remove(name+".keep")))
		names = append(names, name)
	}
	return names
}

// deletePacks deletes what git repack -d has on its list, whatever lies there by then.
func deletePacks(names []string) {
	for _, name := range names {
		for _, extension := range []string{".pack", ".idx", ".keep"} {
			_ = os.Remove(name + extension)
		}
	}
}

// TestAnIndexThatIsLostIsMadeAgain, and under another name: a git repack that is at work
// listed the pack while it had no .keep, leaves out its objects once they are kept, and
// deletes all files of that name.
func TestAnIndexThatIsLostIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	texts := numbered(3)
	putAll(t, o, texts...)
	must.Get(o.Compact(ctx))(t) // so that there are differences
	putAll(t, o, "alone")
	indexes := func() (all [][]byte) {
		for _, index := range must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.idx")))(t) {
			all = append(all, must.Get(os.ReadFile(index))(t))
		}
		slices.SortFunc(all, bytes.Compare)
		return all
	}
	want := indexes()
	listed := loseIndexes(t, dir)
	reopened := must.Get(disk.Open(dir))(t)
	for _, again := range []func() error{
		func() error { return o.IndexAgain(ctx, false) }, // it may be on its way
		func() error { return o.IndexAgain(ctx, false) },
		func() error { return reopened.IndexAgain(ctx, true) },
	} {
		must.Do(t, again())
	}
	deletePacks(listed)
	if got := indexes(); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%d indexes are not the %d that there were", len(got), len(want))
	}
	if n := len(keeps(t, dir)); n != len(want) {
		t.Errorf("%d of %d packs are kept from git", n, len(want))
	}
	for _, text := range append(texts, "alone") {
		wantBlob(t, o, text)
		wantBlob(t, reopened, text)
	}
	fsck(t, dir)
}

// What else lies beside a pack goes with it, and a .keep of somebody else's stays theirs.
func TestAnIndexIsMadeAgainOfPacksOfOthers(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	putAll(t, o, "text")
	name := loseIndexes(t, dir)[0]
	must.Do(t, errors.Join(os.WriteFile(name+".keep", []byte("mine\n"), 0o600), os.WriteFile(name+".promisor", nil, 0o600)))
	must.Do(t, o.IndexAgain(ctx, true))
	for extension, text := range map[string]string{".keep": "mine\n", ".promisor": ""} {
		if all := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*"+extension)))(t); len(all) != 1 || string(must.Get(os.ReadFile(all[0]))(t)) != text {
			t.Errorf("%q of %q", all, extension)
		} else if _, err := os.Stat(strings.TrimSuffix(all[0], extension) + ".idx"); err != nil {
			t.Error(err)
		}
	}
	wantBlob(t, o, "text")
}

// A pack that git has taken the index from, or deleted, while its commit was made is stored
// anew before the commit is told to anybody.
func TestAPackThatGitTookWhileItsCommitWasMade(t *testing.T) {
	for name, take := range map[string]func(dir string, names []string){
		"the index": func(string, []string) {},
		"all":       func(_ string, names []string) { deletePacks(names) },
	} {
		dir := t.TempDir()
		o := must.Get(disk.Init(dir))(t)
		p := encode(t, "text")
		must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
		listed := loseIndexes(t, dir)
		take(dir, listed)
		o.Release(p.Name)
		deletePacks(listed)
		wantBlob(t, must.Get(disk.Open(dir))(t), "text")
		wantBlob(t, o, "text")
		if text := must.Get(os.ReadFile(keeps(t, dir)[0]))(t); disk.IsUncommitted(text) {
			t.Errorf("%s: the .keep says %q", name, text)
		}
	}
}

// TestAnIndexIsMadeAgainOnceTheDiskHasRoom: a failure to write it says nothing of the pack.
func TestAnIndexIsMadeAgainOnceTheDiskHasRoom(t *testing.T) {
	power := newPowered(t)
	o := must.Get(disk.InitIn(power))(t)
	putAll(t, o, "text")
	for _, f := range must.Get(power.ReadDir("objects/pack"))(t) {
		if strings.HasSuffix(f.Name(), ".idx") {
			must.Do(t, power.Remove("objects/pack/"+f.Name()))
		}
	}
	power.fail = "write objects/pack/svc-tmp-idx"
	if err := o.IndexAgain(ctx, true); !errors.Is(err, errFailed) {
		t.Errorf("on a full disk: %v", err)
	}
	power.fail = ""
	must.Report(t, o.IndexAgain(ctx, true))
	wantBlob(t, must.Get(disk.OpenIn(power))(t), "text")
}

func TestCompactLeavesAlone(t *testing.T) {
	for extension, text := range map[string]string{".keep": "mine\n", ".promisor": "", ".mtimes": ""} {
		dir := t.TempDir()
		o := must.Get(disk.Init(dir))(t)
		putAll(t, o, numbered(4)...)
		kept := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))(t)[0]
		beside := strings.TrimSuffix(kept, ".pack") + extension
		must.Do(t, os.WriteFile(beside, []byte(text), 0o600))
		long := time.Now().AddDate(-1, 0, 0)
		must.Do(t, os.Chtimes(beside, long, long))
		done := must.Get(o.Compact(ctx))(t)
		if _, err := os.Stat(kept); err != nil || done.Merged != 3 || done.Left != 2 {
			t.Errorf("with a %s: %+v, %v", extension, done, err)
		}
		if _, err := os.Stat(beside); err != nil {
			t.Error(err)
		}
	}
}

func TestCompactSweeps(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	putAll(t, o, "one")
	p := encode(t, "in flight")
	must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
	keep := keeps(t, dir)[0]
	temp := filepath.Join(dir, "objects/pack/svc-tmp-OTHER-pack-LEFT")
	theirs := filepath.Join(dir, "objects/pack/tmp_pack_LEFT")
	orphan := filepath.Join(dir, "objects/pack/pack-"+strings.Repeat("0", 40)+".keep")
	for path, text := range map[string]string{temp: "", theirs: "", orphan: "svc: a commit is being made\n"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	must.Get(o.Compact(ctx))(t)
	if !there(keep) || !there(temp) || !there(orphan) {
		t.Error("a commit that is being made was disturbed")
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, path := range []string{keep, temp, theirs, orphan} {
		must.Do(t, os.Chtimes(path, long, long))
	}
	must.Get(o.Compact(ctx))(t)
	if !there(keep) || there(temp) || there(orphan) || !there(theirs) {
		t.Errorf("after two days: keep of a commit that is being made %v, temporary %v, keep without a pack %v, somebody else's %v",
			there(keep), there(temp), there(orphan), there(theirs))
	}
	must.Get(disk.Open(dir))(t).Sweep(true)
	if there(keep) {
		t.Error("after a crash the keep of a commit that never landed is still there")
	}
}

// TestSweepRemovesWhatOthersWereWriting, and neither git's files nor those
// that these Objects are writing.
func TestSweepRemovesWhatOthersWereWriting(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	p := encode(t, "in flight")
	must.Do(t, o.PutPack(ctx, p.Name, p.Bytes, p.Index))
	packs := filepath.Join(dir, "objects/pack")
	mine := filepath.Join(packs, o.TempOwner()+"pack-MINE")
	ahead := filepath.Join(packs, "svc-tmp-AHEAD-pack-LEFT")
	gone := []string{filepath.Join(packs, "svc-tmp-OTHER-pack-LEFT"), ahead}
	stay := []string{mine, filepath.Join(packs, "tmp_pack_LEFT"), filepath.Join(packs, "tmp_idx_LEFT"),
		filepath.Join(packs, "pack-"+strings.Repeat("0", 40)+".keep"), keeps(t, dir)[0]}
	for _, path := range slices.Concat(gone, stay[:4]) {
		must.Do(t, os.WriteFile(path, []byte("receive-pack 1 on host"), 0o600))
	}
	future := time.Now().Add(48 * time.Hour)
	must.Do(t, os.Chtimes(ahead, future, future))
	o.Sweep(true)
	for _, path := range gone {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range stay {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestCompactRefusesDamage: a damaged pack is not merged and not deleted.
func TestCompactRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	putAll(t, o, numbered(3)...)
	packs := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))(t)
	content := must.Get(os.ReadFile(packs[1]))(t)
	content[len(content)-25] ^= 1
	must.Do(t, os.Chmod(packs[1], 0o600))
	must.Do(t, os.WriteFile(packs[1], content, 0o600))
	if _, err := o.Compact(ctx); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged pack was merged: %v", err)
	}
	left := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*")))(t)
	if len(left) != 9 {
		t.Errorf("what is left is %q", left)
	}
	// It does not keep the others from being merged for good.
	if done, err := o.Compact(ctx); err != nil || done.Merged != 2 || done.Left != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	left = must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack")))(t)
	if len(left) != 2 || !slices.Contains(left, packs[1]) {
		t.Errorf("what is left is %q", left)
	}
}

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
