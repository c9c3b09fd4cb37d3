package sdkapi_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/must"
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
	snapshot, err := w.repo.Snapshot(ctx, head)
	must.Do(w.T, err)
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

// TestAWriteElsewhereCostsNoClientAByte: what another environment, or nobody,
// is served moves no version, whether or not the head tells it.
func TestAWriteElsewhereCostsNoClientAByte(t *testing.T) {
	for _, told := range []bool{false, true} {
		w := newWorld(t, shop)
		if told {
			w.tells(time.Now)
		}
		public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
		asks := map[string]func(...string) *httptest.ResponseRecorder{
			"poll":    func(h ...string) *httptest.ResponseRecorder { return w.send("GET", polling, public, "", h...) },
			"ofrep":   func(h ...string) *httptest.ResponseRecorder { return w.send("POST", ofrepAll, public, "{}", h...) },
			"configs": func(h ...string) *httptest.ResponseRecorder { return w.send("GET", configs, secret, "", h...) },
		}
		tags, seen := map[string]string{}, map[string]string{}
		for name, ask := range asks {
			answer := ask()
			tags[name], seen[name] = answer.Header().Get("ETag"), versionIn(t, answer)
		}
		check := func(what string, moved ...string) {
			t.Helper()
			for name, ask := range asks {
				want := 304
				if strings.Contains(strings.Join(moved, " "), name) {
					want = 200
				}
				answer := ask("If-None-Match", tags[name])
				if answer.Code != want {
					t.Errorf("told %t, %s: %s answers %d, want %d", told, what, name, answer.Code, want)
				}
				if version := versionIn(t, ask()); (version != seen[name]) != (want == 200) {
					t.Errorf("told %t, %s: the version of %s was %s, is %s", told, what, name, seen[name], version)
				}
			}
		}
		change := func(path, old, fresh string) {
			t.Helper()
			if !strings.Contains(shop[path], old) {
				t.Fatalf("%s does not hold %s", shop[path], old)
			}
			w.commit(map[string]string{path: strings.Replace(shop[path], old, fresh, 1)})
		}
		change("configs/leaky.json", `"id":"development","rules":[`, `"id":"development","rules":[{"criteria":[],"value":{"type":"string","value":"new"}},`)
		check("another environment's rules")
		change("feature-flags/dark.json", `"tags":["a"]`, `"tags":["b"],"description":"new"`)
		check("tags and description")
		change("schemas/s.json", `object`, `array`)
		check("a schema")
		change("log-levels/log-level.shop.json", `WARN`, `INFO`)
		check("a log level", "configs")
		change("segments/beta.json", `u-1`, `u-2`)
		check("a segment", "configs", "poll", "ofrep")
	}
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
