package mcpserver_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAProposalIsForWhatWasSeen: it is refused where an item has changed since, and
// nowhere else.
func TestAProposalIsForWhatWasSeen(t *testing.T) {
	const enabled = `{"enabled":true}`
	operation := func(text string) string { return `{"impact":false,"operations":[` + text + `]}` }
	for name, tt := range map[string]struct {
		propose       string
		method, path  string // of what somebody else does meanwhile
		body, refusal string
	}{
		"nothing happened":             {propose: turnOn},
		"the item changed":             {propose: turnOn, method: "PATCH", path: "/flags/dark/environments/production", body: enabled, refusal: "CONFLICT STALE_COMMIT_SHA"},
		"another item changed":         {propose: turnOn, method: "PATCH", path: "/flags/old/environments/production", body: enabled},
		"the item is gone":             {propose: turnOn, method: "DELETE", path: "/flags/dark", refusal: "NOT_FOUND"},
		"created meanwhile":            {propose: operation(`{"op":"create","type":"feature_flag","body":{"key":"new"}}`), method: "POST", path: "/flags", body: `{"key":"new"}`, refusal: "CONFLICT ALREADY_EXISTS"},
		"created, and nobody else":     {propose: operation(`{"op":"create","type":"feature_flag","body":{"key":"new"}},{"op":"patch","type":"feature_flag","key":"new","environment":"development","body":{"enabled":true}}`)},
		"a deletion":                   {propose: operation(`{"op":"delete","type":"feature_flag","key":"dark"}`), method: "PATCH", path: "/flags/dark/environments/production", body: enabled, refusal: "CONFLICT STALE_COMMIT_SHA"},
		"a new schema":                 {propose: operation(`{"op":"put","type":"schema","key":"new","document":{"type":"object"}}`), method: "PUT", path: "/schemas/new/document", body: `{"document":{"type":"array"}}`, refusal: "CONFLICT STALE_COMMIT_SHA"},
		"a new schema, undisturbed":    {propose: operation(`{"op":"put","type":"schema","key":"new","document":{"type":"object"}}`), method: "PATCH", path: "/flags/old/environments/production", body: enabled},
		"the first level of a service": {propose: operation(`{"op":"patch","type":"log_level","key":"new","body":{"level":"DEBUG"}}`)},
		"a deletion taken back":        {propose: operation(`{"op":"delete","type":"feature_flag","key":"old"},{"op":"create","type":"feature_flag","body":{"key":"old","description":"again"}}`)},
		"a tag that others get": {propose: operation(`{"op":"patch","type":"feature_flag","key":"dark","environment":"development","body":{"enabled":true}},{"op":"copy","from":"development","to":"production","tag":"ui"}`),
			method: "PUT", path: "/flags/old/document", body: `{"document":` + flag("old", `,"tags":["ui"]`) + `,"expectedCommitSha":"%"}`},
		"an item of a tag": {propose: operation(`{"op":"copy","from":"production","to":"development","tag":"ui"},{"op":"patch","type":"feature_flag","key":"old","environment":"development","body":{"enabled":true}}`),
			method: "PATCH", path: "/flags/dark/environments/production", body: enabled, refusal: "CONFLICT STALE_COMMIT_SHA"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, files())
			key := w.key("assistant", "protected_engineer")
			c := w.tools(key)
			proposed := c.ok("propose_change", tt.propose)
			if tt.method != "" {
				if strings.Contains(tt.body, "%") {
					tt.body = strings.Replace(tt.body, "%", fmt.Sprint(w.rest(key, "GET", tt.path, "").body["commitSha"]), 1)
				}
				if r := w.rest(key, tt.method, tt.path, tt.body); r.status != 200 {
					t.Fatal(r)
				}
			}
			before := w.commits(key)
			body, refused := c.call("apply_proposal", map[string]any{"proposal": proposed["proposal"]})
			if refused != (tt.refusal != "") || refused && codeOf(body) != tt.refusal {
				t.Fatalf("%v", body)
			}
			if w.commits(key) != before+1 != refused {
				t.Errorf("%d commits, then %d", before, w.commits(key))
			}
			if refused && strings.HasSuffix(tt.refusal, "SHA") && name != "a new schema" && !strings.Contains(fmt.Sprint(body["details"]), "assistant") {
				t.Errorf("it does not say who changed it: %v", body)
			}
		})
	}
}

// TestAnAnswerThatIsLost: the change is made once.
func TestAnAnswerThatIsLost(t *testing.T) {
	w := newWorld(t, files())
	key := w.key("assistant", "engineer")
	c := w.tools(key)
	proposed := c.ok("propose_change", turnOn)
	before := w.commits(key)
	w.cut.Store(true)
	done := c.ok("apply_proposal", map[string]any{"proposal": proposed["proposal"]})
	if got := w.commits(key); got != before+1 || done["changed"] != true {
		t.Errorf("%d commits, then %d: %v", before, got, done)
	}
}

// TestSecrets are told by no tool, and not overwritten by one. (call looks for them.)
func TestSecrets(t *testing.T) {
	w := newWorld(t, files())
	c := w.tools(w.key("assistant", "protected_engineer"))
	item := c.ok("get_item", `{"type":"config","key":"password"}`)
	if item["confidentialValuesHidden"] != 1.0 {
		t.Errorf("%v", item)
	}
	c.ok("get_item", `{"type":"config","key":"password","pointer":"/variants"}`)
	c.ok("explain_value", `{"key":"password","environment":"production"}`)
	c.ok("list_items", `{"query":"password"}`)
	c.ok("propose_change", `{"operations":[{"op":"patch","type":"config","key":"password","environment":"default","body":{"value":"other"}}]}`)
	body, refused := c.call("propose_change", map[string]any{"operations": []any{map[string]any{"op": "put", "type": "config", "key": "password", "document": item["document"]}}})
	if !refused || !strings.Contains(fmt.Sprint(body["details"]), "path:/operations/0/document/variants") {
		t.Errorf("%v", body)
	}
	document := item["document"].(map[string]any)
	delete(document, "variants")
	body, refused = c.call("propose_change", map[string]any{"operations": []any{map[string]any{"op": "put", "type": "config", "key": "password", "document": document}}})
	if !refused || !strings.Contains(fmt.Sprint(body["details"]), "path:/operations/0/document/default/rules/0/value/value") {
		t.Errorf("%v", body)
	}
}

// TestSecretsAreNotGuessed: the tools answer alike whatever the confidential values are.
// What dry runs are asked is told in control's tests.
func TestSecretsAreNotGuessed(t *testing.T) {
	ids := regexp.MustCompile(`[0-9a-f]{40}|p-[a-z0-9]{12}|20\d\d-[0-9T:.Z-]+`)
	answers := func(password, on string) []string {
		all := files()
		all["schemas/any.json"] = `{"type":"string"}`
		for path, text := range all {
			all[path] = strings.ReplaceAll(text, secret, password)
		}
		all["configs/password.json"] = strings.Replace(all["configs/password.json"], `"variants"`, `"schemaKey":"any","variants"`, 1)
		all["configs/marked.json"] = strings.NewReplacer(`"confidential":true`, `"confidential":"yes"`, `"password"`, `"marked"`, `"schemaKey":"any",`, "").Replace(all["configs/password.json"])
		all["feature-flags/hush.json"] = strings.NewReplacer(`"value":false`, `"confidential":true,"value":`+on).Replace(flag("hush", ""))
		w := newWorld(t, all)
		c := w.tools(w.key("assistant", "protected_engineer"))
		var told []string
		ask := func(tool, arguments string) map[string]any {
			t.Helper()
			body := c.ok(tool, arguments)
			told = append(told, ids.ReplaceAllString(fmt.Sprint(tool, " ", arguments, ": ", body), "ID"))
			return body
		}
		reads := func() {
			ask("verify", `{}`)
			ask("list_items", `{}`)
			for _, status := range []string{"pre_rollout", "rollout", "live"} {
				ask("list_items", `{"status":"`+status+`"}`)
			}
			for _, key := range []string{"password", "marked"} {
				ask("get_item", `{"type":"config","key":"`+key+`"}`)
			}
			ask("explain_value", `{"key":"password","environment":"production"}`)
			ask("get_item", `{"type":"feature_flag","key":"hush"}`)
			ask("list_changes", `{}`)
		}
		reads()
		tried := ask("propose_change", `{"operations":[{"op":"put","type":"schema","key":"any","document":{"type":"string","pattern":"^hunter2"}},{"op":"copy","from":"production","to":"development","keys":["password"]}]}`)
		if !strings.Contains(fmt.Sprint(tried["warnings"]), "confidential values") {
			t.Errorf("no warning: %v", tried)
		}
		ask("apply_proposal", fmt.Sprintf(`{"proposal":%q}`, tried["proposal"]))
		reads()
		return told
	}
	one, other := answers(secret, "true"), answers("another", "false")
	for i := range one {
		if one[i] != other[i] {
			t.Errorf("%s\nis not\n%s", one[i], other[i])
		}
	}
}

// TestUndoOfWhatACommitTouched: of all its items, of some, and of a commit that is not
// told item by item.
func TestUndoOfWhatACommitTouched(t *testing.T) {
	all := files()
	var operations []string
	for i := range 25 {
		key := fmt.Sprint("many", i)
		all["feature-flags/"+key+".json"] = flag(key, "")
		operations = append(operations, `{"op":"patch","type":"feature_flag","key":"`+key+`","environment":"development","body":{"enabled":true}}`)
	}
	w := newWorld(t, all)
	c := w.tools(w.key("assistant", "protected_engineer"))
	commit := func(operations ...string) any {
		proposed := c.ok("propose_change", `{"impact":false,"operations":[`+strings.Join(operations, ",")+`]}`)
		return c.ok("apply_proposal", map[string]any{"proposal": proposed["proposal"]})["commitSha"]
	}
	keys := func(proposed map[string]any) (keys []string) {
		for _, r := range proposed["results"].([]any) {
			keys = append(keys, r.(map[string]any)["key"].(string))
		}
		slices.Sort(keys)
		return keys
	}
	two := commit(operations[:2]...)
	if got := keys(c.ok("propose_revert", map[string]any{"commitSha": two})); fmt.Sprint(got) != "[many0 many1]" {
		t.Error(got)
	}
	one := map[string]any{"type": "feature_flag", "key": "many1"}
	if got := keys(c.ok("propose_revert", map[string]any{"commitSha": two, "items": []any{one}, "mode": "restore"})); fmt.Sprint(got) != "[many1]" {
		t.Error(got)
	}
	if got := c.refused("propose_revert", map[string]any{"commitSha": two, "items": []any{map[string]any{"type": "feature_flag", "key": "dark"}}}); got != "UNPROCESSABLE_CONTENT" {
		t.Error(got)
	}
	many := commit(operations[2:]...)
	body, refused := c.call("propose_revert", map[string]any{"commitSha": many})
	if !refused || !strings.Contains(fmt.Sprint(body), "name the items") {
		t.Errorf("%v", body)
	}
	body, refused = c.call("propose_revert", `{"commitSha":"0000000"}`)
	if !refused || !strings.Contains(fmt.Sprint(body), "path:/commitSha") {
		t.Errorf("%v", body)
	}
}
