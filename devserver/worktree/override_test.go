package worktree

import (
	"fmt"
	"strings"
	"testing"
)

// TestAWriteOfOverridesIsWhatItSays: a dry run writes nothing, and a query that is not
// understood is refused and not left out.
func TestAWriteOfOverridesIsWhatItSays(t *testing.T) {
	const body = `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": "u2"}}`
	for _, tt := range []struct {
		method, query, body string
		status              int
		answer              string
		left                int // of three
	}{
		{"PUT", "?dryRun=true", body, 200, "value:true", 3},
		{"PUT", "?dryRun=false", body, 200, "value:true", 4},
		{"PUT", "", body, 200, "value:true", 4},
		{"PUT", "?dryRun=1", body, 400, "?dryRun", 3},
		{"PUT", "?dryRun=true&dryRun=false", body, 400, "there twice", 3},
		{"PUT", "?dryrun=true", body, 400, "unknown query parameter; known are dryRun", 3},
		{"PUT", "?key=new-checkout", body, 400, "?key", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "for": {"property": "user.key"}}`, 400, "for: value is missing", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": null}}`, 400, "for: value is missing", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": ""}}`, 200, "value:true", 4},
		{"DELETE", "?dryRun=true", "", 200, "cleared:3", 3},
		{"DELETE", "?key=new-checkout&dryRun=true", "", 200, "cleared:2", 3},
		{"DELETE", "", `{"key": "new-checkout"}`, 400, "DELETE takes no body; name what to take back in the query: ?key=", 3},
		{"DELETE", "?Key=new-checkout", "", 400, "unknown query parameter", 3},
		{"DELETE", "?key=", "", 400, "?key", 3},
		{"DELETE", "?key=new-checkout;x", "", 400, "the query", 3},
		{"DELETE", "?for=user.key%3Du1", "", 400, "?for", 3},
		{"DELETE", "?key=new-checkout&for=u1", "", 400, "?for", 3},
		{"DELETE", "?key=new-checkout&for=user.key%3Du1", "", 200, "cleared:1", 2},
		{"DELETE", "?key=new-checkout&for=user.key%3Du9", "", 200, "cleared:0", 3},
		{"DELETE", "?key=new-checkout&for=", "", 200, "cleared:1", 2},
		{"DELETE", "?key=new-checkout", "", 200, "cleared:2", 1},
		{"DELETE", "", "", 200, "cleared:3", 0},
	} {
		p := open(t)
		p.write("configs/number.json", `{"key": "number", "type": "config", "valueType": "int", "sendToClientSdk": true, "default": {"rules": []}}`)
		for _, o := range []string{`{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": "u1"}}`, `{"key": "new-checkout", "value": false}`, `{"key": "number", "value": 1}`} {
			p.must("PUT", "/v1/overrides", o)
		}
		status, answer := p.ask(tt.method, "/v1/overrides"+tt.query, tt.body)
		if text := fmt.Sprint(answer); status != tt.status || !strings.Contains(text, tt.answer) {
			t.Errorf("%s %s %s: %d %s, want %d %s", tt.method, tt.query, tt.body, status, text, tt.status, tt.answer)
		}
		if left := len(p.must("GET", "/v1/overrides", "")["overrides"].([]any)); left != tt.left {
			t.Errorf("%s %s %s: %d are left, want %d", tt.method, tt.query, tt.body, left, tt.left)
		}
	}
}
