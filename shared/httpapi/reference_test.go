package httpapi_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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
			response := deref(o.Get("responses").Get(status))
			if response == nil {
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
		if method == "get" || o.Get("requestBody") == nil {
			return
		}
		content := o.At("/requestBody/content/application~1json")
		for _, e := range content.Get("examples").Members {
			seed := files
			creates := method == "post" && !strings.Contains(path, "{key}") && path != "/changes" || strings.HasPrefix(path, "/schemas/") && e.Value.Get("value").Get("expectedCommitSha") == nil
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
	served, err := jsontree.Parse(w.get("/openapi.json", "-").ok().body)
	must.Do(w.t, err)
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
