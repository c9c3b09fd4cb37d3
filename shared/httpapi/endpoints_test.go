package httpapi_test

import (
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
