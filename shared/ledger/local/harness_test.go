package local

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/ledgertest"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/testenv"
)

const workspaceID = access.ID("0123456789abcdef")

var (
	background = context.Background()
	noon       = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

// created makes a data directory.
func created(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	must.Do(t, Create(dir, access.Workspace{ID: string(workspaceID), Name: "shop", Secret: []byte("cursor secret")}))
	return dir
}

func opened(t testing.TB, dir string, options Options) *Ledger {
	t.Helper()
	l := must.Get(Open(background, dir, options))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func started(t testing.TB) *Ledger {
	t.Helper()
	return opened(t, created(t), Options{})
}

func head(t testing.TB, l *Ledger) repository.Head {
	t.Helper()
	return must.Get(l.Head(background))(t)
}

// putLoose stores a loose object.
func putLoose(t testing.TB, repo string, kind object.Kind, content []byte) object.ID {
	t.Helper()
	id := object.Hash(kind, content)
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	fmt.Fprintf(w, "%s %d\x00", kind, len(content))
	w.Write(content)
	must.Do(t, w.Close())
	path := filepath.Join(repo, "objects", id.String()[:2], id.String()[2:])
	if _, err := os.Stat(path); err == nil {
		return id
	}
	temp := filepath.Join(filepath.Dir(path), "tmp_obj_"+rand.Text()) // git takes it for its own
	for {                                                             // git gc removes directories that are empty at a moment
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		if err := os.WriteFile(temp, b.Bytes(), 0o444); !errors.Is(err, fs.ErrNotExist) {
			must.Do(t, err)
			break
		}
	}
	must.Do(t, os.Rename(temp, path))
	return id
}

// draft stores a commit of one flag on top of another commit, and describes it
// as a writer does.
func draft(t testing.TB, repo, parent, key, text string) repository.Commit {
	t.Helper()
	path := "feature-flags/" + key + ".json"
	blob := putLoose(t, repo, object.Blob, []byte(text))
	flags, root := layoutOf(t, repo, parent)
	flags = put(flags, object.TreeEntry{Mode: object.ModeFile, Name: key + ".json", ID: blob})
	root = put(root, object.TreeEntry{Mode: object.ModeFolder, Name: "feature-flags", ID: putTree(t, repo, flags)})
	tree := putTree(t, repo, root)
	c := repository.Commit{
		Parent: parent, Tree: tree.String(), Message: "Set " + key + "\n",
		Author:    repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now().Truncate(time.Second)},
		Committer: repository.Signature{Name: "svc", Email: "noreply@svc", When: time.Now().Truncate(time.Second).UTC()},
		Touched:   []repository.Touch{{Path: path, Blob: blob.String(), Created: parent == ""}},
	}
	raw := object.Commit{Tree: tree, Author: c.Author, Committer: c.Committer, Message: c.Message}
	if parent != "" {
		raw.Parents = []object.ID{object.ParseID(parent)}
	}
	c.SHA = putLoose(t, repo, object.CommitKind, object.EncodeCommit(raw)).String()
	return c
}

func layoutOf(t testing.TB, repo, commit string) (flags, root []object.TreeEntry) {
	t.Helper()
	if commit == "" {
		return nil, nil
	}
	_, text := read(t, repo, commit)
	c := must.Get(object.DecodeCommit(text))(t)
	_, text = read(t, repo, c.Tree.String())
	root = must.Get(object.DecodeTree(text))(t)
	for _, e := range root {
		if e.Name == "feature-flags" {
			_, text = read(t, repo, e.ID.String())
			flags = must.Get(object.DecodeTree(text))(t)
		}
	}
	return flags, root
}

func put(tree []object.TreeEntry, e object.TreeEntry) []object.TreeEntry {
	var out []object.TreeEntry
	done := false
	for _, other := range tree {
		if !done && !other.Less(e) {
			out, done = append(out, e), true
		}
		if other.Name != e.Name {
			out = append(out, other)
		}
	}
	if !done {
		out = append(out, e)
	}
	return out
}

func putTree(t testing.TB, repo string, entries []object.TreeEntry) object.ID {
	t.Helper()
	return putLoose(t, repo, object.TreeKind, object.EncodeTree(entries))
}

// repo is a git repository, bare or not.
type repo struct {
	testing.TB
	dir string
}

func gitIn(t testing.TB, dir string) repo {
	t.Helper()
	testenv.Program(t, "apt-get install git", "git")
	return repo{TB: t, dir: dir}
}

func (g repo) try(arguments ...string) (string, error) {
	out, err := realgit.Command(g, g.dir, arguments...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (g repo) run(arguments ...string) string {
	g.Helper()
	return must.Get(g.try(arguments...))(g)
}

func (g repo) lines(arguments ...string) []string {
	g.Helper()
	return strings.Fields(g.run(arguments...))
}

// write puts a file into the work tree and stages it.
func (g repo) write(path, text string) {
	g.Helper()
	full := filepath.Join(g.dir, path)
	must.Do(g, os.MkdirAll(filepath.Dir(full), 0o777))
	must.Do(g, os.WriteFile(full, []byte(text), 0o666))
	g.run("add", path)
}

func (g repo) commit(message string) string {
	g.Helper()
	g.run("commit", "-q", "--allow-empty", "-m", message)
	return g.run("rev-parse", "HEAD")
}

// clone clones the ledger's repository.
func clone(t testing.TB, l *Ledger) repo {
	t.Helper()
	g := gitIn(t, t.TempDir())
	g.run("clone", "-q", l.Repository(), ".")
	g.run("checkout", "-q", "-B", "main")
	return g
}

func TestSuite(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Subject { return subject(t, created(t)) })
}

func subject(t testing.TB, dir string) ledgertest.Subject {
	l := opened(t, dir, Options{})
	return ledgertest.Subject{
		Ledger: l, Authenticator: l, Workspace: workspaceID,
		Put:      func(t testing.TB, kind object.Kind, content []byte) { putLoose(t, l.Repository(), kind, content) },
		Registry: l.Registry().Registry,
		Reopen: func(t testing.TB) ledgertest.Subject {
			must.Do(t, l.Close())
			return subject(t, dir)
		},
	}
}

// read returns an object, loose or packed.
func read(t testing.TB, repo, id string) (object.Kind, []byte) {
	t.Helper()
	objects := must.Get(disk.Open(repo))(t)
	kind, content, err := objects.Reader(background).Read(object.ParseID(id))
	must.Do(t, err)
	return kind, content
}

// counting counts the objects that are read, and fails at one of them.
type counting struct {
	revwalk.Reader
	reads  *atomic.Int64
	failAt int64
}

var errDisk = errors.New("the disk fails")

func (c counting) Read(id object.ID) (object.Kind, []byte, error) {
	if c.reads.Add(1) == c.failAt {
		return "", nil, errDisk
	}
	return c.Reader.Read(object.ParseID(id.String()))
}

// A walk finds the same on all processors as on one, and reads hardly more for it:
// each commit, and each tree for the commits that are looked at together.
func TestAWalkFindsTheSameOnAllProcessors(t *testing.T) {
	testenv.Slow(t)
	l := started(t)
	g := gitIn(t, l.Repository())
	w := newWorld(7, 1100)
	w.load(g)
	tree, tip := g.run("rev-parse", w.made[0].sha+"^{tree}"), w.made[0].sha
	for some := range slices.Chunk(w.made[1:], 50) { // so that one commit reaches all
		arguments := []string{"commit-tree", "-m", "all of them", "-p", tip, tree}
		for _, m := range some {
			arguments = append(arguments, "-p", m.sha)
		}
		tip = g.run(arguments...)
	}
	target := object.ParseID(tip)
	walk := func(failAt int64, beside bool) ([]row, int64, error) {
		var reads atomic.Int64
		trees := func() *revwalk.Trees {
			reader := l.objects.Reader(t.Context())
			t.Cleanup(reader.Close)
			return revwalk.NewTrees(counting{reader, &reads, failAt})
		}
		var told []int
		way := revwalk.Walk[row]{Trees: trees()}
		if beside {
			way.Beside = trees
		}
		rows, err := rowsOf(t.Context(), way, target, func(done int) { told = append(told, done) })
		if err == nil && !slices.Equal(told, []int{progressStep}) {
			t.Errorf("the progress that was told is %v", told)
		}
		return rows, reads.Load(), err
	}
	want, alone, err := walk(0, false)
	must.Do(t, err)
	got, together, err := walk(0, true)
	must.Do(t, err)
	if len(want) < 4*256 || !slices.EqualFunc(got, want, func(a, b row) bool { return bytes.Equal(a, b) }) {
		t.Errorf("%d rows, want %d, or other ones", len(got), len(want))
	}
	t.Logf("%d objects were read for %d commits, %d by one goroutine", together, len(got), alone)
	if together > alone+alone/2 {
		t.Errorf("%d objects were read on all processors, %d on one", together, alone)
	}
	for _, at := range []int64{1, 300, alone / 2, alone - 1} {
		if _, _, err := walk(at, true); !errors.Is(err, errDisk) {
			t.Errorf("read %d fails: %v", at, err)
		}
	}
}
