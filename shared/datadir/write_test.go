package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

func TestWriteReplacesWhatItWasToldOf(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	tree(t, dir, map[string]string{"configs/a.json": "old", "configs/b.json": "old b", "elsewhere.txt": "linked", "configs/kept.json": "kept",
		"configs/in.json": "-> " + filepath.Join(dir, "elsewhere.txt"), "configs/out.json": "-> " + filepath.Join(outside, "x"), "configs/away.json": "-> kept.json"})
	must.Do(t, os.Chmod(filepath.Join(dir, "configs/a.json"), 0o640))
	tree(t, outside, map[string]string{"x": "out"})
	for _, tt := range []struct {
		name  string
		edits []Edit
		want  error
	}{
		{"another content", []Edit{{Path: "configs/a.json", Was: []byte("other"), Content: []byte("new")}}, ErrChanged},
		{"one of two is another", []Edit{{Path: "configs/a.json", Was: []byte("old"), Content: []byte("new")}, {Path: "configs/b.json", Was: []byte("other"), Content: nil}}, ErrChanged},
		{"a file that is there", []Edit{{Path: "configs/a.json", Was: nil, Content: []byte("new")}}, ErrChanged},
		{"none where there was one", []Edit{{Path: "configs/gone.json", Was: []byte("old"), Content: []byte("new")}}, ErrChanged},
		{"both", []Edit{{Path: "configs/a.json", Was: []byte("old"), Content: []byte("new")}, {Path: "configs/b.json", Was: []byte("old b"), Content: nil}, {Path: "feature-flags/c.json", Was: nil, Content: []byte("c")}}, nil},
		{"away with a link", []Edit{{Path: "configs/away.json", Was: []byte("kept"), Content: nil}}, nil},
		{"behind a link", []Edit{{Path: "configs/in.json", Was: []byte("linked"), Content: []byte("new")}}, nil},
	} {
		if err := Write(t.Context(), dir, tt.edits); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if tt.want != nil {
			if text, _ := os.ReadFile(filepath.Join(dir, "configs/a.json")); string(text) != "old" {
				t.Errorf("%s: %q is written", tt.name, text)
			}
		}
	}
	if err := Write(t.Context(), dir, []Edit{{Path: "configs/out.json", Was: []byte("out"), Content: []byte("new")}}); err == nil {
		t.Error("a link out of the directory is followed")
	}
	if text, _ := os.ReadFile(filepath.Join(outside, "x")); string(text) != "out" {
		t.Errorf("outside there is %q", text)
	}
	const want = `configs/a.json ----------: new
configs/in.json L---------: new
configs/kept.json ----------: kept
configs/out.json L---------: out
elsewhere.txt ----------: new
feature-flags/c.json ----------: c`
	if found := everything(t, dir); found != want {
		t.Errorf("there is\n%s\nwant\n%s", found, want)
	}
	if info, err := os.Stat(filepath.Join(dir, "configs/a.json")); err != nil || info.Mode().Perm() != 0o640 && runtime.GOOS != "windows" {
		t.Error(info.Mode(), err)
	}
}

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
			editor := must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t)
			if openForWritingUnknown(t, dir) {
				t.Skip("the system cannot tell who writes to a file")
			}
			saved, once := make(chan error, 1), sync.Once{}
			err := write(t.Context(), dir, []Edit{{Path: "a.json", Was: []byte("old"), Content: content}}, func() {
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

// Variables by which the test's program is told to write, or to restore, and to kill
// itself after so many steps.
const (
	killedVariable   = "SVC_TEST_KILLED_IN"
	stepsVariable    = "SVC_TEST_KILLED_AFTER"
	restoresVariable = "SVC_TEST_KILLED_RESTORING"
)

// several is a change of what layout makes, with every way in which a file changes.
var several = []Edit{
	{Path: "feature-flags/a.json", Was: []byte("old a"), Content: []byte("new a")},
	{Path: "configs/made.json", Content: []byte("new")},
	{Path: "configs/gone.json", Was: []byte("old gone")},
	{Path: "configs/link.json", Was: []byte("old far"), Content: []byte("new far")},
	{Path: "configs/away.json", Was: []byte("kept")},
	{Path: "configs/same.json", Was: []byte("same"), Content: []byte("same")},
	{Path: "segments/forced.json", Content: []byte("new forced"), Force: true},
	{Path: "feature-flags/z.json", Was: []byte("old z"), Content: []byte("new z")},
}

func layout(t *testing.T) string {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	tree(t, dir, map[string]string{"feature-flags/a.json": "old a", "feature-flags/z.json": "old z", "configs/gone.json": "old gone",
		"configs/kept.json": "kept", "configs/same.json": "same", "far.txt": "old far", "segments/target.json": "target",
		"configs/link.json": "-> ../far.txt", "configs/away.json": "-> kept.json", "segments/forced.json": "-> target.json"})
	return dir
}

// takeBack is what who writes next does first.
func takeBack(t *testing.T, dir string) {
	t.Helper()
	lock := must.Get(Lock(t.Context(), dir))(t)
	lock.Close()
}

// everything is what lies in a directory, in one line for each file.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		line := fmt.Sprintf("%s %v: %s", filepath.ToSlash(name), d.Type(), text)
		all = append(all, line)
		return err
	}))
	return strings.Join(all, "\n")
}

// TestKilled is the program that is killed.
func TestKilled(t *testing.T) {
	dir := os.Getenv(killedVariable)
	if dir == "" {
		return // it is no test of its own
	}
	steps := must.Get(strconv.Atoi(os.Getenv(stepsVariable)))(t)
	var done atomic.Int64 // files are prepared at the same time
	step := func() {
		if done.Add(1) == int64(steps) {
			_ = self.Kill()
			select {}
		}
	}
	if os.Getenv(restoresVariable) == "" {
		must.Do(t, write(t.Context(), dir, several, step))
		return
	}
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	must.Do(t, restore(inside{dir, root}, step))
}

var self, _ = os.FindProcess(os.Getpid())

// killed starts the program on a directory, and reports whether it was killed.
func killed(t *testing.T, dir string, steps int, more ...string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
	cmd.Env = append(os.Environ(), append(more, killedVariable+"="+dir, stepsVariable+"="+strconv.Itoa(steps))...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case !errors.As(err, &exit) || len(out) > 0: // one that fails says why
		t.Fatalf("after %d steps: %v\n%s", steps, err, out)
	}
	return true
}

// TestAKilledWriteIsDoneAsAWholeOrNotAtAll, at whichever step the process is killed, as soon
// as the next one looks, which may be killed at any step too.
func TestAKilledWriteIsDoneAsAWholeOrNotAtAll(t *testing.T) {
	before, done := layout(t), layout(t)
	must.Do(t, Write(t.Context(), done, several))
	old, new := everything(t, before), everything(t, done)
	if strings.Contains(new, "old") || strings.Contains(new, ".svc-") {
		t.Fatal(new)
	}
	outcomes := []string{}
	for steps := 1; ; steps++ {
		dir := layout(t)
		if !killed(t, dir, steps) {
			break
		}
		lies := everything(t, dir)
		unfinished, err := Unfinished(t.Context(), dir)
		if err != nil || everything(t, dir) != lies {
			t.Errorf("after %d steps: a reader has written, or gets %v", steps, err)
		}
		if seen := withoutLeft(lies); len(unfinished) == 0 && seen != old && seen != new {
			t.Errorf("after %d steps: a reader is not told that a half is done\n%s", steps, lies)
		}
		for again := 1; killed(t, dir, again, restoresVariable+"=yes"); again++ {
		}
		takeBack(t, dir)
		switch got := everything(t, dir); got {
		case old:
			outcomes = append(outcomes, "nothing")
		case new:
			outcomes = append(outcomes, "all")
		default:
			t.Errorf("after %d steps there is\n%s", steps, got)
		}
	}
	if outcomes = slices.Compact(outcomes); !slices.Equal(outcomes, []string{"nothing", "all"}) {
		t.Errorf("as the steps go on, what is done is %q", outcomes)
	}
}

// withoutLeft is everything but what lies beside the files.
func withoutLeft(all string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(all, "\n"), func(line string) bool { return strings.Contains(line, ".svc-next-") }), "\n")
}

// TestAJournalIsObeyedWhereItWasWritten: not one that came with the files, not for a directory
// that has taken the place of its own, and not where it names what no change of svc does.
func TestAJournalIsObeyedWhereItWasWritten(t *testing.T) {
	begun := func(t *testing.T) (dir string) {
		dir = layout(t)
		for steps := 1; ; steps++ { // until a file has got its place
			if dir = layout(t); !killed(t, dir, steps) {
				t.Fatal("it was never done in part")
			}
			if text, _ := os.ReadFile(filepath.Join(dir, "feature-flags/a.json")); string(text) == "new a" {
				return dir
			}
		}
	}
	t.Run("among the files", func(t *testing.T) {
		dir := layout(t)
		tree(t, dir, map[string]string{workspace.OldJournal: `[{"At": "feature-flags/a.json", "SHA256": "` + sumOf([]byte("old a")) + `", "Next": "feature-flags/z.json"}]`})
		lies := everything(t, dir)
		if _, err := Unfinished(t.Context(), dir); !errors.Is(err, ErrFound) {
			t.Error(err)
		}
		if _, err := Lock(t.Context(), dir); !errors.Is(err, ErrFound) {
			t.Error(err)
		}
		if got := everything(t, dir); got != lies {
			t.Errorf("it was obeyed:\n%s", got)
		}
	})
	t.Run("another directory", func(t *testing.T) {
		dir := begun(t)
		lies := withoutLeft(everything(t, dir))
		must.Do(t, errors.Join(os.Rename(dir, dir+".old"), os.CopyFS(dir, os.DirFS(dir+".old"))))
		left, _ := filepath.Glob(filepath.Join(dir, ".svc-next-*"))
		for _, mark := range left {
			must.Do(t, os.Remove(mark))
		}
		if unfinished, err := Unfinished(t.Context(), dir); err != nil || len(unfinished) > 0 {
			t.Error(unfinished, err)
		}
		takeBack(t, dir)
		if got := everything(t, dir); got != lies {
			t.Errorf("there is\n%s\nwant\n%s", got, lies)
		}
	})
	for _, r := range []record{{At: "../far"}, {At: ".git/hooks/x"}, {At: "configs/.GIT/x"}, {At: "configs/a.json", Next: "far.txt"}, {At: "configs/a.json", Next: "configs/b.json"}, {At: "/far"}} {
		if r.check() == nil {
			t.Errorf("%+v is obeyed", r)
		}
	}
}

// TestAJournalThatCannotBeRemovedIsEmptied, and what is done stays done.
func TestAJournalThatCannotBeRemovedIsEmptied(t *testing.T) {
	dir := layout(t)
	remove = func(path string) error { return &fs.PathError{Op: "remove", Path: path, Err: errors.ErrUnsupported} }
	t.Cleanup(func() { remove = os.Remove })
	must.Do(t, Write(t.Context(), dir, several))
	done := everything(t, dir)
	takeBack(t, dir)
	if got := everything(t, dir); got != done || strings.Contains(got, "old") {
		t.Errorf("there is\n%s", got)
	}
}

// TestAnEditAfterAKillIsKept, of whichever file and whatever was done of the write, and the
// others are all as they were or all as they were to be.
func TestAnEditAfterAKillIsKept(t *testing.T) {
	for _, path := range []string{"feature-flags/a.json", "configs/gone.json"} {
		for steps := 1; ; steps += 3 {
			dir := layout(t)
			if !killed(t, dir, steps) {
				break
			}
			must.Do(t, renamed("edited")(filepath.Join(dir, path)))
			takeBack(t, dir)
			if text, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(text) != "edited" {
				t.Errorf("%s after %d steps: there is %q, %v", path, steps, text, err)
			}
			had := map[bool]bool{}
			for _, e := range several {
				if text, err := os.ReadFile(filepath.Join(dir, e.Path)); e.Path != path && e.Path != "configs/same.json" {
					had[string(text) == string(e.Content) && (err == nil) == (e.Content != nil)] = true
				}
			}
			if len(had) != 1 {
				t.Errorf("%s after %d steps: a half is done\n%s", path, steps, everything(t, dir))
			}
		}
	}
}

// TestAnEditOfTheMomentOfAKillIsKept: it has come out for the new file, and the process was
// killed before it looked.
func TestAnEditOfTheMomentOfAKillIsKept(t *testing.T) {
	dir := layout(t)
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	in := inside{dir, root}
	var all []*writing
	for _, e := range several[:3] {
		w := &writing{Edit: e, in: in, step: func() {}, waits: new(int)}
		all = append(all, w)
		must.Do(t, errors.Join(w.prepare(t.Context()), w.check()))
	}
	must.Get(begin(in, all, func() {}))(t)
	edited := filepath.Join(dir, "feature-flags/a.json")
	must.Do(t, renamed("edited")(edited))
	if err := exchange(root, all[0].Next, all[0].At); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the system is not asked to exchange two files")
	} else if err != nil {
		t.Fatal(err)
	}
	takeBack(t, dir)
	if text, _ := os.ReadFile(edited); string(text) != "edited" {
		t.Errorf("there is %q", text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".svc-*")); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// TestWithoutExchangeTheOldFileIsKeptToo until the change is done, where the system cannot
// have two files change places; what was written into it at the last moment is kept.
func TestWithoutExchangeTheOldFileIsKeptToo(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(path string) error
		want error
		left string
	}{
		{"nobody", func(string) error { return nil }, nil, "old a"},
		{"an editor", func(path string) error { return os.WriteFile(path, []byte("edited"), 0o666) }, ErrChanged, "edited"},
		{"an editor who removes it", os.Remove, ErrChanged, ""},
	} {
		dir := layout(t)
		root := must.Get(os.OpenRoot(dir))(t)
		defer root.Close()
		path := filepath.Join(dir, "feature-flags/a.json")
		w := &writing{Edit: several[0], in: inside{dir, root}, step: func() {}, waits: new(int)}
		must.Do(t, errors.Join(w.prepare(t.Context()), w.check()))
		must.Get(begin(w.in, []*writing{w}, w.step))(t)
		if err := errors.Join(tt.edit(path), w.rename()); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		takeBack(t, dir)
		if text, _ := os.ReadFile(path); string(text) != tt.left {
			t.Errorf("%s: there is %q, want %q", tt.name, text, tt.left)
		}
	}
}

// TestOnlyWhatWasWrittenThereIsSwept: a name that another directory's files had, such as one
// that was committed by mistake, says nothing here.
func TestOnlyWhatWasWrittenThereIsSwept(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	here, there := t.TempDir(), t.TempDir()
	name := ownName(here, "configs/a.json")
	for _, dir := range []string{here, there} {
		must.Do(t, os.Mkdir(filepath.Join(dir, "configs"), 0o777))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
		must.Do(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), nil, 0o666))
		lock := must.Get(Lock(t.Context(), dir))(t)
		must.Do(t, lock.Close())
	}
	for path, want := range map[string]bool{filepath.Join(here, name): false, filepath.Join(here, filepath.Base(name)): true, filepath.Join(there, name): true, filepath.Join(there, filepath.Base(name)): true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
