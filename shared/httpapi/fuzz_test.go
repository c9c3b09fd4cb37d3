package httpapi_test

import (
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// bodySchemas are the description's schemas of bodies with everything in
// them: also what control checks and not this package.
func bodySchemas(t *testing.T) map[string]*document.Schema {
	schemas := map[string]*document.Schema{}
	every(func(path, method string, o *jsontree.Node) {
		content := o.At("/requestBody/content/application~1json/schema")
		if content == nil {
			return
		}
		root := content.Clone()
		root.Set("components", jsontree.NewObject(jsontree.Field("schemas", spec().At("/components/schemas"))))
		schema, issues := document.CompileSchema(root)
		if len(issues) > 0 {
			t.Fatalf("%s %s: %v", method, path, issues)
		}
		schemas[strings.ToUpper(method)+" "+path] = schema
	})
	return schemas
}

// TestBodiesAreCheckedAsDescribed: a body that the description does not allow
// is 400, whoever finds it. Every answer is held against the description.
func TestBodiesAreCheckedAsDescribed(t *testing.T) {
	w := newWorld(t, shop())
	schemas := bodySchemas(t)
	operations := slices.Sorted(maps.Keys(schemas))
	operations = slices.DeleteFunc(operations, func(o string) bool { return strings.HasPrefix(o, "POST /guards/") }) // which take what others send, and other keys
	values := rapid.SampledFrom([]string{"true", "false", "null", "0", "1.5", "-3", `""`, `"a"`, `"bool"`, `"int"`, `"PT1S"`, `"INFO"`, `"staging"`, `"red"`, `"blue"`,
		"[]", `["a"]`, "[1]", "{}", `{"key": "colour", "type": "feature_flag"}`, timeout, colour,
		`[{"value": "red", "percent": 50}, {"value": "blue", "percent": 50}]`, `[{"value": "red", "percent": 100}]`,
		`[{"value": "red", "percent": 0.0001}, {"percent": 101, "x": 1}]`, `"` + unknownSHA + `"`, `"` + strings.Repeat("k", 201) + `"`,
		`"2036-01-02T03:04:05Z"`, `{"do": "hold"}`, `{"value": "red", "steps": [{"at": "2036-01-02T03:04:05Z", "percent": 10}]}`, `{"steps": 1, "at": 1, "do": 1}`})
	names := rapid.SampledFrom([]string{"enabled", "value", "rollout", "expectedCommitSha", "replaceTargeting", "key", "type", "valueType", "description", "tags", "level", "target", "environment", "document", "rolloutPlan", "unschedule", "at", "serve", "unknown"})
	rapid.Check(t, func(t *rapid.T) {
		operation := rapid.SampledFrom(operations).Draw(t, "operation")
		fields := map[string]string{}
		for range rapid.IntRange(0, 4).Draw(t, "fields") {
			fields[names.Draw(t, "name")] = values.Draw(t, "value")
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			parts = append(parts, `"`+name+`": `+fields[name])
		}
		body := "{" + strings.Join(parts, ", ") + "}"
		tree := must.Get(jsontree.Parse([]byte(body)))(t)
		method, path, _ := strings.Cut(operation, " ")
		path = strings.NewReplacer("{key}", rapid.SampledFrom([]string{"colour", "checkout.timeout", "cart", "log-level.cart"}).Draw(t, "key"), "{env}", "staging").Replace(path)
		a := w.do(method, path+"?dryRun=true", body)
		if issues := schemas[operation].Check(tree); len(issues) > 0 && a.status != 400 {
			t.Errorf("%s %s %s: %d; the description does not allow it: %v", method, path, body, a.status, issues)
		}
		if a.status == 500 {
			t.Errorf("%s %s %s: %s", method, path, body, w.log)
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"limit=1&cursor=", "limit=%31", "limit=1;cursor=2", "cursor=AAAA", "type=segment&key=beta-users", "at=abcd", "status=live&tag=%00", "%zz", "dryRun=true&dryRun=false", "limit=9999999999999999999", "query=%FF"} {
		f.Add(seed)
	}
	w := newWorld(f, shop())
	f.Add("cursor=" + url.QueryEscape(w.get("/flags?limit=1").ok().text("/nextCursor")))
	f.Fuzz(func(t *testing.T, query string) {
		w := w.in(t)
		for _, path := range []string{"/flags", "/configs", "/activity", "/contexts", "/flags/colour/history", "/flags/colour/document", "/whoami"} {
			r := httptest.NewRequest("GET", "/v1"+path, nil)
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer "+w.key)
			if a := w.send(r); a.status != 200 && a.status != 400 && a.status != 404 {
				t.Errorf("%s?%s: %d %s", path, query, a.status, a.body)
			}
		}
		r := httptest.NewRequest("PATCH", "/v1/flags/colour/environments/staging", strings.NewReader(`{"value": "red"}`))
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+w.key)
		values, err := url.ParseQuery(query)
		if a := w.send(r); a.status == 200 && (err != nil || len(values) > 1 && !values.Has("impact") || len(values) == 1 && !values.Has("dryRun")) {
			t.Errorf("a write with ?%s: %d", query, a.status)
		}
	})
}
