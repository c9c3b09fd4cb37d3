package served

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
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
	if ws, err := o.Effective(t.Context()); err != nil || len(ws.Items) != 1 {
		t.Errorf("%d documents are served, want the one that was good once: %v", len(ws.Items), err)
	}
}

// briefsFiles are files of which some can be told of in brief.
func briefsFiles() *repository.Snapshot {
	s := &repository.Snapshot{}
	for _, f := range [][2]string{
		{"configs/broken.json", `{`},
		{"feature-flags/a.json", `{"key":"a","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.key","valueToMatch":{"type":"string","value":"^a"}}],"value":{"type":"bool","value":true}}]},"environments":[{"id":"production","rules":[]}]}`},
		{"feature-flags/wrong.json", `{"key":"wrong","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[],"value":{"type":"bool","value":1}}]}}`},
		{"segments/s.json", `{"key":"s","type":"segment","valueType":"bool","default":{"rules":[]}}`},
		{"svc.json", `{"environments":["production"]}`},
	} {
		s.Files = append(s.Files, repository.File{Path: f[0], Blob: object.Hash(object.Blob, []byte(f[1])).String(), Text: []byte(f[1]), Last: &repository.Commit{}})
	}
	return s
}

// TestBriefsFormat: what is stored is read by other versions of svc, which take it
// for what they would make of the documents themselves. Whoever changes this raises
// briefsFormat.
func TestBriefsFormat(t *testing.T) {
	const want = "b6e67b8c16ede39f74068db0c9d03dc539d62b4739c9e6d51dee051b5da22a58"
	briefs := newView(briefsFiles(), nil, false).briefs()
	if got := fmt.Sprintf("%x", sha256.Sum256(briefs)); got != want {
		t.Errorf("%s\n%q", got, briefs)
	}
}

// TestBriefsTellOfDocuments that can be served as they are, and of nothing else.
func TestBriefsTellOfDocuments(t *testing.T) {
	s := briefsFiles()
	whole := newView(s, nil, false)
	v := briefed(s.Files, whole.briefs())
	for i, f := range s.Files {
		told, known := v.read[i], whole.read[i]
		if (told != nil) != known.servable() {
			t.Errorf("%s is told of: %t", f.Path, told != nil)
		}
		if told != nil && fmt.Sprintf("%+v", *told) != fmt.Sprintf("%+v", *known) {
			t.Errorf("%s is\n%+v, want\n%+v", f.Path, *told, *known)
		}
	}
	if got, want := string(v.readable.Encode()), string(whole.readable.Encode()); got != want {
		t.Errorf("the versions are %s, want %s", got, want)
	}
	if again := newView(s, v, false); string(again.briefs()) != string(whole.briefs()) {
		t.Error("a view that is made from briefs has others")
	}
}

func FuzzBriefed(f *testing.F) {
	s := briefsFiles()
	f.Add(newView(s, nil, false).briefs())
	f.Fuzz(func(t *testing.T, b []byte) {
		if v := briefed(s.Files, b); v != nil {
			newView(s, v, false).briefs()
		}
	})
}

// TestAViewOfWhatWasLost: at the same head, a file that is back is read.
func TestAViewOfWhatWasLost(t *testing.T) {
	head := repository.Head{Commit: "1", Sequence: 1}
	r := &cache{}
	lost := repository.File{Path: "configs/a.json", Err: &workspace.Unread{Why: "it is gone", Lost: true}}
	if v := r.at(repository.NewSnapshot(head, []repository.File{lost})); len(v.read[0].problems) != 1 {
		t.Errorf("%+v", v.read[0])
	}
	back := repository.File{Path: "configs/a.json", Text: []byte("{}")}
	if v := r.at(repository.NewSnapshot(head, []repository.File{back})); string(v.snapshot.Files[0].Text) != "{}" || !v.read[0].document {
		t.Errorf("%+v", v.read[0])
	}
}

// A page of a list tells of each flag in each environment.
func TestEnvironmentsThatDocumentsNameAreBounded(t *testing.T) {
	var entries []string
	for i := range 1000 {
		entries = append(entries, fmt.Sprintf(`{"id": "e%d", "rules": []}`, i))
	}
	flag := `{"key": "a", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}, "environments": [` + strings.Join(entries, ",") + `]}`
	head := repository.Head{Commit: "1", Sequence: 1}
	v := (&cache{}).at(repository.NewSnapshot(head, []repository.File{
		{Path: "feature-flags/a.json", Text: []byte(flag)}, {Path: "svc.json", Text: []byte(`{"environments": ["production", 1]}`)}}))
	if n := len(v.ws.Environments); n != workspace.MaxEnvironments {
		t.Errorf("%d environments", n)
	}
	if _, found := v.ws.Environment("production"); !found {
		t.Error("what is declared has made way")
	}
}

// TestTheSizeOfAView is what it takes beside the texts, whatever its documents are
// rich in.
func TestTheSizeOfAView(t *testing.T) {
	testenv.Slow(t)
	const slack = 1 << 20 // and what is remembered of expressions
	list := func(n int, f func(int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = f(i)
		}
		return strings.Join(all, ",")
	}
	flag := func(i int, more string) string {
		return fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"bool",%s"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`, i, more)
	}
	for name, c := range map[string]struct {
		n   int
		doc func(i int) string
	}{
		"flags": {5000, func(i int) string { return flag(i, "") }},
		"environments": {5, func(i int) string {
			return flag(i, `"environments":[`+list(5000, func(e int) string { return fmt.Sprintf(`{"id":"e%d","rules":[]}`, i*5000+e) })+`],`)
		}},
		"same environments": {4, func(i int) string {
			return flag(i, `"environments":[`+list(5000, func(e int) string { return fmt.Sprintf(`{"id":"e%d","rules":[]}`, e) })+`],`)
		}},
		"tags": {4, func(i int) string {
			return flag(i, `"tags":[`+list(5000, func(e int) string { return fmt.Sprintf(`"t%d"`, i*5000+e) })+`],`)
		}},
		"names":        {50, func(i int) string { return flag(i, `"name":"`+strings.Repeat("x", 100000)+`",`) }},
		"descriptions": {50, func(i int) string { return flag(i, `"description":"`+strings.Repeat("x", 100000)+`",`) }},
		"variants": {5, func(i int) string {
			return flag(i, `"variants":[`+list(5000, func(e int) string { return `{"value":{"type":"bool","value":true}}` })+`],`)
		}},
		"problems": {5, func(i int) string { return flag(i, `"variants":[`+list(5000, func(e int) string { return `1` })+`],`) }},
		"expressions": {20, func(i int) string {
			return flag(i, `"environments":[{"id":"production","rules":[{"value":{"type":"bool","value":true},"criteria":[`+list(2000, func(e int) string {
				return fmt.Sprintf(`{"operator":"PROP_MATCHES","propertyName":"a","valueToMatch":{"type":"string","value":"x%d"}}`, i*2000+e)
			})+`]}]}],`)
		}},
	} {
		for _, listed := range []bool{true, false} {
			s := &repository.Snapshot{}
			for i := range c.n {
				s.Files = append(s.Files, repository.File{Path: fmt.Sprintf("feature-flags/f%d.json", i), Text: []byte(c.doc(i)), Blob: fmt.Sprint(i)})
			}
			before := memory.InUse()
			v := newView(s, nil, listed)
			held := max(0, memory.InUse()-before) // what others have used may have gone meanwhile
			t.Logf("%s, listed %v: %d KB are held, %d KB are counted", name, listed, held>>10, v.bytes>>10)
			if v.bytes < held*3/4-slack || v.bytes > 6*held+slack {
				t.Errorf("%s, listed %v: %d bytes are held, and %d are counted", name, listed, held, v.bytes)
			}
			runtime.KeepAlive(v)
			runtime.KeepAlive(s)
		}
	}
}

func snapshotOf(files map[string]string, paths ...string) *repository.Snapshot {
	s := &repository.Snapshot{}
	for _, path := range paths {
		text := []byte(files[path])
		s.Files = append(s.Files, repository.File{Path: path, Blob: object.Hash(object.Blob, text).String(), Text: text})
	}
	return s
}

func TestOnlyWhatChangedIsDecodedAgain(t *testing.T) {
	flag := func(key, more string) string {
		return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"bool","default":{"rules":[]}%s}`, key, more)
	}
	const a, b, c, d, s = "feature-flags/a.json", "feature-flags/b.json", "feature-flags/c.json", "feature-flags/d.json", "schemas/s.json"
	first := newView(snapshotOf(map[string]string{a: flag("a", ""), b: flag("b", ""), d: flag("d", ""), s: `{"type":"object"}`}, a, b, d, s), nil, true)
	next := newView(snapshotOf(map[string]string{b: flag("b", `,"x":1`), c: flag("c", ""), d: flag("d", ""), s: `{"type":"object"}`}, b, c, d, s), first, true)
	if next.read[0] == first.read[1] || next.read[2] != first.read[2] {
		t.Error("what changed is not decoded, or what did not is decoded again")
	}
	// Compiling a schema can take most of a second, and writers wait for each other.
	compiled := func(v *View) *document.Schema {
		schema, _ := v.ws.Schemas[0].Compiled()
		return schema
	}
	if compiled(first) == nil || compiled(next) != compiled(first) {
		t.Error("a schema is compiled again after a write of something else")
	}
	if changed := newView(snapshotOf(map[string]string{s: `{"type":"array"}`}, s), next, true); compiled(changed) == compiled(first) {
		t.Error("a schema that has changed is not compiled again")
	}
}
