package sdkapi_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/gen"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/workspace"
)

// hosted is a workspace whose ledger keeps texts, versions and the place of a
// stored snapshot, as in DynamoDB and S3. Each instance begins with nothing in
// memory, and what it asks of the stores is noted.
type hosted struct {
	*testing.T
	*repositorytest.Memory
	objects
	writer *repository.Repository
	head   repository.Head
	texts  map[string][]byte // by blob
	due    bool              // the next commit comes with a snapshot
	keys   map[string]string // by environment
	owners map[string]access.KeyRecord
	mu     sync.Mutex
	asked  []string
}

// objects are on disk, but for snapshots.
type objects struct {
	repository.Objects
	snapshots map[string][]byte
	damaged   func(content []byte) ([]byte, error) // what becomes of a snapshot that is read
}

func newHosted(t *testing.T) *hosted {
	t.Helper()
	onDisk := must.Get(disk.Init(t.TempDir()))(t)
	h := &hosted{T: t, Memory: repositorytest.NewMemory(), objects: objects{Objects: onDisk, snapshots: map[string][]byte{}},
		texts: map[string][]byte{}, keys: map[string]string{}, owners: map[string]access.KeyRecord{}}
	h.writer = repository.New(h, h)
	workspace, principal := newID(t), newID(t)
	for _, environment := range []string{"production", "staging"} {
		key := must.Get(access.NewKey(rand.Reader, access.KindPublicSDK, workspace, principal))(t)
		record := access.RecordOf(key, "test", time.Now())
		record.Environment = environment
		h.keys[environment], h.owners[string(record.ID)] = key.Reveal(), record
	}
	return h
}

func (h *hosted) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, what)
}

// took is what was asked since the last time.
func (h *hosted) took() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = nil
	slices.Sort(asked)
	return strings.Join(asked, " ")
}

func (h *hosted) Due(repository.Head, *repository.Commit) bool { return h.due }

func (h *hosted) Since(ctx context.Context, head repository.Head, after int64) ([]repository.Commit, error) {
	h.note("Since")
	commits, err := h.Memory.Since(ctx, head, after)
	for i := range commits {
		for j := range commits[i].Touched {
			commits[i].Touched[j].Text = h.texts[commits[i].Touched[j].Blob]
		}
	}
	return commits, err
}

func (h *hosted) History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	h.note("History")
	return h.Memory.History(ctx, head, page)
}

func (h *hosted) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	for _, t := range c.Touched {
		h.texts[t.Blob] = t.Text
	}
	from.Base, from.Versions = repository.Base{}, ""
	head, err := h.Memory.Advance(ctx, from, c)
	if err != nil {
		return head, err
	}
	head.Base, head.Versions = h.head.Base, c.Versions
	if c.Base != "" {
		head.Base = repository.Base{Name: c.Base, Sequence: c.Sequence, Follow: c.Sequence}
	}
	h.head = head
	return head, nil
}

func (h *hosted) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	h.note("Tree")
	return h.objects.Tree(ctx, head)
}

func (h *hosted) PutSnapshot(_ context.Context, name string, content []byte) error {
	h.snapshots[name] = content
	return nil
}

func (h *hosted) Snapshot(_ context.Context, name string) ([]byte, error) {
	h.note("Snapshot")
	content := slices.Clone(h.snapshots[name])
	if h.damaged != nil {
		return h.damaged(content)
	}
	return content, nil
}

func (h *hosted) Authenticate(_ context.Context, key access.Key, _ string) (control.Entry, error) {
	h.note("head")
	record := h.owners[string(key.ID())]
	return control.Entry{Key: record, Principal: access.Principal{ID: record.PrincipalID, Type: access.PrincipalServiceAccount, Name: "web"},
		Workspace: access.Workspace{ID: string(record.WorkspaceID), Name: "Shop"}, Head: h.head}, nil
}

// commit writes files; an empty text deletes.
func (h *hosted) commit(due bool, files map[string]string) {
	h.Helper()
	base := must.Get(h.writer.Snapshot(ctx, h.head))(h.T)
	h.due = due
	author := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()}
	draft := repository.Draft{Message: "Change\n", Author: author, Committer: author,
		Versions: func(_ context.Context, next *repository.Snapshot) string {
			versions, _ := served.Stored(next, []byte(secret), time.Unix(0, 0))
			return versions
		},
		Briefs: func(_ context.Context, next *repository.Snapshot) []byte {
			_, briefs := served.Stored(next, []byte(secret), time.Unix(0, 0))
			return briefs
		}}
	for path, text := range files {
		change := repository.Change{Path: path}
		if text != "" {
			change.Content = []byte(text)
		}
		draft.Changes = append(draft.Changes, change)
	}
	must.Get(h.writer.Commit(ctx, base, draft))(h.T)
	h.took()
}

// instance is an instance that has read nothing.
func (h *hosted) instance() http.Handler {
	repo := repository.New(h, h)
	return sdkapi.Delivery(sdkapi.Options{
		Service: control.New(control.Settings{Authenticator: h, Now: time.Now, NoLists: true,
			Repository: func(context.Context, string) (control.Repository, error) { return repo, nil }}),
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Random: func() float64 { return 0.5 },
	})
}

func (h *hosted) poll(instance http.Handler, environment, context string) string {
	h.Helper()
	r := httptest.NewRequest("GET", "/api/v2/configs/eval-with-context/"+base64.RawURLEncoding.EncodeToString([]byte(context)), nil)
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+h.keys[environment])))
	w := httptest.NewRecorder()
	instance.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		h.Fatal(w.Code, w.Body)
	}
	return fmt.Sprintln(w.Header().Get("ETag"), w.Body)
}

// allocations is how many pieces of memory some work takes.
func allocations(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// TestWhatPollsCost counts what an instance asks the stores for, and how much it
// makes in memory for each of many flags: to decode the JSON of one takes some 130
// pieces, and to read it in brief a tenth.
func TestWhatPollsCost(t *testing.T) {
	const flags = 2000
	h := newHosted(t)
	h.commit(true, apiload.ManyFlags(flags))
	flag := "feature-flags/" + apiload.FlagKey(7) + ".json"
	text := apiload.ManyFlags(flags)[flag]
	h.commit(false, map[string]string{flag: strings.Replace(text, "until when", "and why", 1)})
	served := h.instance()
	serial := 0
	for _, tt := range []struct {
		what string
		text string // of a flag that is committed before
		want string
		most uint64 // allocations
	}{
		{"the first poll of a new instance", "", "Since Snapshot head", 35 * flags},
		{"a poll with a new context", "", "head", flags / 10},
		{"a poll after a description has changed", strings.Replace(text, "until when", "for now", 1), "head", flags / 10},
		{"a poll after another environment has changed", strings.Replace(text, `"environments": [`, `"environments": [{"id": "development", "rules": []},`, 1), "head", flags / 10},
		{"a poll after a rule has changed", strings.Replace(text, `"team"]`, `"others"]`, 1), "Since head", flags / 2},
		{"a poll with a new context after that", "", "head", flags / 10},
	} {
		if tt.text != "" {
			h.commit(false, map[string]string{flag: tt.text})
		}
		serial++
		took := allocations(func() { h.poll(served, "production", fmt.Sprintf(`{"user":{"plan":"plan-%d"}}`, serial)) })
		asked := h.took()
		t.Logf("%s took %d allocations", tt.what, took)
		if asked != tt.want || took > tt.most {
			t.Errorf("%s asked for %s, with %d allocations; want %s, and at most %d", tt.what, asked, took, tt.want, tt.most)
		}
	}
}

// TestSnapshotsServeWhatGitServes: after any history, an instance that begins with a
// stored snapshot and its briefs, one that has followed, and one that has read the
// whole workspace from git answer alike, in every byte.
func TestSnapshotsServeWhatGitServes(t *testing.T) {
	briefed, broken := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		d := gen.New(rapid.Uint64().Draw(rt, "seed"))
		contexts := []string{`{}`, d.Context(), d.Context()}
		h := newHosted(t)
		first, _ := d.Workspace(t, "production").Item(document.Flag, "flag-0")
		h.commit(true, map[string]string{"svc.json": `{"environments":["production","staging"]}`, first.Path: string(first.Text)})
		warm := h.instance()
		ask := func(instance http.Handler) (all string) {
			for _, environment := range []string{"production", "staging"} {
				for _, context := range contexts {
					all += h.poll(instance, environment, context)
				}
			}
			return all
		}
		for range rapid.IntRange(1, 8).Draw(rt, "commits") {
			files := map[string]string{}
			ws := d.Workspace(t, "production")
			for range rapid.IntRange(1, 4).Draw(rt, "files") {
				path, text := drawFile(d, ws)
				files[path] = text
			}
			if rapid.IntRange(0, 6).Draw(rt, "declares") == 0 {
				files["svc.json"] = rapid.SampledFrom([]string{`{"environments":["production","staging","other"]}`, `{"environments":["production","staging"]}`, `{`}).Draw(rt, "declared")
			}
			h.commit(rapid.IntRange(0, 2).Draw(rt, "snapshot") == 0, files)
			if rapid.Bool().Draw(rt, "nobody asks") {
				continue
			}
			h.damaged = func(content []byte) ([]byte, error) {
				if repository.BriefsIn(content) > 0 {
					briefed++
				}
				return content, nil
			}
			cold, followed := ask(h.instance()), ask(warm)
			h.took()
			h.damaged = func([]byte) ([]byte, error) { return nil, errors.New("it is gone") }
			whole := ask(h.instance())
			if strings.Contains(h.took(), "History") {
				broken++
			}
			h.damaged = nil
			if cold != whole || followed != whole {
				rt.Fatalf("a new instance answers\n%s\nand one that has followed\n%s\nfrom git it is\n%s", cold, followed, whole)
			}
		}
	})
	if t.Logf("%d snapshots had briefs, %d states something broken", briefed, broken); !testing.Short() && (briefed < 20 || broken < 10) { // with -short there are a fifth of the draws
		t.Error("too few to tell")
	}
}

// drawFile draws a file of a workspace: a document, now and then one whose key another has
// too, something broken, or nothing.
func drawFile(d gen.Random, ws *workspace.Workspace) (path, text string) {
	drawn := ws.Items[d.IntN(len(ws.Items))]
	switch d.IntN(16) {
	case 0, 1:
		return drawn.Path, ""
	case 2, 3:
		return drawn.Path, []string{"{", `{"key":1}`, `[]`, "\xef\xbb\xbf{}", `{"key":"x","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[],"value":{"type":"bool","value":3}}]}}`}[d.IntN(5)]
	case 4:
		config, _ := ws.Item(document.Config, "config-0")
		return "configs/FLAG-0.json", strings.Replace(string(config.Text), "config-0", "FLAG-0", 1)
	case 5:
		return "log-levels/log-level.x.json", `{"key":"log-level.x","type":"log_level","valueType":"log_level","default":{"rules":[{"criteria":[],"value":{"type":"log_level","value":"INFO"}}]}}`
	case 6:
		return "schemas/q.json", `{"type":"object"}`
	}
	return drawn.Path, string(drawn.Text)
}

// TestBriefsThatTellNothing: those that are damaged, or of another format, are as if
// there were none, and a snapshot that is damaged is read from git.
func TestBriefsThatTellNothing(t *testing.T) {
	h := newHosted(t)
	files := apiload.ManyFlags(20)
	h.commit(true, files)
	want := h.poll(h.instance(), "production", "{}")
	h.took()
	// rewritten has the head name a snapshot with other briefs.
	whole := h.head
	rewritten := func(change func(briefs []byte) []byte) string {
		name := whole.Base.Name
		s := must.Get(repository.DecodeSnapshot(name, h.snapshots[name]))(t)
		_, briefs := s.TakeBriefs()
		other, content, err := repository.EncodeSnapshot(s, change(slices.Clone(briefs)))
		must.Do(t, err)
		h.snapshots[other] = content
		return other
	}
	for what, change := range map[string]func(briefs []byte) []byte{
		"none":             func([]byte) []byte { return nil },
		"another format":   func(b []byte) []byte { b[0]++; return b },
		"another brief's":  func(b []byte) []byte { b[1]++; return b },
		"cut off":          func(b []byte) []byte { return b[:len(b)-1] },
		"longer":           func(b []byte) []byte { return append(b, 0) },
		"damaged versions": func(b []byte) []byte { b[3] = 0xff; return b },
	} {
		h.head.Base.Name = rewritten(change)
		if got := h.poll(h.instance(), "production", "{}"); got != want {
			t.Errorf("%s: %s", what, got)
		}
		if asked := h.took(); asked != "Snapshot head" {
			t.Errorf("%s: asked for %s", what, asked)
		}
	}
	h.head = whole
	h.damaged = func(content []byte) ([]byte, error) { content[len(content)-1]++; return content, nil }
	if got := h.poll(h.instance(), "production", "{}"); got != want {
		t.Errorf("of a damaged snapshot: %s", got)
	}
	if asked := h.took(); asked != "Snapshot Tree head" {
		t.Errorf("of a damaged snapshot: asked for %s", asked)
	}
	h.damaged = nil
	h.commit(true, map[string]string{"svc.json": files["svc.json"] + "\n"})
	if h.poll(h.instance(), "production", "{}"); repository.BriefsIn(h.snapshots[h.head.Base.Name]) == 0 {
		t.Error("the next snapshot has no briefs")
	}
}

// lossy are objects of which one file is lost at times.
type lossy struct {
	repository.Objects
	path string
	lost atomic.Bool
}

func (l *lossy) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	tree, err := l.Objects.Tree(ctx, head)
	if l.lost.Load() && tree.Files[l.path] != nil {
		delete(tree.Files, l.path)
		tree.Unread[l.path] = &workspace.Unread{Why: "it is gone", Lost: true}
	}
	return tree, err
}

func (l *lossy) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	if l.lost.Load() && touch.Path == l.path {
		return nil, errors.New("it is gone")
	}
	return l.Objects.Blob(ctx, touch)
}

// TestAFileThatIsBackIsServed at the same head, to those too who hold the answer
// without it: the entity tag is another one.
func TestAFileThatIsBackIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flag = `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`
		w := newWorld(t, map[string]string{"svc.json": `{"environments": ["production"]}`,
			"feature-flags/f.json": flag, "feature-flags/g.json": strings.Replace(flag, `"f"`, `"g"`, 1)})
		objects := &lossy{Objects: w.ledger.Objects(), path: "feature-flags/f.json"}
		w.repo = repository.New(w.ledger, objects)
		keys := map[string]string{
			"/api/v2/configs/eval-with-context/e30": w.key(access.KindPublicSDK, "production"),
			"/api/v2/configs":                       w.key(access.KindSecretSDK, "production"),
		}
		tags := map[string]string{}
		poll := func(want ...string) {
			t.Helper()
			for path, key := range keys {
				a := w.send("GET", path, key, "", "If-None-Match", tags[path])
				var got []string
				for _, name := range []string{"f", "g"} {
					if strings.Contains(a.Body.String(), `"`+name+`"`) {
						got = append(got, name)
					}
				}
				if !slices.Equal(got, want) || (a.Code == 200) != (len(want) > 0) {
					t.Errorf("%s: %d with %v, want %v", path, a.Code, got, want)
				}
				tags[path] = a.Header().Get("ETag")
			}
		}
		objects.lost.Store(true)
		poll("g")
		poll() // it has not changed
		time.Sleep(time.Hour)
		poll()
		objects.lost.Store(false)
		time.Sleep(time.Hour)
		poll("f", "g")
		poll()
	})
}
