package sdkapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
	"svc.example/svc/shared/testing/testenv"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// tells has the heads tell their versions, as they do in DynamoDB.
func (w *world) tells(now func() time.Time) {
	w.told = func(head repository.Head) string {
		state, ws := w.state(head)
		return versions.Stored(state, versions.SaltOf([]byte(secret)), ws.Active(), now().UnixMilli())
	}
}

// state is what the versions at a head are those of.
func (w *world) state(head repository.Head) (*versions.State, *workspace.Workspace) {
	snapshot := must.Get(w.repo.Snapshot(ctx, head))(w.T)
	files := map[string][]byte{}
	for _, f := range snapshot.Files {
		files[f.Path] = f.Text
	}
	state := &versions.State{}
	ws, _ := workspace.ReadEach(files, func(i *workspace.Item) { state.Add(i.Key, i.Tree, i.View) })
	return state, ws
}

const (
	ofrepAll = "/ofrep/v1/evaluate/flags"
	// during begins at the rule's moment.
	during = `{"key":"during","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":5000}}],"value":{"type":"bool","value":true}}]}}`
)

func versionIn(t *testing.T, answer *httptest.ResponseRecorder) string {
	t.Helper()
	var body struct{ Meta, Metadata struct{ Version string } }
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || answer.Code != 200 {
		t.Fatal(answer.Code, err, answer.Body)
	}
	return body.Meta.Version + body.Metadata.Version
}

// TestA304OfANewInstanceIsOneRequest: where the head tells the versions, what is
// unchanged takes no documents.
func TestA304OfANewInstanceIsOneRequest(t *testing.T) {
	w := newWorld(t, shop)
	w.tells(time.Now)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	poll := w.send("GET", polling, public, "").Header().Get("ETag")
	ofrep := w.send("POST", ofrepAll, public, "{}").Header().Get("ETag")
	documents := w.send("GET", configs, secret, "").Header().Get("ETag")
	w.commit(map[string]string{"configs/new.json": strings.ReplaceAll(shop["configs/plain.json"], "plain", "new")})
	archived := w.key(access.KindPublicSDK, "old")
	for name, ask := range map[string]struct {
		send    func() *httptest.ResponseRecorder
		code    int
		storage int64
	}{
		"poll": {func() *httptest.ResponseRecorder { return w.send("GET", polling, public, "", "If-None-Match", poll) }, 304, 0},
		"ofrep": {func() *httptest.ResponseRecorder {
			return w.send("POST", ofrepAll, public, "{}", "If-None-Match", ofrep)
		}, 304, 0},
		"a key alone": {func() *httptest.ResponseRecorder { return w.send("PUT", polling, public, "") }, 405, 0},
		"another context": {func() *httptest.ResponseRecorder {
			return w.send("POST", ofrepAll, public, `{"context":{"a":1}}`, "If-None-Match", ofrep)
		}, 200, 1},
		"an archived environment": {func() *httptest.ResponseRecorder { return w.send("GET", polling, archived, "", "If-None-Match", poll) }, 401, 1},
		"configs, which has moved": {func() *httptest.ResponseRecorder {
			return w.send("GET", configs, secret, "", "If-None-Match", documents)
		}, 200, 1},
	} {
		w.serve(sdkapi.Options{})
		gate, storage := w.cost(func() {
			if code := ask.send().Code; code != ask.code {
				t.Errorf("%s: %d, want %d", name, code, ask.code)
			}
		})
		if gate != 1 || storage != ask.storage {
			t.Errorf("%s costs %d reads of the gate and %d of the repository, want 1 and %d", name, gate, storage, ask.storage)
		}
	}
	w.serve(sdkapi.Options{})
	documents = w.send("GET", configs, secret, "").Header().Get("ETag")
	w.serve(sdkapi.Options{})
	if gate, storage := w.cost(func() { w.send("GET", configs, secret, "", "If-None-Match", documents) }); gate != 1 || storage != 0 {
		t.Errorf("configs costs %d reads of the gate and %d of the repository", gate, storage)
	}
}

// TestWhatTheHeadTellsIsWhatVersionsAreCalled, though a commit is by another release, which
// counts otherwise: else what one instance has answered is another version to the next,
// and to itself, and is read and sent again for ever.
func TestWhatTheHeadTellsIsWhatVersionsAreCalled(t *testing.T) {
	w := newWorld(t, shop)
	w.told = func(head repository.Head) string {
		state, ws := w.state(head)
		tree := documents.Tree(t, documents.Flag("bool", documents.ServesTrue, ""))
		state.Add("another", tree, document.View(tree)) // which there is not
		return versions.Stored(state, versions.SaltOf([]byte(secret)), ws.Active(), 0)
	}
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	for name, ask := range map[string]func(tag string) *httptest.ResponseRecorder{
		"poll": func(tag string) *httptest.ResponseRecorder {
			return w.send("GET", polling, public, "", "If-None-Match", tag)
		},
		"ofrep": func(tag string) *httptest.ResponseRecorder {
			return w.send("POST", ofrepAll, public, "{}", "If-None-Match", tag)
		},
		"configs": func(tag string) *httptest.ResponseRecorder {
			return w.send("GET", configs, secret, "", "If-None-Match", tag)
		},
	} {
		w.serve(sdkapi.Options{})
		tag := ask("").Header().Get("ETag")
		for _, fresh := range []bool{false, true} {
			if fresh {
				w.serve(sdkapi.Options{})
			}
			if _, storage := w.cost(func() {
				if code := ask(tag).Code; code != 304 {
					t.Errorf("%s, new instance %t: %d", name, fresh, code)
				}
			}); storage != 0 {
				t.Errorf("%s, new instance %t: %d reads of the repository", name, fresh, storage)
			}
		}
	}
}

// TestATurnOfTimeMovesVersionAndTag, on an instance that has the documents and on
// one that has not, alike.
func TestATurnOfTimeMovesVersionAndTag(t *testing.T) {
	for _, told := range []bool{false, true} {
		now := time.UnixMilli(1000)
		clock := func() time.Time { return now }
		options := sdkapi.Options{Now: clock}
		w := newWorldWith(t, map[string]string{"svc.json": shop["svc.json"], "feature-flags/during.json": during}, options)
		if told {
			w.tells(func() time.Time { return time.UnixMilli(1000) }) // when it was committed
		}
		key := w.key(access.KindPublicSDK, "production")
		ask := func(h ...string) *httptest.ResponseRecorder { return w.send("GET", polling, key, "", h...) }
		first := ask()
		tag, version := first.Header().Get("ETag"), versionIn(t, first)
		for _, at := range []int64{1000, 4999, 6000, 7000} {
			now = time.UnixMilli(at)
			for _, fresh := range []bool{false, true} {
				if fresh {
					w.serve(options)
				}
				want := 304
				if at > 5000 {
					want = 200
				}
				if code := ask("If-None-Match", tag).Code; code != want {
					t.Errorf("told %t, at %d, new instance %t: %d, want %d", told, at, fresh, code, want)
				}
				if is := versionIn(t, ask()); (is != version) != (want == 200) {
					t.Errorf("told %t, at %d, new instance %t: the version was %s and is %s", told, at, fresh, version, is)
				}
			}
			if !told {
				continue
			}
			present := ask().Header().Get("ETag")
			w.serve(options)
			gate, storage := w.cost(func() {
				if code := ask("If-None-Match", present).Code; code != 304 {
					t.Errorf("at %d: %d", at, code)
				}
			})
			if gate != 1 || storage != 0 {
				t.Errorf("at %d, a 304 of a new instance costs %d reads of the gate and %d of the repository, want 1 and none", at, gate, storage)
			}
		}
	}
}

// evaluatedShop has a document of each kind that evaluations are counted of, or not.
var evaluatedShop = documents.Files("testdata/evaluated.txtar")

// TestWhatIsCountedOfEvaluations: items that there are, and values that stand openly in
// them.
func TestWhatIsCountedOfEvaluations(t *testing.T) {
	w := newWorld(t, evaluatedShop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	number := 0
	for _, c := range []struct{ key, item, value, want string }{
		{public, "beta", `{"bool":true}`, "1 map[true:1]"},
		{public, "beta", `true`, "1 map[true:1]"},
		{public, "beta", `{"bool":"true"}`, "1 map[true:1]"},
		{public, "beta", `false`, "1 map[]"},
		{public, "beta", `null`, "1 map[]"},
		{public, "beta", `{"string":"true","x":1}`, "1 map[]"},
		{public, "beta", `{"other":true}`, "1 map[]"},
		{public, "tier", `{"string":"gold"}`, `1 map["gold":1]`},
		{public, "tier", `"silver"`, `1 map["silver":1]`},
		{public, "tier", `"bronze"`, `1 map["bronze":1]`},
		{public, "tier", `"made up"`, `1 map[]`},
		{public, "json", `{"bool":true}`, `1 map[{"bool":true}:1]`},
		{public, "json", `{"json":{"bool":true}}`, `1 map[{"bool":true}:1]`},
		{public, "json", `{"json":{"json":"{\"bool\": true}"}}`, `1 map[{"bool":true}:1]`},
		{public, "list", `["a","b"]`, `1 map[["a","b"]:1]`},
		{public, "list", `{"stringList":["a","b"]}`, `1 map[["a","b"]:1]`},
		{public, "list", `{"stringList":{"values":["a","b"]}}`, `1 map[["a","b"]:1]`},
		{public, "wait", `{"duration":{"definition":"PT5M"}}`, `1 map["PT5M":1]`},
		{public, "broken", `true`, `1 map[]`},
		{public, "limit", `{"int":5}`, `1 map[5:1]`},
		{public, "limit", `{"int":"5"}`, `1 map[5:1]`},
		{public, "limit", `5.0`, `1 map[5:1]`},
		{public, "server", `1.5`, ``}, // browsers are not sent it
		{secret, "server", `1.5`, `1 map[1.50:1]`},
		{secret, "password", `"s3cret"`, `1 map[]`},
		{secret, "password", `"variant"`, `1 map[]`},
		{secret, "password", `"open"`, `1 map["open":1]`},
		{secret, "sealed", `"what it opens to"`, `1 map[]`},
		{secret, "sealed", `"0a1b2c"`, `1 map[]`},
		{secret, "provided", `"/home/ada"`, `1 map[]`},
		{secret, "log-level.a", `"INFO"`, ``},
		{secret, "staff", `true`, ``},
		{secret, "nothing", `true`, ``},
		{secret, "../svc", `true`, ``},
	} {
		w.store = telemetrytest.NewStore(t)
		w.serve(sdkapi.Options{})
		number++
		item := must.Get(json.Marshal(c.item))(t)
		body := fmt.Sprintf(`{"instanceHash":"i","batchId":"%d","events":[{"summaries":{"summaries":[{"key":%s,"counters":[{"count":1,"selectedValue":%s}]}]}}]}`, number, item, c.value)
		if answer := w.send("POST", posting, c.key, body); answer.Code != 202 || !strings.Contains(answer.Body.String(), `"counters":1`) {
			t.Fatalf("%s %s: %d %s", c.item, c.value, answer.Code, answer.Body)
		}
		found := must.Get(w.store.Evaluations(ctx, string(w.id), c.item, "2000-01-01", "2100-01-01"))(t)
		got := ""
		for _, d := range found["production"] {
			got = fmt.Sprint(d.Total, " ", d.Values)
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.item, c.value, got, c.want)
		}
	}
}

// TestARepositoryThatIsNotNeededIsNotRead: what tells of no evaluations takes what it
// took.
func TestARepositoryThatIsNotNeededIsNotRead(t *testing.T) {
	w := newWorld(t, evaluatedShop)
	public := w.key(access.KindPublicSDK, "production")
	if gate, storage := w.cost(func() { w.send("POST", posting, public, `{"events":[{"summaries":{"summaries":[]}}]}`) }); gate != 1 || storage != 0 {
		t.Errorf("without counters: %d reads of the key, %d of the repository", gate, storage)
	}
	if gate, storage := w.cost(func() {
		w.send("POST", posting, public, `{"events":[{"summaries":{"summaries":[{"key":"beta","counters":[{"count":1}]},{"key":"tier","counters":[{"count":1}]}]}}]}`)
	}); gate != 1 || storage != 1 {
		t.Errorf("with counters: %d reads of the key, %d of the repository", gate, storage)
	}
}

// storedRepository has a snapshot as an instance reads it from the store.
type storedRepository struct {
	control.Repository
	snapshot *repository.Snapshot
}

func (r *storedRepository) Snapshot(_ context.Context, head repository.Head) (*repository.Snapshot, error) {
	r.snapshot.Head = head
	return r.snapshot, nil
}

// TestHeapOfALargeWorkspace counts what an instance holds of 10,000 flags, some
// 10 MB of text, once it has listed, polled and sent all of them: the texts once,
// about 1.5 kB for each flag beside them, and what the environment serves.
func TestHeapOfALargeWorkspace(t *testing.T) {
	testenv.Slow(t)
	const most = 36 << 20
	files := apiload.ManyFlags(10_000)
	w := newWorld(t, files)
	head := must.Get(w.ledger.Head(ctx))(t)
	snapshot := must.Get(w.repo.Snapshot(ctx, head))(t)
	name, content, err := repository.EncodeSnapshot(snapshot, nil)
	must.Do(t, err)
	public, secret, editor := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindServiceAccount, "")
	files, snapshot = nil, nil
	before := memory.InUse() - int64(len(content)) // which the stored repository keeps parts of
	stored := &storedRepository{}
	stored.snapshot = must.Get(repository.DecodeSnapshot(name, content))(t)
	content = nil
	service := control.New(control.Settings{Authenticator: countedGate{w}, Now: time.Now,
		Repository: func(context.Context, string) (control.Repository, error) { return stored, nil }})
	w.handler = all(sdkapi.Options{Service: service})
	key := must.Get(access.ParseKey(editor))(t)
	caller := must.Get(service.Authenticate(ctx, key, ""))(t)
	session := must.Get(service.Open(caller, control.Read))(t)
	if list, err := session.Flags(ctx, control.FlagQuery{}); err != nil || list.Total != 10_000 {
		t.Fatal(list, err)
	}
	session = nil
	for key, path := range map[string]string{public: "/api/v2/configs/eval-with-context/e30=", secret: "/api/v2/configs"} {
		if answer := w.send("GET", path, key, ""); answer.Code != 200 {
			t.Fatal(path, answer.Code)
		}
	}
	grown := memory.InUse() - before
	t.Logf("%.1f MB are held", float64(grown)/(1<<20))
	if grown > most {
		t.Errorf("%d MB are held, more than %d", grown>>20, most>>20)
	}
	runtime.KeepAlive(w.handler)
}

// TestAnEnvironmentThatServesTooMuchIsRefused, once for each version. The documents for
// servers, of which no table is made, are sent all the same. It is served again when it
// has shrunk.
func TestAnEnvironmentThatServesTooMuchIsRefused(t *testing.T) {
	flag := func(key string, arms int) string {
		return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"int","default":{"rules":[{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[%s]}}}]}}`,
			key, strings.TrimSuffix(strings.Repeat(`{"value":{"type":"int","value":1},"weight":1},`, arms), ","))
	}
	files := map[string]string{"svc.json": `{"environments":["production"]}`, "feature-flags/small.json": flag("small", 1)}
	for i := range 8 {
		key := fmt.Sprintf("f%d", i)
		files["feature-flags/"+key+".json"] = flag(key, 1000)
	}
	asked := 0
	w := newWorldWith(t, files, sdkapi.Options{MaxTable: 1 << 20, TooLarge: func(environment string, bytes int64) error {
		if asked++; environment != "production" || bytes < 1500<<10 || bytes > 3<<20 {
			t.Errorf("%s is told to need %d bytes", environment, bytes)
		}
		return fault.New(fault.Unavailable, "too large")
	}})
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	for range 2 {
		for _, answer := range []*httptest.ResponseRecorder{w.send("GET", nativePoll, public, ""), w.send("POST", ofrepBulk, public, "{}")} {
			if answer.Code != 503 || !strings.Contains(answer.Body.String(), "too large") {
				t.Errorf("%d %.200s", answer.Code, answer.Body)
			}
		}
	}
	if asked != 1 {
		t.Errorf("the table was begun %d times", asked)
	}
	if answer := w.send("GET", "/api/v2/configs", secret, ""); answer.Code != 200 {
		t.Errorf("the documents: %d %.200s", answer.Code, answer.Body)
	}
	w.commit(map[string]string{"feature-flags/f0.json": "", "feature-flags/f1.json": "", "feature-flags/f2.json": "", "feature-flags/f3.json": "", "feature-flags/f4.json": "", "feature-flags/f5.json": ""})
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 || !strings.Contains(answer.Body.String(), `"f7"`) {
		t.Errorf("smaller: %d %.200s", answer.Code, answer.Body)
	}
}
