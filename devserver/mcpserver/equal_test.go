package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
)

// random draws what somebody might ask for.
type random struct{ *rand.Rand }

func (r random) of(all ...string) string { return all[r.IntN(len(all))] }

func (r random) environment() string {
	return r.of("development", "development", "production", "default", "nowhere")
}

func (r random) item() (t, key string) {
	all := [][2]string{{"feature_flag", "dark"}, {"feature_flag", "old"}, {"feature_flag", "guard"}, {"feature_flag", "pro"}, {"feature_flag", "beta"},
		{"config", "limit"}, {"config", "password"}, {"log_level", "log-level.shop"}, {"segment", "testers"}, {"schema", "any"}, {"feature_flag", "none"}, {"config", "dark"}}
	one := all[r.IntN(len(all))]
	return one[0], one[1]
}

// operation is one of a change set. Most can be carried out by somebody.
func (r random) operation(commits []string) map[string]any {
	t, key := r.item()
	switch r.IntN(8) {
	case 0:
		body := map[string]any{"key": r.of("new-1", "new-2", "dark", "no key")}
		if t = r.of("feature_flag", "config", "segment"); t == "config" {
			body["valueType"], body["value"] = "int", r.IntN(3)
		}
		return map[string]any{"op": "create", "type": t, "body": body}
	case 1:
		return map[string]any{"op": "delete", "type": t, "key": key}
	case 2:
		return map[string]any{"op": "copy", "from": r.environment(), "to": r.environment(), "keys": []string{key}}
	case 3:
		return map[string]any{"op": "revert", "type": t, "key": key, "commitSha": r.of(commits...), "mode": r.of("undo", "restore")}
	case 4:
		document := flag(key, r.of("", `,"tags":["t"]`, `,"access":"protected-env"`, `,"name":7`))
		return map[string]any{"op": "put", "type": t, "key": key, "document": json.RawMessage(document)}
	}
	body := map[string]any{}
	switch t {
	case "feature_flag":
		body["enabled"] = r.IntN(2) == 0
	case "config":
		body["value"] = r.IntN(3)
	default:
		body["level"] = r.of("DEBUG", "INFO", "LOUD")
	}
	return map[string]any{"op": "patch", "type": t, "key": key, "environment": r.environment(), "body": body}
}

// TestWhatIsAllowedIsWhatRESTAllows: with any key, for any request, and whatever happens
// meanwhile, a tool refuses what the API refuses, with the same code, and nothing else.
func TestWhatIsAllowedIsWhatRESTAllows(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { equalToREST(t, random{rand.New(rand.NewPCG(seed, 0))}, outcomes) })
	}
	for _, want := range []string{"propose ", "propose FORBIDDEN PERMISSION_DENIED", "propose NOT_FOUND", "propose BAD_REQUEST", "propose CONFLICT ALREADY_EXISTS", "propose UNAUTHORIZED",
		"apply ", "apply CONFLICT STALE_COMMIT_SHA", "apply FORBIDDEN PERMISSION_DENIED", "apply UNAUTHORIZED"} {
		if outcomes[want] == 0 {
			t.Errorf("no test of %q: %v", want, outcomes)
		}
	}
}

func equalToREST(t *testing.T, r random, outcomes map[string]int) {
	w := newWorld(t, files())
	boss := w.key("boss", "protected_engineer")
	type somebody struct {
		key   string
		tools *client
	}
	var all []somebody
	for i, role := range []string{"member", "support", "engineer_nonprotected", "engineer", "protected_engineer"} {
		key := w.key(fmt.Sprint("somebody-", i), role)
		all = append(all, somebody{key, w.tools(key)})
	}
	// same holds one answer of a tool against one of the API.
	same := func(what string, arguments any, rest reply, body map[string]any, refused bool) bool {
		t.Helper()
		got := ""
		if refused {
			got = codeOf(body)
		}
		if got != rest.code() {
			t.Fatalf("%s %s: the tool says %q, and REST %q: %v %v", what, arguments, got, rest.code(), body, rest.body)
		}
		outcomes[what+" "+got]++
		return !refused
	}
	for range 30 {
		who := all[r.IntN(len(all))]
		commits := []string{"0123456789abcdef"}
		for _, entry := range w.rest(boss, "GET", "/activity?limit=20", "").body["activity"].([]any) {
			commits = append(commits, entry.(map[string]any)["sha"].(string))
		}
		kind, key := r.item()
		body, refused := who.tools.call("get_item", map[string]any{"type": kind, "key": key})
		path := map[string]string{"feature_flag": "/flags/", "config": "/configs/", "log_level": "/log-levels/", "segment": "/segments/", "schema": "/schemas/"}[kind]
		same("get_item", key, w.rest(who.key, "GET", path+key+"/document", ""), body, refused)
		question := map[string]any{"environment": r.environment(), "key": key, "at": r.of(commits...)}
		asked, _ := json.Marshal(map[string]any{"environment": question["environment"], "at": question["at"], "keys": []string{key}})
		body, refused = who.tools.call("explain_value", question)
		rest := w.rest(who.key, "POST", "/evaluate", string(asked))
		if missing, _ := rest.body["missing"].([]any); len(missing) == 0 {
			same("explain_value", question, rest, body, refused)
		}
		since := r.of("2026-01-01T00:00:00Z", "yesterday")
		body, refused = who.tools.call("list_changes", map[string]any{"since": since, "author": "boss"})
		same("list_changes", since, w.rest(who.key, "GET", "/activity?author=boss&since="+since, ""), body, refused)
		environment := r.environment()
		body, refused = who.tools.call("find_contexts", map[string]any{"query": "a", "environment": environment})
		same("find_contexts", environment, w.rest(who.key, "GET", "/contexts?query=a&environment="+url.QueryEscape(environment), ""), body, refused)
		for _, tool := range []string{"list_items", "verify"} {
			body, refused = who.tools.call(tool, nil)
			same(tool, nil, w.rest(who.key, "GET", "/flags", ""), body, refused)
		}

		var operations []map[string]any
		for range 1 + r.IntN(2) {
			operations = append(operations, r.operation(commits))
		}
		set := func() string {
			text, err := json.Marshal(map[string]any{"operations": operations})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		rest = w.rest(who.key, "POST", "/changes?dryRun=true", set())
		proposed, refused := who.tools.call("propose_change", map[string]any{"operations": operations, "impact": r.IntN(2) == 0})
		if !same("propose", set(), rest, proposed, refused) || proposed["proposal"] == nil {
			continue
		}
		switch r.IntN(6) { // meanwhile
		case 0: // the same, in another way
			o := maps.Clone(operations[0])
			if body, is := o["body"].(map[string]any); is && o["op"] == "patch" {
				o["body"] = map[string]any{"enabled": body["enabled"] != true}
			}
			w.rest(boss, "POST", "/changes", `{"operations":[`+must(json.Marshal(o))+`]}`)
		case 1:
			w.rest(boss, "POST", "/changes", `{"operations":[`+must(json.Marshal(r.operation(commits)))+`]}`)
		case 2:
			w.setRoles(t, who.key, r.of("member", "engineer", "protected_engineer"))
		case 3:
			if r.IntN(2) == 0 {
				w.revoke(who.key)
			}
		}
		for _, o := range operations {
			if o["op"] != "create" {
				o["expectedCommitSha"] = proposed["commitSha"]
			}
		}
		rest = w.rest(who.key, "POST", "/changes?dryRun=true", set())
		before := w.commits(boss)
		body, refused = who.tools.call("apply_proposal", map[string]any{"proposal": proposed["proposal"]})
		if same("apply", set(), rest, body, refused) != (w.commits(boss) == before+1) && before < 90 {
			t.Fatalf("%d commits, then %d: %v", before, w.commits(boss), body)
		}
	}
}

func must(text []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (w *world) setRoles(t testing.TB, key string, roles ...string) {
	t.Helper()
	who := w.rest(key, "GET", "/whoami", "")
	if who.status != 200 {
		return
	}
	registry, err := local.OpenRegistry(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	id := who.body["principal"].(map[string]any)["id"].(string)
	if err := registry.SetRoles(ctx, access.ID(id), roles); err != nil {
		t.Fatal(err, strings.Join(roles, " "))
	}
}
