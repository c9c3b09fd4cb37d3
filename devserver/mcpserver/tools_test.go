package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.example/svc/shared/testing/must"
)

const (
	on10       = `{"operations":[{"op":"patch","type":"feature_flag","key":"dark","environment":"production","body":{"rollout":[{"value":true,"percent":10},{"value":false,"percent":90}]}}],"message":"Try dark mode"}`
	turnOn     = `{"operations":[{"op":"patch","type":"feature_flag","key":"dark","environment":"development","body":{"enabled":true}}]}`
	evaluation = `{"key":"pro","environment":"production","context":{"user":{"key":"u-1","plan":"pro"}}}`
)

// names lists the tools, and holds them to what all promise.
func (c *client) names() (names []string) {
	c.t.Helper()
	list := must.Get(c.session.ListTools(ctx, nil))(c.t)
	if text, _ := json.Marshal(list); len(text) > maxResult {
		c.t.Errorf("the list of tools has %d bytes", len(text))
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		if writes := tool.Name == "apply_proposal"; a.ReadOnlyHint == writes || *a.DestructiveHint != writes || !a.IdempotentHint || *a.OpenWorldHint {
			c.t.Errorf("%s: %+v", tool.Name, a)
		}
		if schema := tool.InputSchema.(map[string]any); schema["additionalProperties"] != false || tool.Description == "" || tool.Title == "" {
			c.t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
	if len(names) > 12 {
		c.t.Errorf("%d tools", len(names))
	}
	return names
}

// TestToolsOfAWorkspace calls each tool as an assistant does, over standard input and
// output of svc mcp.
func TestToolsOfAWorkspace(t *testing.T) {
	w := newWorld(t, files())
	w.see(`{"key":{"string":"u-1"},"name":{"string":"Ada Lovelace"},"plan":{"string":"pro"}}`, `{"key":{"string":"u-2"}}`)
	key := w.key("assistant", "protected_engineer")
	c, log := stdio(t, key, "--url", w.url)
	if got := strings.Join(c.names(), " "); got != "apply_proposal explain_value find_contexts get_item list_changes list_items propose_change propose_revert verify" {
		t.Errorf("the tools are %s", got)
	}
	list := c.ok("list_items", map[string]any{})
	if list["total"] != 9.0 || len(list["items"].([]any)) != 9 || len(list["environments"].([]any)) != 2 || list["omitted"] != nil {
		t.Errorf("%v", list)
	}
	for arguments, want := range map[string]string{
		`{"query":"DARK mode"}`: "dark", `{"tag":"ui"}`: "dark", `{"type":"segment"}`: "testers", `{"status":"ready_for_cleanup"}`: "old",
		`{"status":"live","environment":"production"}`: "", `{"type":"config"}`: "limit password", `{"query":"dark","type":"config"}`: "",
	} {
		var keys []string
		for _, item := range c.ok("list_items", arguments)["items"].([]any) {
			keys = append(keys, item.(map[string]any)["key"].(string))
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s lists %q, want %q", arguments, got, want)
		}
	}
	item := c.ok("get_item", `{"type":"feature_flag","key":"dark"}`)
	if got := fmt.Sprint(item["statuses"], item["document"].(map[string]any)["name"], len(item["changes"].([]any))); got != "map[development:pre_rollout production:pre_rollout]Dark mode1" {
		t.Errorf("%s of %v", got, item)
	}
	for _, other := range []string{`"config","key":"limit"`, `"log_level","key":"log-level.shop"`, `"log_level","key":"shop"`, `"segment","key":"testers"`, `"schema","key":"any"`} {
		if c.ok("get_item", `{"type":`+other+`}`)["document"] == nil {
			t.Errorf("%s has no document", other)
		}
	}
	if part := c.ok("get_item", `{"type":"feature_flag","key":"pro","pointer":"/default/rules/0/value"}`); fmt.Sprint(part["document"]) != "map[type:bool value:true]" {
		t.Errorf("%v", part)
	}
	if why := c.ok("explain_value", evaluation)["evaluation"].(map[string]any); why["value"] != true || why["explanation"] == nil {
		t.Errorf("%v", why)
	}
	found := c.ok("find_contexts", `{"query":"love","type":"user","environment":"production"}`)["contexts"].([]any)
	if len(found) != 1 || fmt.Sprint(found[0].(map[string]any)["context"]) != "map[user:map[key:u-1 name:Ada Lovelace plan:pro]]" {
		t.Errorf("%v", found)
	}
	would := c.ok("propose_change", on10)
	result := would["results"].([]any)[0].(map[string]any)
	if would["proposal"] == nil || would["changed"] != true || would["impact"] == nil || !strings.Contains(fmt.Sprint(result["messages"]), "10") {
		t.Errorf("%v", would)
	}
	before := w.commits(key)
	done := c.ok("apply_proposal", map[string]any{"proposal": would["proposal"]})
	if w.commits(key) != before+1 || done["changed"] != true {
		t.Errorf("%v", done)
	}
	if again := c.ok("apply_proposal", map[string]any{"proposal": would["proposal"]}); again["commitSha"] != done["commitSha"] || w.commits(key) != before+1 {
		t.Errorf("again: %v", again)
	}
	changes := c.ok("list_changes", `{"type":"feature_flag","key":"dark","limit":1}`)
	if entry := changes["changes"].([]any)[0].(map[string]any); entry["authorName"] != "assistant" || entry["sha"] != done["commitSha"] || changes["nextCursor"] == nil {
		t.Errorf("%v", changes)
	}
	back := c.ok("propose_revert", map[string]any{"commitSha": done["commitSha"].(string)[:12]})
	c.ok("apply_proposal", map[string]any{"proposal": back["proposal"]})
	if status := c.ok("get_item", `{"type":"feature_flag","key":"dark"}`)["statuses"].(map[string]any)["production"]; status != "pre_rollout" {
		t.Errorf("undone, it is %v", status)
	}
	asked := c.ok("propose_change", on10)
	for range 2 { // once more is the same
		if made := c.ok("apply_proposal", map[string]any{"proposal": asked["proposal"], "changeRequest": "Ten of a hundred"}); made["changeRequest"] != "1" || made["state"] != "open" {
			t.Errorf("%v", made)
		}
	}
	if report := c.ok("verify", nil); report["ok"] != true || report["files"] == nil {
		t.Errorf("%v", report)
	}
	if nothing := c.ok("propose_change", `{"operations":[{"op":"patch","type":"config","key":"limit","environment":"default","body":{"value":7}}]}`); nothing["changed"] != false || nothing["proposal"] != nil {
		t.Errorf("%v", nothing)
	}
	if strings.Contains(log.String(), key) || strings.Contains(log.String(), secret) {
		t.Errorf("the log tells secrets: %s", log)
	}
	only, _ := stdio(t, key, "--url", w.url, "--read-only")
	if slices.Contains(only.names(), "apply_proposal") {
		t.Error("--read-only can write")
	}
	if _, err := only.session.CallTool(ctx, &mcp.CallToolParams{Name: "apply_proposal", Arguments: map[string]any{"proposal": "p"}}); err == nil {
		t.Error("--read-only writes")
	}
}

// TestToolsOfADirectory: what is read, while somebody edits it.
func TestToolsOfADirectory(t *testing.T) {
	dir := t.TempDir()
	for path, text := range files() {
		path = filepath.Join(dir, path)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	}
	c, _ := stdio(t, "", "--datadir", dir)
	if got := strings.Join(c.names(), " "); got != "explain_value get_item list_edits list_items verify" {
		t.Errorf("the tools are %s", got)
	}
	if list := c.ok("list_items", `{"query":"dark"}`); list["total"] != 1.0 {
		t.Errorf("%v", list)
	}
	item := c.ok("get_item", `{"type":"feature_flag","key":"dark"}`)
	if item["file"] != "feature-flags/dark.json" || item["statuses"] == nil || item["document"] == nil {
		t.Errorf("%v", item)
	}
	if why := c.ok("explain_value", evaluation)["evaluation"].(map[string]any); why["value"] != true {
		t.Errorf("%v", why)
	}
	if code := c.refused("list_edits", `{}`); code != "BAD_REQUEST" {
		t.Errorf("outside of git: %s", code)
	}
	if _, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
			if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		if edits := c.ok("list_edits", `{}`); len(edits["changes"].([]any)) != 0 {
			t.Errorf("%v", edits)
		}
	}
	write := func(text string) {
		must.Do(t, os.WriteFile(filepath.Join(dir, "feature-flags/dark.json"), []byte(text), 0o666))
	}
	write(strings.ReplaceAll(files()["feature-flags/dark.json"], "false", "true"))
	if _, err := exec.LookPath("git"); err == nil {
		if edits := c.ok("list_edits", `{"since":"HEAD"}`); !strings.Contains(fmt.Sprint(edits), "default: ") {
			t.Errorf("%v", edits)
		}
		if then := c.ok("explain_value", `{"key":"dark","environment":"production","at":"HEAD"}`)["evaluation"].(map[string]any); then["value"] != false {
			t.Errorf("at HEAD: %v", then)
		}
	}
	if now := c.ok("explain_value", `{"key":"dark","environment":"production"}`)["evaluation"].(map[string]any); now["value"] != true {
		t.Errorf("edited: %v", now)
	}
	write(`{"key":"dark",`)
	if report := c.ok("verify", nil); report["ok"] != false || report["errors"] == 0.0 {
		t.Errorf("%v", report)
	}
	if list := c.ok("list_items", nil); list["unreadable"] == nil || list["total"] != 8.0 {
		t.Errorf("%v", list)
	}
	c.refused("get_item", `{"type":"feature_flag","key":"dark"}`)
	c.refused("get_item", `{"type":"feature_flag","key":"../svc"}`)
	c.refused("explain_value", `{"key":"dark","environment":"production"}`)
	c.refused("list_edits", `{"since":"--output=x"}`)
}

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
