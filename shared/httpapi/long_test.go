package httpapi_test

import (
	"regexp"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
)

// TestARefusalIsShort however long the text is that it is about, and wherever
// in the request that stands.
func TestARefusalIsShort(t *testing.T) {
	w := newWorld(t, shop())
	head := w.get("/activity").ok().text("/activity/0/sha")
	member := "Authorization: Bearer " + w.newKey(access.KindUser)
	long := strings.Repeat("long", 50_000)
	put := func(text string) string { return `{"document": ` + text + `, "expectedCommitSha": "` + head + `"}` }
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/flags/checkout.redesign/document", put(redesign)},
		{"PUT", "/flags/colour/document", put(colour)},
		{"PUT", "/configs/checkout.limits/document", put(limits)},
		{"PUT", "/configs/api.token/document", put(secret)},
		{"PUT", "/log-levels/cart/document", put(cart)},
		{"POST", "/flags", `{"key": "new", "name": "New", "type": "string", "value": "x", "variants": [{"name": "A", "value": "x"}], "tags": ["a"]}`},
		{"POST", "/configs", `{"key": "new", "valueType": "json", "value": {"max": 3}, "schemaKey": "limits", "decryptWith": "master.key"}`},
		{"PATCH", "/flags/colour/environments/staging", `{"rollout": [{"value": "red", "percent": 50}, {"value": "blue", "percent": 50}], "stickyBy": "user.key"}`},
		{"PATCH", "/configs/checkout.limits/environments/staging", `{"value": {"max": 3}, "expectedCommitSha": "` + head + `"}`},
		{"PATCH", "/log-levels/cart/environments/staging", `{"level": "INFO", "target": "a.b"}`},
		{"GET", "/flags/:long", ""},
		{"GET", "/flags/colour/document?at=:long", ""},
		{"GET", "/flags?status=:long&cursor=:long&tag=:long&limit=:long", ""},
		{"GET", "/activity?type=:long&key=:long", ""},
		{"GET", "/contexts?environment=:long&type=:long&limit=:long", ""},
		{"PATCH", "/flags/colour/environments/:long?:long=1", "{}"},
		{":long", "/flags", ""},
	} {
		requests := []string{c.body}
		for _, at := range regexp.MustCompile(`"[^"]*"`).FindAllStringIndex(c.body, -1) {
			requests = append(requests, c.body[:at[0]]+`"`+long+`"`+c.body[at[1]:])
		}
		for _, body := range requests {
			for _, key := range []string{"Authorization: Bearer " + w.key, member, "Authorization: Bearer " + long} {
				a := w.do(strings.ReplaceAll(c.method, ":long", long[:5000]), strings.ReplaceAll(c.path, ":long", long)+dryRun(c.method, c.path), body, key)
				if a.status != 200 && len(a.body) > 20_000 {
					t.Errorf("%s %s: the answer has %d bytes: %.300s", c.method, c.path, len(a.body), a.body)
				}
			}
		}
	}
}

func dryRun(method, path string) string {
	switch {
	case method == "GET" || method == ":long":
		return ""
	case strings.Contains(path, "?"):
		return "&dryRun=true"
	}
	return "?dryRun=true"
}
