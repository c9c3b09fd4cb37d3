package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc.example/svc/shared/jsontree"
)

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

// TestWrites sends each kind of write, and the same again as a dry run before.
func TestWrites(t *testing.T) {
	w := newWorld(t, shop())
	head := func() string { return w.get("/activity?limit=1").ok().text("/activity/0/sha") }
	for _, c := range []struct{ method, path, body, pointer, want string }{
		{"POST", "/flags", `{"key": "new-nav", "tags": ["nav"], "description": "Navigation"}`, "/document/environments", "[]"},
		{"POST", "/flags", `{"key": "limit", "type": "int", "value": 3}`, "/valueType", "int"},
		{"POST", "/segments", `{"key": "early-birds", "name": "Early birds"}`, "/document/default/rules/0/value/value", "false"},
		{"POST", "/segments", `{"key": "pro", "default": {"rules": [{"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta-users"}}], "value": {"type": "bool", "value": true}}]}}`, "/valueType", "bool"},
		{"PATCH", "/flags/checkout.redesign/environments/production", `{"enabled": true}`, "/preservedTargetingRuleCount", "1"},
		{"PATCH", "/flags/colour/environments/default", `{"value": "red"}`, "/rules/0/value/value", "red"},
		{"PATCH", "/flags/checkout.redesign/environments/staging", `{"rollout": [{"value": true, "percent": 33.333}, {"value": false, "percent": 66.667}]}`, "/rules/0/value/value/weightedValues/0/weight", "33333"},
		{"PATCH", "/flags/checkout.redesign/environments/production", `{"enabled": false, "replaceTargeting": true}`, "/replacedTargetingRuleCount", "1"},
		{"PATCH", "/log-levels/cart", `{"level": "DEBUG", "target": "com.acme", "environment": "staging"}`, "/key", "log-level.cart"},
		{"PATCH", "/log-levels/log-level.cart", `{"level": "WARN"}`, "/target", "<nil>"},
	} {
		before := head()
		if got := w.do(c.method, c.path+"?dryRun=true", c.body).ok().at("/dryRun"); got != true || head() != before {
			t.Errorf("%s %s: the dry run answers dryRun %v and leaves the head at %s, was %s", c.method, c.path, got, head(), before)
		}
		if got := fmt.Sprint(w.do(c.method, c.path, c.body).ok().at(c.pointer)); got != c.want || head() == before {
			t.Errorf("%s %s: %s is %s, want %s", c.method, c.path, c.pointer, got, c.want)
		}
		if c.method == "PATCH" {
			if again := w.do(c.method, c.path+"?dryRun=false", c.body).ok(); again.at("/changed") != false || again.at("/previousCommitSha") != nil {
				t.Errorf("%s %s again: %s", c.method, c.path, again.body)
			}
		}
	}
}

// TestDeleteAndRevert: every kind of item goes and comes back as it was.
func TestDeleteAndRevert(t *testing.T) {
	w := newWorld(t, shop())
	w.do("DELETE", "/configs/checkout.limits", "").ok() // which names the schema
	for path, file := range map[string]string{"/flags/colour": colour, "/configs/checkout.timeout": timeout, "/log-levels/cart": cart, "/segments/beta-users": beta} {
		rehearsed := w.do("DELETE", path+"?dryRun=true", "").ok()
		if rehearsed.at("/dryRun") != true || rehearsed.at("/changed") != true || rehearsed.at("/document") != nil || !strings.Contains(rehearsed.text("/messages/0/message"), "deleted") {
			t.Errorf("DELETE %s, dry: %s", path, rehearsed.body)
		}
		gone := w.do("DELETE", path+"?expectedCommitSha="+rehearsed.text("/commitSha"), "").ok()
		if got := w.do("DELETE", path, "").refused(); got != "404 NOT_FOUND" {
			t.Errorf("DELETE %s again: %s", path, got)
		}
		undo := fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, gone.text("/commitSha")[:10])
		back := w.do("POST", path+"/revert", undo).ok()
		if back.at("/changed") != true || back.text("/key") != gone.text("/key") || back.text("/previousCommitSha") != gone.text("/commitSha") {
			t.Errorf("the undo of DELETE %s: %s", path, back.body)
		}
		head, err := w.ledger.Head(context.Background())
		w.must(err)
		snapshot, err := w.repo.Snapshot(context.Background(), head)
		w.must(err)
		folders := map[string]string{"/flags/": "feature-flags/", "/configs/": "configs/", "/log-levels/": "log-levels/log-level.", "/segments/": "segments/"}
		family := path[:strings.LastIndex(path, "/")+1]
		if f, ok := snapshot.File(folders[family] + strings.TrimPrefix(path, family) + ".json"); !ok || string(f.Text) != file {
			t.Errorf("%s came back as %s", path, f.Text)
		}
	}
	w.do("DELETE", "/schemas/limits", "").ok()
	if entry := w.get("/activity?type=schema&key=limits").ok(); entry.text("/activity/0/action") != "deleted" || entry.text("/activity/0/messages/0/message") != `schema "limits" deleted` {
		t.Errorf("the feed of a deleted schema: %s", entry.body)
	}
}

// TestUndo walks the contract's recipe.
func TestUndo(t *testing.T) {
	w := newWorld(t, shop())
	for _, path := range []string{"/flags/checkout.redesign", "/configs/checkout.timeout", "/log-levels/log-level.cart"} {
		before := w.get(path + "/document").ok()
		patch, body := path+"/environments/production", `{"enabled": true, "replaceTargeting": true}`
		switch path {
		case "/configs/checkout.timeout":
			body = `{"value": "PT1S"}`
		case "/log-levels/log-level.cart":
			patch, body = path, `{"level": "DEBUG"}`
		}
		bad := w.do("PATCH", patch, body).ok()
		old := w.get(path + "/document?at=" + bad.text("/previousCommitSha")).ok()
		current := w.get(path + "/document").ok().text("/commitSha")
		tree, _ := jsontree.Parse(old.body)
		put := func(token string) *reply {
			return w.do("PUT", path+"/document", fmt.Sprintf(`{"document": %s, "expectedCommitSha": %q}`, tree.Get("document").Compact(), token))
		}
		if got := put(before.text("/commitSha")).refused(); got != "409 CONFLICT STALE_COMMIT_SHA" {
			t.Errorf("%s: a put with the old token: %s", path, got)
		}
		if put(current).ok().at("/changed") != true {
			t.Errorf("%s: the undo changed nothing", path)
		}
		after, _ := jsontree.Parse(w.get(path + "/document").ok().body)
		was, _ := jsontree.Parse(before.body)
		now := after.Get("document")
		now.Delete("$schema")
		if !jsontree.Equal(was.Get("document"), now) {
			t.Errorf("%s: after the undo it is %s", path, now.Compact())
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
