package datadir

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/testenv"
)

// TestWatch is every way in which a datadir is known to be changed. The
// datadir is conf; each play ends with proof that it is still watched.
func TestWatch(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	const a = "feature-flags/a.json"
	flag := map[string]string{"conf/feature-flags/a.json": "1"}
	for _, tt := range []struct {
		name  string
		files map[string]string
		play  func(s *scene)
	}{
		{"written in place", flag, func(s *scene) {
			s.put("conf/"+a, "2")
			s.reads(a, "2")
			s.put("conf/"+a, "3")
			s.reads(a, "3")
		}},
		{"renamed over", flag, func(s *scene) {
			for _, text := range []string{"2", "3"} {
				s.put("conf/feature-flags/a.json___tmp___", text)
				s.move("conf/feature-flags/a.json___tmp___", "conf/"+a)
				s.reads(a, text)
			}
		}},
		{"saved by vim", flag, func(s *scene) {
			for _, text := range []string{"2", "3"} {
				s.put("conf/feature-flags/4913", "")
				s.remove("conf/feature-flags/4913")
				s.move("conf/"+a, "conf/feature-flags/a.json~")
				s.put("conf/"+a, text)
				s.remove("conf/feature-flags/a.json~")
				s.reads(a, text)
			}
		}},
		{"deleted and made again", flag, func(s *scene) {
			s.remove("conf/" + a)
			s.reads()
			s.put("conf/"+a, "2")
			s.reads(a, "2")
		}},
		{"a file renamed", flag, func(s *scene) {
			s.move("conf/"+a, "conf/feature-flags/b.json")
			s.reads("feature-flags/b.json", "1")
		}},
		{"a folder appears", flag, func(s *scene) {
			s.mkdir("conf/configs")
			s.put("conf/configs/b.json", "b")
			s.reads(a, "1", "configs/b.json", "b")
			s.put("conf/configs/b.json", "c")
			s.reads(a, "1", "configs/b.json", "c")
		}},
		{"a folder is moved in", map[string]string{"conf/feature-flags/a.json": "1", "new/b.json": "b"}, func(s *scene) {
			s.move("new", "conf/segments")
			s.reads(a, "1", "segments/b.json", "b")
		}},
		{"a folder is replaced", map[string]string{"conf/feature-flags/a.json": "1", "new/a.json": "2"}, func(s *scene) {
			s.move("conf/feature-flags", "old")
			s.move("new", "conf/feature-flags")
			s.reads(a, "2")
			s.put("old/a.json", "of no interest")
			s.put("conf/"+a, "3")
			s.reads(a, "3")
		}},
		{"a folder is removed and made again at once", flag, func(s *scene) {
			for _, text := range []string{"2", "3", "4"} {
				s.remove("conf/feature-flags")
				s.mkdir("conf/feature-flags")
				s.put("conf/"+a, text)
				s.reads(a, text)
			}
		}},
		{"the workspace file", flag, func(s *scene) {
			s.put("conf/svc.json", "w")
			s.reads(a, "1", "svc.json", "w")
			s.put("conf/svc.json", "x")
			s.reads(a, "1", "svc.json", "x")
			s.remove("conf/svc.json")
			s.reads(a, "1")
		}},
		{"a file that cannot be read for a while", flag, func(s *scene) {
			s.link("b.json", "conf/feature-flags/b.json")
			s.w.until("a problem", func(state State) bool {
				return len(state.Problems) == 1 && state.Problems[0].String() == "feature-flags/b.json: its symbolic links lead round in a circle [UNREADABLE_FILE]"
			})
			s.remove("conf/feature-flags/b.json")
			s.w.until("no problem", func(state State) bool { return len(state.Problems) == 0 })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, by watch) { play(t, by, tt.files, tt.play) })
		})
	}
	// What is elsewhere than in the directory and the folders of its layout is found by
	// the recheck.
	for _, tt := range []struct {
		name  string
		files map[string]string
		play  func(s *scene)
	}{
		{"the datadir is removed and made again", flag, func(s *scene) {
			for _, text := range []string{"2", "3"} {
				s.remove("conf")
				s.gone()
				s.mkdir("conf/feature-flags")
				s.put("conf/"+a, text)
				s.reads(a, text)
			}
		}},
		{"an ancestor is replaced", map[string]string{"conf": "-> x/y/z", "x/y/z/feature-flags/a.json": "1", "new/z/feature-flags/a.json": "2"}, func(s *scene) {
			s.move("x/y", "x/old")
			s.move("new", "x/y")
			s.reads(a, "2")
		}},
		{"the datadir is a link that is pointed elsewhere", map[string]string{
			"conf": "-> one", "one/feature-flags/a.json": "1", "two/feature-flags/a.json": "2",
		}, func(s *scene) {
			s.relink("two", "conf")
			s.reads(a, "2")
			s.remove("conf")
			s.link(s.path("one"), "conf")
			s.reads(a, "1")
		}},
		{"a mounted ConfigMap", map[string]string{
			"conf/..1/flags/a.json": "1", "conf/..data": "-> ..1", "conf/feature-flags": "-> ..data/flags", "conf/svc.json": "-> ..data/svc.json", "conf/..1/svc.json": "w",
		}, func(s *scene) {
			for i, text := range []string{"2", "3"} {
				version := fmt.Sprintf("conf/..%d", i+2)
				s.mkdir(version + "/flags")
				s.put(version+"/svc.json", "w"+text)
				s.put(version+"/flags/a.json", text)
				s.relink(filepath.Base(version), "conf/..data")
				s.remove(fmt.Sprintf("conf/..%d", i+1))
				s.reads(a, text, "svc.json", "w"+text)
			}
			s.move("conf/..3/flags/a.json", "conf/a.json")
			s.move("conf/a.json", "conf/feature-flags/a.json")
			s.put("conf/..3/svc.json", "x")
			s.reads(a, "3", "svc.json", "x")
		}},
		{"a linked file", map[string]string{"conf/feature-flags/a.json": "-> ../far/a", "conf/far/a": "1", "conf/far/b": "2"}, func(s *scene) {
			s.put("conf/far/a", "3")
			s.reads(a, "3")
			s.relink("../far/b", "conf/"+a)
			s.reads(a, "2")
			s.put("conf/far/b", "4")
			s.reads(a, "4")
			s.remove("conf/" + a)
			s.put("conf/"+a, "5")
			s.reads(a, "5")
			s.remove("conf/" + a)
			s.link("../far/a", "conf/"+a)
			s.reads(a, "3")
			s.put("conf/far/a", "6")
			s.reads(a, "6")
		}},
		{"a link that leads out for a while", map[string]string{"conf/feature-flags/a.json": "1", "conf/feature-flags/b.json": "b", "far/a": "secret", "conf/..1/a": "2"}, func(s *scene) {
			s.relink("../../far/a", "conf/"+a)
			s.w.until("the file is left out", func(state State) bool {
				return len(state.Files) == 1 && len(state.Problems) == 1
			})
			s.relink("../..1/a", "conf/"+a)
			s.w.until("the file is back", func(state State) bool {
				return string(state.Files[a]) == "2" && len(state.Problems) == 0
			})
		}},
		{"it was not there yet", nil, func(s *scene) {
			s.mkdir("conf/feature-flags")
			s.put("conf/"+a, "1")
			s.reads(a, "1")
		}},
		{"it becomes a file for a while", flag, func(s *scene) {
			s.remove("conf")
			s.put("conf", "x")
			s.w.until("a file", func(state State) bool {
				return len(state.Problems) == 1 && strings.HasSuffix(state.Problems[0].Message, "is a file")
			})
			s.remove("conf")
			s.mkdir("conf/feature-flags")
			s.put("conf/"+a, "2")
			s.reads(a, "2")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			play(t, rechecked(), tt.files, tt.play)
		})
	}
}

func play(t *testing.T, by watch, files map[string]string, play func(s *scene)) {
	s := &scene{t: t, top: t.TempDir()}
	tree(t, s.top, files)
	s.w = start(t, s.path("conf"), by)
	play(s)
	s.mkdir("conf/log-levels")
	s.put("conf/log-levels/log-level.last.json", "last")
	s.w.until("the last change", func(state State) bool {
		return string(state.Files["log-levels/log-level.last.json"]) == "last"
	})
}

// TestWatchStart is a change between the caller's look and Watch.
func TestWatchStart(t *testing.T) {
	bothWays(t, func(t *testing.T, by watch) {
		dir := t.TempDir()
		tree(t, dir, map[string]string{"configs/a.json": "1"})
		seen := Look(dir)
		tree(t, dir, map[string]string{"configs/a.json": "2"})
		startFrom(t, dir, seen, by).untilFiles(map[string]string{"configs/a.json": "2"})
	})
}

func TestWatchRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	tree(t, ".", map[string]string{"conf/configs/a.json": "1"})
	w := start(t, "conf", byWatching)
	tree(t, ".", map[string]string{"conf/configs/a.json": "2"})
	w.untilFiles(map[string]string{"configs/a.json": "2"})
}

// TestWatchNothingNew does what leaves the content as it is, and then one
// thing that does not: it has to be the first that is reported.
func TestWatchNothingNew(t *testing.T) {
	bothWays(t, func(t *testing.T, by watch) {
		s := &scene{t: t, top: t.TempDir()}
		tree(t, s.top, map[string]string{"conf/configs/a.json": "1", "conf/configs/b.json": "b", "other/x": ""})
		by.quiet = 200 * time.Millisecond // which no pause within a step reaches
		s.w = start(t, s.path("conf"), by)
		quiet := func() { time.Sleep(2 * by.quiet) } // so that it is looked at, or nothing is proved
		for _, do := range []func(){
			func() { s.put("conf/configs/a.json", "1") },
			func() { must.Do(t, os.Chmod(s.path("conf/configs/a.json"), 0o600)) },
			func() { must.Do(t, os.Chtimes(s.path("conf/configs/a.json"), time.Now(), time.Unix(1e9, 0))) },
			func() { s.put("conf/configs/a.json~", "backup") },
			func() { s.put("conf/README.md", "words") },
			func() { s.mkdir("conf/configs/sub"); s.put("conf/configs/sub/c.json", "c") },
			func() { s.put("other/y.json", "y") },
			func() { s.mkdir("conf/segments") },
			func() { s.move("conf", "away"); s.move("away", "conf") },
		} {
			do()
			quiet()
		}
		s.put("conf/configs/b.json", "c")
		if got, want := texts(s.w.next().Files), map[string]string{"configs/a.json": "1", "configs/b.json": "c"}; !maps.Equal(got, want) {
			t.Errorf("the first state reported is %v", got)
		}
	})
}

// TestWatchBurst is a check-out of 1,000 files: one report.
func TestWatchBurst(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	bothWays(t, func(t *testing.T, by watch) {
		s := &scene{t: t, top: t.TempDir()}
		tree(t, s.top, map[string]string{"conf/svc.json": "w"})
		// A wait that no pause of this machine reaches makes the count exact;
		// the burst takes longer than that, and than two looks of a poll.
		by.quiet, by.atMost, by.poll = 3*time.Second, time.Hour, 3300*time.Millisecond
		s.w = start(t, s.path("conf"), by)
		s.put("conf/svc.json", "x")
		s.reads("svc.json", "x")
		s.mkdir("conf/feature-flags") // not there before: it has to be watched at once
		for i := range 1000 {
			s.put(fmt.Sprintf("conf/feature-flags/f%d.json", i), "x")
			time.Sleep(4 * time.Millisecond)
		}
		if n := len(s.w.next().Files); n != 1001 {
			t.Errorf("the burst was reported with %d files", n)
		}
		s.put("conf/svc.json", "y")
		if state := s.w.next(); string(state.Files["svc.json"]) != "y" {
			t.Error("the burst was reported twice")
		}
	})
}

// TestWatchEndless is a change that does not end.
func TestWatchEndless(t *testing.T) {
	bothWays(t, func(t *testing.T, by watch) {
		s := &scene{t: t, top: t.TempDir()}
		tree(t, s.top, map[string]string{"conf/svc.json": "w"})
		by.quiet, by.atMost = time.Hour, 200*time.Millisecond
		s.w = start(t, s.path("conf"), by)
		for reports, i := 0, 0; reports < 3; i++ {
			s.put("conf/svc.json", strings.Repeat("x", i%100))
			select {
			case <-s.w.states:
				reports++
			case <-time.After(time.Millisecond):
			}
			if i > 100_000 {
				t.Fatalf("%d reports", reports)
			}
		}
	})
}

// TestWatchGoneIsReportedOnce also when its surroundings go on changing.
func TestWatchGoneIsReportedOnce(t *testing.T) {
	t.Parallel()
	by := rechecked()
	s := &scene{t: t, top: t.TempDir()}
	tree(t, s.top, map[string]string{"x/conf/svc.json": "w"})
	s.w = start(t, s.path("x/conf"), by)
	s.remove("x")
	s.gone()
	s.mkdir("x")
	time.Sleep(2 * by.quiet)
	s.remove("x")
	time.Sleep(2 * by.quiet)
	s.mkdir("x/conf")
	s.put("x/conf/svc.json", "w")
	if state := s.w.next(); state.Problems != nil {
		// Between mkdir and the file, it may also have been seen empty.
		if p := state.Problems[0]; p.Severity.String() != "warning" {
			t.Errorf("reported again: %v", p)
		}
	}
}

// TestWatchLeavesNothing running, however it watched.
func TestWatchLeavesNothing(t *testing.T) {
	for name, by := range map[string]watch{"watching": byWatching, "polling": byPolling} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t, top: t.TempDir()}
			tree(t, s.top, map[string]string{"svc.json": "w"})
			before := goroutines()
			s.w = start(t, s.top, by)
			s.mkdir("configs") // so that the watches are set up again
			s.put("configs/a.json", "1")
			s.reads("svc.json", "w", "configs/a.json", "1")
			s.w.stop()
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				after := goroutines()
				if len(after) <= len(before) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("still running:\n%s", strings.Join(after, "\n\n"))
				}
			}
		})
	}
}

// goroutines are those that this package or its watcher started.
func goroutines() []string {
	stacks := make([]byte, 1<<20)
	all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	return slices.DeleteFunc(all, func(stack string) bool {
		return !strings.Contains(stack, "fsnotify") && !strings.Contains(stack, "datadir.(*watch)")
	})
}

// TestWatchEndsWhenChangedDoes the cancelling itself.
func TestWatchEndsWhenChangedDoes(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"svc.json": "w"})
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	ignore := func(string) {}
	Watch(ctx, dir, State{}, ignore, func(State) { calls++; cancel() })
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	Watch(ctx, dir, State{}, ignore, func(State) { t.Error("called though it was over before it began") })
}

func TestOverlooked(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"svc.json": "w", "README.md": "no", "feature-flags/a.json": "a", "feature-flags/b.JSON": "b", "feature-flags/c.jsonc": "c",
		"feature-flags/notes.txt": "no", "feature-flags/.hidden.JSON": "no", "feature-flags/a.json~": "no", "feature-flags/sub/d.json": "d",
		"configs/e.json/": "", "Segments/f.json": "f", "feature_flags/g.json": "g", "flags/h.json": "h", ".config/x.json": "no",
		"configs/Upper.json": "read", "configs/i.yaml": "i", "configs/j.YML": "j", "configs/k.json5": "k", "configs/README.yaml": "no",
		"configs/.i.yaml.swp": "no", "configs/#l.json#": "no", "beside.json": "m", "package.json": "no", "README.json": "no", ".dot.json": "no",
		"compose.yaml": "no", "docs/package.json": "no", "docs/readme.json": "no", "docs/n.yaml": "no", "docs/deep/o.json": "no",
	})
	checkProblems(t, Overlooked(dir), []string{
		"warning Segments: this folder is left out; did you mean segments?",
		"warning beside.json: this is left out: documents stand in the folders feature-flags, configs, log-levels, segments, schemas, by their type",
		"warning configs/e.json: this folder is left out: documents stand in the folder above it",
		"warning configs/i.yaml: this is left out: a document is plain JSON",
		"warning configs/j.YML: this is left out: a document is plain JSON",
		"warning configs/k.json5: this is left out: a document is plain JSON",
		"warning feature-flags/b.JSON: this is left out: the name of a document ends in .json, in small letters",
		"warning feature-flags/c.jsonc: this is left out: a document is plain JSON",
		"warning feature-flags/sub: this folder is left out",
		"warning feature_flags: this folder is left out; did you mean feature-flags?",
		"warning flags/h.json: this is left out: flags is none of the folders feature-flags, configs,",
	})
	if found := Overlooked(dir + "/nowhere"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

func TestWhatOtherProgramsObeyIsRefused(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"svc.json": "w", "HEAD": "x", "config": "x", "objects/pack/p": "x", "refs/heads/main": "x", ".svc-write.json": "x",
		"feature-flags/HEAD": "x", "head.json/": "", "configs/sub/HEAD": "x", "configs/sub/objects/": "", "configs/sub/refs/": "",
		"docs/HEAD": "x", "docs/objects/": "", "docs/refs/": "", "src/HEAD": "no", "a/b/c/d/head": "x", "a/b/c/d/commondir": "x", ".git/HEAD": "no", ".git/objects/": "", ".git/refs/": "",
	})
	checkProblems(t, Overlooked(dir), []string{
		"fatal .: git does not say what it hides: not a git repository",
		"error .svc-write.json: versions before the first release take this for a change that was cut short",
		"error HEAD: git takes HEAD, config, objects and refs in a directory for a repository, whose settings say what it runs",
		"error a/b/c/d: git takes HEAD,", "error config: git takes HEAD,", "error configs/sub: git takes HEAD,", "warning configs/sub: this folder is left out", "error docs: git takes HEAD,",
		"error feature-flags/HEAD: git takes HEAD,", "error objects: git takes HEAD,", "error refs: git takes HEAD,",
	})
}

func TestAGitThatCannotBeAskedHidesNothing(t *testing.T) {
	dir := t.TempDir()
	realgit.Run(t, dir, "init", "-q")
	tree(t, dir, map[string]string{"svc.json": "w", ".git/index": "broken"})
	checkProblems(t, Overlooked(dir), []string{"fatal .: git does not say what it hides: "})
}

func TestOverlookedIsBounded(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("configs/c%02d.yaml", i)] = "x"
		files[fmt.Sprintf("other/o%02d.json", i)] = "x"
	}
	for i := range 2 * maxFolders {
		files[fmt.Sprintf("z%03d/x.json", i)] = "x"
	}
	tree(t, dir, files)
	found := Overlooked(dir)
	if want := 2*(maxOverlooked+1) + maxFolders - 1; len(found) != want {
		t.Errorf("%d problems, not %d", len(found), want)
	}
	checkProblems(t, found[:1], []string{"warning configs: 10 more files or folders in here are left out"})
}
