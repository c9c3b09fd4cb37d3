package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	on10       = `{"operations":[{"op":"patch","type":"feature_flag","key":"dark","environment":"production","body":{"rollout":[{"value":true,"percent":10},{"value":false,"percent":90}]}}],"message":"Try dark mode"}`
	turnOn     = `{"operations":[{"op":"patch","type":"feature_flag","key":"dark","environment":"development","body":{"enabled":true}}]}`
	evaluation = `{"key":"pro","environment":"production","context":{"user":{"key":"u-1","plan":"pro"}}}`
)

// names lists the tools, and holds them to what all promise.
func (c *client) names() (names []string) {
	c.t.Helper()
	list, err := c.session.ListTools(ctx, nil)
	must(c.t, err)
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
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, []byte(text), 0o666))
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
		must(t, os.WriteFile(filepath.Join(dir, "feature-flags/dark.json"), []byte(text), 0o666))
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
