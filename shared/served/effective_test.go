package served

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/versions"
)

// goodOnce is a repository in which some files were good once.
type goodOnce struct {
	good  map[string]string // by path
	fails error
	index string        // where its history is
	asked *atomic.Int64 // how often a history was asked for; may be nil
}

func (r goodOnce) History(_ context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	if r.asked != nil {
		r.asked.Add(1)
	}
	if r.fails != nil {
		return nil, r.fails
	}
	if r.good[page.Path] == "" || head.Index != r.index {
		return nil, nil
	}
	return []repository.Commit{{SHA: "good", Touched: []repository.Touch{{Path: page.Path, Blob: "good"}}}}, nil
}

func (r goodOnce) At(_ context.Context, _ repository.Head, path, _ string) (string, []byte, error) {
	return "good", []byte(r.good[path]), nil
}

// TestVersionsFollowCommits edits a workspace at random, also so that documents
// are broken or have one key, and holds the versions of each view against those
// of a view that knows no earlier one, and against the documents that are served.
func TestVersionsFollowCommits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	flag := func(key string) string {
		criterion := []string{`{"operator":"ALWAYS_TRUE"}`, `{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"s"}}`}[random.IntN(2)]
		rules := fmt.Sprintf(`[{"criteria":[%s],"value":{"type":"string","value":"%d"}}]`, criterion, random.IntN(3))
		return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"string","default":{"rules":%s},"environments":[{"id":"e%d","rules":%[2]s}]}`, key, rules, random.IntN(3))
	}
	paths := []string{"configs/a.json", "feature-flags/A.json", "feature-flags/b.json", "feature-flags/c.json", "feature-flags/d.json", "segments/s.json"}
	texts := func(path string) string {
		switch random.IntN(4) {
		case 0:
			return ""
		case 1:
			return `{"broken"`
		}
		return map[string]func() string{
			"configs/a.json": func() string {
				return fmt.Sprintf(`{"key":"a","type":"config","valueType":"string","default":{"rules":[{"criteria":[],"value":{"type":"string","value":"%d"}}]}}`, random.IntN(3))
			},
			"feature-flags/A.json": func() string { return flag("A") }, "feature-flags/b.json": func() string { return flag("b") },
			"feature-flags/c.json": func() string { return flag("c") }, "feature-flags/d.json": func() string { return flag("d") },
			"segments/s.json": func() string {
				return fmt.Sprintf(`{"key":"s","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[],"value":{"type":"bool","value":%t}}]}}`, random.IntN(2) == 0)
			},
		}[path]()
	}
	repo := goodOnce{good: map[string]string{"feature-flags/b.json": flag("b"), "segments/s.json": texts("segments/s.json")}}
	files := map[string]string{}
	var earlier *View
	told, broken := 0, 0
	for step := range 1000 {
		path := paths[random.IntN(len(paths))]
		if files[path] = texts(path); files[path] == "" {
			delete(files, path)
		}
		var there []string
		for _, path := range paths {
			if _, ok := files[path]; ok {
				there = append(there, path)
			}
		}
		slices.Sort(there)
		snapshot := snapshotOf(files, there...)
		for i := range snapshot.Files {
			snapshot.Files[i].Last = &repository.Commit{SHA: "last"}
		}
		v, fresh := newView(snapshot, earlier, true), newView(snapshot, nil, true)
		v.resolved.Store(true) // there never was a workspace file
		known := v.known()
		o := &Head{repo: repo, Snapshot: snapshot, View: v, memory: &Memory{}}
		outline := must.Get(o.Meta(t.Context()))(t)
		if known != nil {
			told++
			if known != outline {
				t.Fatalf("step %d: it is told before anybody has asked, and then something else", step)
			}
		}
		scratch := must.Get((&Head{repo: repo, Snapshot: snapshot, View: fresh, memory: &Memory{}}).Meta(t.Context()))(t)
		ws := must.Get(o.Effective(t.Context()))(t)
		served := &versions.State{}
		for _, stored := range ws.Items {
			item := stored.Read()
			served.Add(item.Key, item.Tree, item.View)
		}
		for _, e := range []string{"e0", "e1", "e2", "other"} {
			if a, b, c := outline.Versions.Of(e, versions.Salt{}), scratch.Versions.Of(e, versions.Salt{}), served.Of(e, versions.Salt{}); !reflect.DeepEqual(a, c) || !reflect.DeepEqual(b, c) {
				t.Fatalf("step %d, %s: %v after the edit, %v from scratch, %v of what is served\n%v", step, e, a, b, c, files)
			}
		}
		if len(v.found) > 0 {
			broken++
		}
		earlier = v
	}
	if told < 100 || told == 1000 || broken < 100 {
		t.Errorf("versions were told without a question %d times, and %d workspaces were broken", told, broken)
	}
}

// TestAWriterTellsTheVersionsOfWhatIsBroken: a new instance that writes finds out
// what broken files were, unless they are many, and once.
func TestAWriterTellsTheVersionsOfWhatIsBroken(t *testing.T) {
	const good = `{"key":"b0","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[],"value":{"type":"bool","value":true}}]}}`
	for _, tt := range []struct {
		name   string
		broken int
		fails  error
		asked  int64
		told   bool
	}{
		{"sound", 0, nil, 0, true},
		{"some", maxAsked, nil, maxAsked, true},
		{"many", maxAsked + 1, nil, 0, false},
		{"without an answer", 1, errors.New("away"), 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, paths := map[string]string{"svc.json": `{"environments":["production"]}`}, []string{}
			for i := range tt.broken {
				files[fmt.Sprintf("feature-flags/b%d.json", i)] = `{"broken"`
			}
			files["feature-flags/edited.json"] = strings.ReplaceAll(good, "b0", "edited")
			for path := range files {
				paths = append(paths, path)
			}
			slices.Sort(paths)
			at := func(commit string) *repository.Snapshot {
				s := snapshotOf(files, paths...)
				s.Head = repository.Head{Commit: commit}
				for i := range s.Files {
					s.Files[i].Last = &repository.Commit{SHA: "last"}
				}
				return s
			}
			base := at("base")
			files["feature-flags/edited.json"] = strings.ReplaceAll(files["feature-flags/edited.json"], "true", "false")
			next := at("next")
			var asked atomic.Int64
			repo := goodOnce{good: map[string]string{"feature-flags/b0.json": good}, fails: tt.fails, asked: &asked}
			memory := New(1<<20, false, false)
			head := func(s *repository.Snapshot) *Head {
				return &Head{repo: repo, Snapshot: s, View: memory.view("w", s), memory: memory, workspace: "w"}
			}
			stored := head(base).VersionsOf(t.Context(), next, nil, time.Now())
			if asked.Load() != tt.asked {
				t.Errorf("%d histories were asked for, want %d", asked.Load(), tt.asked)
			}
			known, told := versions.Find(stored, "production")
			if told != tt.told {
				t.Fatalf("the versions are told: %t, want %t", told, tt.told)
			}
			if !told {
				return
			}
			served := must.Get(head(next).Meta(t.Context()))(t)
			if want := served.Versions.Of("production", versions.SaltOf(nil)); known.SDK != want.SDK || known.Client != want.Client {
				t.Errorf("told are %v, what is served has %v", known, want)
			}
			if again := head(next).VersionsOf(t.Context(), at("after"), nil, time.Now()); again == "" || asked.Load() != tt.asked {
				t.Errorf("the next write asks for %d histories more", asked.Load()-tt.asked)
			}
		})
	}
}

// TestWhatIsBrokenIsSoughtAtTheHeadThatIsAsked: a view may be that of a commit
// before it had landed, and of a head whose history was replaced since.
func TestWhatIsBrokenIsSoughtAtTheHeadThatIsAsked(t *testing.T) {
	const path, good = "feature-flags/a.json", `{"key":"a","type":"feature_flag","valueType":"bool","default":{"rules":[]}}`
	repo, memory := goodOnce{good: map[string]string{path: good}, index: "new"}, New(1<<20, false, false)
	at := func(index string) *Head {
		s := snapshotOf(map[string]string{path: `{"broken"`}, path)
		s.Head, s.Files[0].Last = repository.Head{Commit: "c", Index: index}, &repository.Commit{SHA: "last"}
		return &Head{repo: repo, Snapshot: s, View: memory.view("w", s)}
	}
	at("") // before it has landed
	o := at("new")
	ws, err := o.Effective(t.Context())
	if err != nil || len(ws.Items) != 1 {
		t.Errorf("%d documents are served, want the one that was good once: %v", len(ws.Items), err)
	}
}
