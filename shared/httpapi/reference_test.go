package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func TestEveryOperationIsDescribedInFull(t *testing.T) {
	ids := map[string]bool{}
	every(func(path, method string, o *jsontree.Node) {
		id, _ := o.Get("operationId").Text()
		if ids[id] || id == "" {
			t.Errorf("%s %s: the operationId %q", method, path, id)
		}
		ids[id] = true
		want := "200 304 400 401 404 405 429 500 503"
		switch {
		case len(o.Get("security").Elements()) > 0: // of guards
			want = "200 400 401 402 403 404 405 409 413 422 429 500 503"
		case o.Get("security") != nil:
			want = "200 304 400 405 500"
		case o.Get("x-safe") != nil:
			want = "200 400 401 404 405 413 429 500 503"
		case method != "get":
			want = "200 400 401 402 403 404 405 409 422 429 500 503"
			if !parameterized(o, "DryRun") { // it makes no commit
				want = "200 400 401 402 403 404 405 429 500 503"
			}
			if o.Get("requestBody") != nil {
				want += " 413"
			}
		}
		if o.Get("responses").Get("201") != nil {
			want = strings.Replace(want, "200", "201", 1)
		}
		for _, status := range strings.Fields(want) {
			if response := deref(o.Get("responses").Get(status)); response == nil {
				t.Errorf("%s: %s is not described", id, status)
			} else if status != "304" {
				exampled(t, id+" "+status, response.Get("content"))
			}
		}
		for _, field := range []string{"summary", "description"} {
			if text, _ := o.Get(field).Text(); text == "" {
				t.Errorf("%s: no %s", id, field)
			}
		}
		if body := o.Get("requestBody"); body != nil {
			exampled(t, id+" body", body.Get("content"))
		}
	})
}

// parameterized reports whether an operation has a parameter of that name.
func parameterized(o *jsontree.Node, name string) bool {
	list := o.Get("parameters")
	return list != nil && slices.ContainsFunc(list.Items, func(p *jsontree.Node) bool {
		ref, _ := p.Get("$ref").Text()
		return strings.HasSuffix(ref, "/"+name)
	})
}

// exampled wants an example of every content.
func exampled(t *testing.T, what string, content *jsontree.Node) {
	t.Helper()
	for _, m := range content.Members {
		if m.Value.Get("example") == nil && m.Value.Get("examples") == nil {
			t.Errorf("%s: no example", what)
		}
	}
}

// TestTheExamplesWork sends the request bodies of the description to a
// workspace made of its documents. What is created must be what it shows.
func TestTheExamplesWork(t *testing.T) {
	files := map[string]string{"svc.json": declaration}
	for path, pointer := range map[string]string{
		"feature-flags/new-checkout.json":      "/flags",
		"configs/api.timeout.json":             "/configs",
		"log-levels/log-level.storefront.json": "/log-levels",
		"segments/beta-testers.json":           "/segments",
		"schemas/limits.json":                  "/schemas",
	} {
		get := spec().Get("paths").Get(pointer + "/{key}/document").Get("get")
		files[path] = string(get.At("/responses/200/content/application~1json/example/document").Encode())
	}
	keys := map[string]string{"flags": "new-checkout", "configs": "api.timeout", "log-levels": "log-level.storefront", "segments": "beta-testers", "schemas": "limits", "openfeature": "new-checkout"}
	options := httpapi.Options{Limit: unlimited, PublicURL: "https://svc.example"}
	every(func(path, method string, o *jsontree.Node) {
		if method == "get" || o.Get("requestBody") == nil || strings.HasPrefix(path, "/guards/") {
			return // or another key, and signatures
		}
		content := o.At("/requestBody/content/application~1json")
		for _, e := range content.Get("examples").Members {
			seed := files
			creates := method == "post" && !strings.Contains(path, "{key}") && path != "/changes" && !strings.HasPrefix(path, "/change-requests") || strings.HasPrefix(path, "/schemas/") && e.Value.Get("value").Get("expectedCommitSha") == nil
			if creates {
				seed = map[string]string{"svc.json": declaration}
			}
			w := newWorldWith(t, seed, options)
			key := keys[strings.Split(path, "/")[1]]
			path := strings.NewReplacer("{key}", key, "{env}", "production").Replace(path)
			body := e.Value.Get("value").Clone()
			for _, commit := range []string{"expectedCommitSha", "commitSha"} {
				if body.Get(commit) != nil {
					body.Set(commit, jsontree.NewString(w.get("/activity?limit=1").ok().text("/activity/0/sha")))
				}
			}
			if before, after, found := strings.Cut(path, "{id}"); found {
				path = w.propose(w.newKey(access.KindUser, "engineer"), string(spec().Get("paths").Get("/change-requests").At("/post/requestBody/content/application~1json/examples/one/value/operations").Compact())) + after
				if made := strings.TrimSuffix(path, after); before != "" && method == "patch" {
					path = w.propose(w.key, `[{"op": "delete", "type": "feature_flag", "key": "new-checkout"}]`)
				} else if body.Get("digest") != nil {
					body.Set("digest", jsontree.NewString(w.digestOf(made)))
				}
			}
			a := w.do(strings.ToUpper(method), path, string(body.Compact())).ok()
			shown := o.At("/responses/200/content/application~1json/example/document")
			if method != "post" || shown == nil || shown.Get("key") == nil || a.text("/key") != textOf(shown.Get("key")) {
				continue
			}
			if tree, _ := jsontree.Parse(a.body); !jsontree.Equal(tree.Get("document"), shown) {
				t.Errorf("%s %s: the example shows\n%s, the answer is\n%s", method, path, shown.Compact(), tree.Get("document").Compact())
			}
		}
	})
}

func textOf(n *jsontree.Node) string {
	text, _ := n.Text()
	return text
}

func TestReferenceAddresses(t *testing.T) {
	for _, c := range []struct{ release, base, public, server, schemas, schema string }{
		{"v2.3.4-5-gabcdef0", "", "https://svc.test/", "https://svc.test/v1", "https://svc.test", "/schemas/v1/stored-config.json"},
		{"", "", "", "/v1", "/", "/schemas/v1/stored-config.json"},
		{"", "/api/v1", "https://svc.test/api", "https://svc.test/api/v1", "https://svc.test/api", "/api/schemas/v1/stored-config.json"},
		{"", "/api/v1", "", "/api/v1", "/api", "/api/schemas/v1/stored-config.json"},
	} {
		h := must.Get(httpapi.New(httpapi.Options{Release: c.release, BasePath: c.base, PublicURL: c.public}, httpapi.Reference()))(t)
		get := func(path string) *jsontree.Node {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			tree, err := jsontree.Parse(w.Body.Bytes())
			if err != nil || w.Code != 200 {
				t.Fatalf("%s: %d, %v", path, w.Code, err)
			}
			return tree
		}
		base := c.base
		if base == "" {
			base = "/v1"
		}
		api := get(base + "/openapi.json")
		// The version of the API is the contract's. That of the build stands beside it.
		if info := api.Get("info"); textOf(info.Get("version")) != "1.0.0" || textOf(info.Get("x-release")) != c.release || (info.Get("x-release") != nil) != (c.release != "") {
			t.Errorf("%+v: %s", c, info.Compact())
		}
		if got := textOf(api.At("/servers/0/url")); got != c.server {
			t.Errorf("%+v: the server is %s", c, got)
		}
		if got := textOf(api.Get("paths").Get("/schemas/v1/stored-config.json").At("/servers/0/url")); got != c.schemas {
			t.Errorf("%+v: the schemas are at %s", c, got)
		}
		schema := get(c.schema)
		if c.public != "" && textOf(schema.Get("$id")) != strings.TrimRight(c.public, "/")+"/schemas/v1/stored-config.json" {
			t.Errorf("%+v: $id is %s", c, textOf(schema.Get("$id")))
		}
		if _, issues := document.CompileSchema(schema); len(issues) > 0 {
			t.Errorf("the schema: %v", issues)
		}
	}
}

func TestTheDescriptionIsServedAsItIs(t *testing.T) {
	w := newWorld(t, nil)
	served := must.Get(jsontree.Parse(w.get("/openapi.json", "-").ok().body))(w.t)
	want := spec().Clone()
	want.Delete("x-directory") // which is of another server
	*served.Get("servers") = *want.Get("servers")
	for _, path := range want.Get("paths").Members {
		if servers := path.Value.Get("servers"); servers != nil {
			*served.Get("paths").Get(path.Name).Get("servers") = *servers
		}
	}
	if !jsontree.Equal(served, want) {
		t.Error("what is served is not openapi.json")
	}
	if version := textOf(want.At("/info/version")); version != "1.0.0" || textOf(want.Get("openapi")) != "3.1.0" {
		t.Errorf("version %s", version)
	}
}

// TestEveryExampleFits walks through the whole description: an example, in a
// parameter, a header, a body or a schema, and a default, fit their schema.
func TestEveryExampleFits(t *testing.T) {
	count := 0
	examplesOf(spec(), "", func(where string, schema, example *jsontree.Node) {
		count++
		for _, issue := range closedSchema(t, schema).Check(example) {
			t.Errorf("%s: %s: %s", where, issue.Pointer, issue.Message)
		}
	})
	t.Logf("%d examples and defaults", count)
	if count < 150 {
		t.Errorf("there are only %d examples: does the test still find them?", count)
	}
}

// examplesOf visits the examples in a part of the description.
func examplesOf(n *jsontree.Node, where string, visit func(where string, schema, example *jsontree.Node)) {
	if schema := n.Get("schema"); schema != nil {
		if example := n.Get("example"); example != nil {
			visit(where+"/example", schema, example)
		}
		if named := n.Get("examples"); named != nil {
			for _, e := range named.Members {
				visit(where+"/examples/"+e.Name, schema, e.Value.Get("value"))
			}
		}
	}
	if isSchema(n) {
		if list := n.Get("examples"); list != nil && list.Kind == jsontree.Array {
			for _, example := range list.Items {
				visit(where+"/examples", n, example)
			}
		}
		if value := n.Get("default"); value != nil && value.Kind != jsontree.Object {
			visit(where+"/default", n, value)
		}
	}
	for _, m := range n.Members {
		if m.Name != "example" && m.Name != "examples" {
			examplesOf(m.Value, where+"/"+m.Name, visit)
		}
	}
	for _, item := range n.Items {
		examplesOf(item, where, visit)
	}
}

func isSchema(n *jsontree.Node) bool {
	kind := n.Get("type")
	return kind != nil && (kind.Kind == jsontree.String || kind.Kind == jsontree.Array)
}

func TestReads(t *testing.T) {
	w := newWorld(t, shop())
	first := w.get("/flags/checkout.redesign").ok().text("/commitSha")
	w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true}`).ok()
	for _, c := range []struct{ path, pointer, want string }{
		{"/whoami", "/principal/name", "Grace"},
		{"/workspaces", "/workspaces/0/name", "shop"},
		{"/workspace", "/name", "shop"},
		{"/workspace", "/brokenDocuments", "1"},
		{"/workspace", "/broken/0/key", "broken"},
		{"/environments", "/environments/2/protected", "true"},
		{"/environments/staging/differences?from=production", "/differences/0/messages/0/scope", "staging"},
		{"/flags?stale=1", "/total", "0"},
		{"/export", "/commitSha", w.get("/activity?limit=1").ok().text("/activity/0/sha")},
		{"/export?cursor=", "/nextCursor", "<nil>"},
		{"/flags", "/total", "2"},
		{"/flags?tag=checkout", "/flags/0/key", "checkout.redesign"},
		{"/flags?tag=&status=&limit=&cursor=", "/total", "2"},
		{"/flags?status=rollout", "/flags/0/statuses/production", "rollout"},
		{"/flags?nonsense=1&limit=2", "/total", "2"},
		{"/flags/checkout.redesign", "/variants/1/name", "On"},
		{"/flags/checkout%2Eredesign", "/key", "checkout.redesign"},
		{"/flags/checkout.redesign/history", "/history/0/message", "staging: enabled set to true"},
		{"/flags/checkout.redesign/document", "/document/name", "Redesign"},
		{"/flags/checkout.redesign/document?at=" + first, "/document/environments/1", "<nil>"},
		{"/flags/checkout.redesign/document?at=" + first[:7], "/commitSha", first[:7]},
		{"/configs", "/total", "4"},
		{"/configs/checkout.limits", "/schemaKey", "limits"},
		{"/configs/api.token", "/default/rules/0/value/value", "c1ph3rt3xt"},
		{"/configs/checkout.timeout/history", "/history/0/authorName", "Ada"},
		{"/log-levels", "/logLevels/0/scopes/0/fallbackLevel", "INFO"},
		{"/segments", "/segments/0/ruleCount", "1"},
		{"/segments/beta-users", "/name", "Beta users"},
		{"/segments/beta-users/history", "/history/0/isServiceAccount", "false"},
		{"/segments/beta-users/document", "/document/type", "segment"},
		{"/schemas", "/schemas/0/key", "limits"},
		{"/schemas/limits/document", "/document/properties/max/maximum", "10"},
		{"/activity", "/activity/0/messages/0/message", "staging: enabled set to true"},
		{"/activity?environment=staging&author=GRACE&since=2026-03-02T10:30:00%2B01:00&until=2026-03-02T09:30:01Z", "/activity/0/messages/0/message", "staging: enabled set to true"},
		{"/activity?environment=&since=&until=&author=", "/activity/0/messages/0/message", "staging: enabled set to true"},
		{"/contexts", "/contexts", "[]"},
		{"/contexts?type=user&query=a&environment=production&limit=5", "/contexts", "[]"},
		{"/openapi.json", "/openapi", "3.1.0"},
	} {
		if got := fmt.Sprint(w.get(c.path).ok().at(c.pointer)); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.path, c.pointer, got, c.want)
		}
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	w := newWorld(t, shop())
	every(func(path, method string, operation *jsontree.Node) {
		if method != "get" {
			return
		}
		path = strings.NewReplacer("{key}", "colour").Replace(path)
		get, head := w.get(path), w.do("HEAD", path, "")
		if head.status != get.status || head.header.Get("Content-Length") != get.header.Get("Content-Length") || head.header.Get("ETag") != get.header.Get("ETag") || len(head.body) > 0 {
			t.Errorf("HEAD %s: %d %v, GET: %d %v", path, head.status, head.header, get.status, get.header)
		}
	})
	if got := w.do("HEAD", "/flags/colour/environments/default", ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD where there is no GET: %d", got.status)
	}
}
