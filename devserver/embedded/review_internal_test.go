package embedded

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/prereceive"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/settings"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
	"svc.example/svc/shared/workspace"
)

// siege is a workspace whose production is reviewed, and people and programs who change
// whatever they can.
type siege struct {
	*testing.T
	*Service
	random *rand.Rand
	actors []*actor
	// given are approvals that were answered, by request: what was approved, by whom.
	given map[string]map[*actor]string
	told  map[string]int // outcomes, by way
}

type actor struct {
	access.Principal
	key string
}

const besieged = `{"environments": [{"name": "production", "protected": true}, "staging", {"name": "old", "archived": true}],
	"review": {"production": {"approvals": 2, "roles": ["engineer", "protected_engineer"]}}}`

func besiege(t *testing.T, seed uint64) *siege {
	flag := `{"key": %q, "type": "feature_flag", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}, "variants": [{"value": {"type": "bool", "value": true}}, {"value": {"type": "bool", "value": false}}]}`
	files := map[string][]byte{"svc.json": []byte(besieged),
		"segments/s.json":               []byte(`{"key": "s", "type": "segment", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": true}}]}}`),
		"configs/c.json":                []byte(`{"key": "c", "type": "config", "valueType": "int", "schemaKey": "n", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": 1}}]}}`),
		"schemas/n.json":                []byte(`{"type": "integer"}`),
		"log-levels/log-level.web.json": []byte(`{"key": "log-level.web", "type": "log_level", "valueType": "log_level", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "log_level", "value": "INFO"}}]}}`)}
	for _, key := range []string{"a", "b"} {
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, flag, key)
	}
	dir := filepath.Join(t.TempDir(), "data")
	must.Get(Create(t.Context(), dir, Creation{Name: "shop", By: "Ada", Files: files, Source: "a test"}))(t)
	s := &siege{T: t, random: rand.New(rand.NewPCG(seed, seed)), given: map[string]map[*actor]string{}, told: map[string]int{}}
	open := ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}
	s.Service = must.Get(Open(t.Context(), dir, Options{Limit: open, Anonymous: open, Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { s.Close() })
	for i, roles := range [][]string{{"engineer"}, {"engineer"}, {"protected_engineer"}, {"protected_engineer"}, {"admin", "engineer"}, {"engineer_nonprotected"}, {"member"}, {"admin", "review_bypass", "engineer"}, {"engineer"}} {
		q := access.KeyRequest{Kind: access.KindUser, Name: "k", Email: fmt.Sprintf("p%d@acme.example", i), Roles: roles}
		if i == 8 {
			q = access.KeyRequest{Kind: access.KindServiceAccount, Name: "bot", Roles: roles}
		}
		key, p, err := s.ledger.Registry().IssueKey(t.Context(), q)
		must.Do(t, err)
		s.actors = append(s.actors, &actor{p, key.Reveal()})
	}
	return s
}

// state is all files at the head, and the head.
func (s *siege) state() (map[string][]byte, repository.Head) {
	head := must.Get(s.ledger.Head(s.Context()))(s)
	files := map[string][]byte{}
	for _, f := range must.Get(s.repo.Snapshot(s.Context(), head))(s).Files {
		files[f.Path] = f.Text
	}
	return files, head
}

// production is what production serves, and what says so: made in another way than by what
// is tested.
func production(files map[string][]byte) string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path, "schemas/") {
			continue // what is served under one is in the documents
		}
		var tree map[string]any
		if json.Unmarshal(files[path], &tree) != nil {
			parts = append(parts, path, string(files[path]))
			continue
		}
		if path == workspace.File {
			parts = append(parts, path, fmt.Sprint(tree["environments"], tree["review"]))
			continue
		}
		own := ""
		list, _ := tree["environments"].([]any)
		for _, e := range list {
			if entry, _ := e.(map[string]any); entry["id"] == "production" {
				own += fmt.Sprint(entry)
			}
		}
		parts = append(parts, path, fmt.Sprint(tree["default"], tree["variants"], tree["valueType"], tree["type"], tree["sendToClientSdk"], own))
	}
	return strings.Join(parts, "\n")
}

func pick[T any](s *siege, from ...T) T { return from[s.random.IntN(len(from))] }

// call sends a request of an actor, and returns what it was answered.
func (s *siege) call(by *actor, method, path, body string) (int, map[string]any) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+by.key)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	if w.Code >= 500 {
		s.Fatalf("%s %s %s: %d %s", method, path, body, w.Code, w.Body)
	}
	return w.Code, answer
}

// commit is one of the latest.
func (s *siege) commit() string {
	head := must.Get(s.ledger.Head(s.Context()))(s)
	commits := must.Get(s.repo.History(s.Context(), head, repository.Page{Limit: 12}))(s)
	return commits[s.random.IntN(len(commits))].SHA
}

func (s *siege) value() string { return pick(s, "true", "false") }

func (s *siege) rules() string {
	return pick(s,
		`[{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": `+s.value()+`}}]`,
		`[{"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "s"}}], "value": {"type": "bool", "value": `+s.value()+`}}]`,
		`[{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": `+s.value()+`, "confidential": true}}]`, `[]`)
}

func (s *siege) document(key string) string {
	return `{"key": "` + key + `", "type": "feature_flag", "valueType": "bool", "name": "` + pick(s, "", "N", "M") + `", "access": "` + pick(s, "standard", "support", "protected-env") + `", "default": {"rules": ` + s.rules() + `}, "environments": [` +
		pick(s, `{"id": "production", "rules": `+s.rules()+`}`, `{"id": "staging", "rules": `+s.rules()+`}`, `{"id": "production", "rules": `+s.rules()+`}, {"id": "staging", "rules": `+s.rules()+`}`) + `], "variants": [{"value": {"type": "bool", "value": true}}, {"value": {"type": "bool", "value": false}}]}`
}

// operation is one of a change set.
func (s *siege) operation() string {
	key, environment := pick(s, "a", "b", "new"), pick(s, "production", "staging", "default")
	return pick(s,
		fmt.Sprintf(`{"op": "patch", "type": "feature_flag", "key": %q, "environment": %q, "body": {"enabled": %s, "replaceTargeting": %s}}`, key, environment, s.value(), s.value()),
		fmt.Sprintf(`{"op": "patch", "type": "feature_flag", "key": %q, "environment": %q, "body": {"rollout": [{"value": true, "percent": %d}, {"value": false, "percent": %[3]d}]}}`, key, environment, 50),
		fmt.Sprintf(`{"op": "patch", "type": "config", "key": "c", "environment": %q, "body": {"value": %d}}`, environment, s.random.IntN(4)),
		fmt.Sprintf(`{"op": "patch", "type": "log_level", "key": "web", "environment": %q, "body": {"level": %q}}`, environment, pick(s, "INFO", "WARN")),
		fmt.Sprintf(`{"op": "put", "type": "feature_flag", "key": %q, "document": %s}`, key, s.document(key)),
		fmt.Sprintf(`{"op": "create", "type": "feature_flag", "body": {"key": %q}}`, key),
		fmt.Sprintf(`{"op": "delete", "type": "feature_flag", "key": %q}`, key),
		fmt.Sprintf(`{"op": "put", "type": "segment", "key": "s", "document": {"key": "s", "type": "segment", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": %s}}]}}}`, s.value()),
		fmt.Sprintf(`{"op": "put", "type": "schema", "key": "n", "document": {"type": "integer", "maximum": %d}}`, 5+s.random.IntN(3)),
		fmt.Sprintf(`{"op": "copy", "from": %q, "to": %q, "keys": [%q]}`, pick(s, "staging", "production"), pick(s, "staging", "production"), pick(s, "a", "b", "c")),
		fmt.Sprintf(`{"op": "revert", "commitSha": %q, "mode": "undo"}`, s.commit()),
		fmt.Sprintf(`{"op": "revert", "type": "feature_flag", "key": %q, "commitSha": %q, "mode": %q}`, key, s.commit(), pick(s, "undo", "restore")))
}

func (s *siege) operations() string {
	all := []string{s.operation()}
	for s.random.IntN(3) == 0 {
		all = append(all, s.operation())
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// attempt is one way of changing something, by somebody. It returns the way and, of a request
// that was applied, how many had approved that.
func (s *siege) attempt(by *actor) (way string, approvals int) {
	key, environment := pick(s, "a", "b", "new"), pick(s, "production", "staging", "default")
	ids := slices.SortedFunc(maps.Keys(s.given), func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	id := cmp.Or(pick(s, append(ids[max(0, len(ids)-3):], "1")...), "1")
	send := func(way, method, path, body string) (string, int) {
		code, _ := s.call(by, method, path, body)
		return way + " " + strconv.Itoa(code/100*100), 0
	}
	switch n := s.random.IntN(100); {
	case n < 6:
		return send("patch", "PATCH", "/v1/flags/"+key+"/environments/"+environment, `{"enabled": `+s.value()+`}`)
	case n < 9:
		_, d := s.call(by, "GET", "/v1/flags/"+key+"/document", "")
		return send("put", "PUT", "/v1/flags/"+key+"/document", fmt.Sprintf(`{"expectedCommitSha": %q, "document": %s}`, d["commitSha"], s.document(key)))
	case n < 11:
		return send("create", "POST", "/v1/flags", `{"key": "`+key+`"}`)
	case n < 13:
		return send("delete", "DELETE", "/v1/flags/"+key, "")
	case n < 16:
		return send("revert", "POST", "/v1/flags/"+key+"/revert", fmt.Sprintf(`{"commitSha": %q, "mode": %q}`, s.commit(), pick(s, "undo", "restore")))
	case n < 18:
		return send("log level", "PATCH", "/v1/log-levels/"+pick(s, "web", "cart"), fmt.Sprintf(`{"level": %q, "environment": %q}`, pick(s, "INFO", "WARN"), environment))
	case n < 20:
		return send("manifest", pick(s, "POST", "PUT", "DELETE"), "/openfeature/v0/manifest/flags"+pick(s, "", "/"+key), `{"key": "`+key+`", "type": "boolean", "defaultValue": `+s.value()+`}`)
	case n < 22:
		return send("schema", "PUT", "/v1/schemas/n/document", `{"document": {"type": "integer", "minimum": `+strconv.Itoa(s.random.IntN(2))+`}}`)
	case n < 36:
		return send("change set", "POST", "/v1/changes", `{"operations": `+s.operations()+`}`)
	case n < 39:
		return s.edit(by), 0
	case n < 42 && s.random.IntN(8) == 0:
		return s.push(), 0
	case n < 43:
		p := s.actors[s.random.IntN(len(s.actors)-2)]
		roles := pick(s, []string{"engineer"}, []string{"member"}, []string{"protected_engineer"})
		must.Do(s, s.ledger.Registry().SetRoles(s.Context(), p.ID, roles))
		p.Roles = roles
		return "roles", 0
	case n < 58:
		code, made := s.call(by, "POST", "/v1/change-requests", fmt.Sprintf(`{"title": "t", "operations": %s}`, s.operations()))
		if code == 200 {
			s.given[made["id"].(string)] = map[*actor]string{}
		}
		return "propose " + strconv.Itoa(code), 0
	case n < 61:
		code, _ := s.call(by, "PATCH", "/v1/change-requests/"+id, fmt.Sprintf(`{"operations": %s}`, s.operations()))
		return "propose other " + strconv.Itoa(code), 0
	case n < 80:
		_, shown := s.call(by, "GET", "/v1/change-requests/"+id, "")
		preview, _ := shown["preview"].(map[string]any)
		if preview == nil || preview["digest"] == nil {
			return "approve nothing", 0
		}
		code, _ := s.call(by, "POST", "/v1/change-requests/"+id+"/approvals", fmt.Sprintf(`{"digest": %q}`, preview["digest"]))
		if code == 200 {
			s.given[id][by] = s.seen(shown)
		}
		return "approve " + strconv.Itoa(code), 0
	case n < 82:
		code, _ := s.call(by, "DELETE", "/v1/change-requests/"+id+"/approvals", "")
		if code == 200 {
			delete(s.given[id], by)
		}
		return "withdraw " + strconv.Itoa(code), 0
	case n < 84:
		return send("close", "POST", "/v1/change-requests/"+id+"/close", "")
	}
	approvals = s.approvals(id, s.given[id])
	code, _ := s.call(by, "POST", "/v1/change-requests/"+id+"/apply", "")
	return "apply " + strconv.Itoa(code), approvals
}

// seen is what somebody looks at who approves: the operations, and what they touch as it is.
func (s *siege) seen(shown map[string]any) string {
	files, _ := s.state()
	text := string(must.Get(json.Marshal(shown["operations"]))(s)) + fmt.Sprint(shown["author"])
	items, _ := shown["items"].([]any)
	for _, i := range items {
		item := i.(map[string]any)
		text += string(files[workspace.Path(document.Type(item["type"].(string)), item["key"].(string))])
	}
	return text
}

// edit changes environments, as in the settings.
func (s *siege) edit(by *actor) string {
	yes, no := true, false
	e := pick(s, provision.EnvironmentEdit{Name: "staging", Protected: &yes}, provision.EnvironmentEdit{Name: "production", Archived: &yes}, provision.EnvironmentEdit{Name: "old", Archived: &no},
		provision.EnvironmentEdit{Name: "qa", Add: true}, provision.EnvironmentEdit{Name: "production", Reviewed: true}, provision.EnvironmentEdit{Name: "production", Reviewed: true, Review: &workspace.Review{Approvals: 1, AuthorMayApprove: true}})
	if access.BypassesReview(by.Roles) {
		return "environment by who may"
	}
	_, err := settings.Of(s.settings(""), by.Principal).EditEnvironment(s.Context(), e)
	return fmt.Sprint("environment ", err == nil)
}

// push is git's.
func (s *siege) push() string {
	git := testenv.Program(s, "apt-get install git", "git")
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, append([]string{"--git-dir", s.Repository(), "-c", "user.name=Eve", "-c", "user.email=eve@acme.example"}, args...)...)
		cmd.Env, cmd.Stdin = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(s.Repository(), "eve")), strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.Fatalf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	main := run("", "rev-parse", "main")
	run("", "read-tree", main)
	key := pick(s, "a", "b")
	path, text := pick(s, "feature-flags/"+key+".json", "svc.json"), ""
	if text = s.document(key); path == "svc.json" {
		text = pick(s, `{"environments": ["production", "staging"]}`, strings.Replace(besieged, "2", "1", 1), strings.Replace(besieged, `"staging"`, `"staging", "qa"`, 1))
	}
	run("", "update-index", "--add", "--cacheinfo", "100644,"+run(text, "hash-object", "-w", "--stdin")+","+path)
	next := run("", "commit-tree", "-p", main, "-m", "pushed\n\nSvc-Request: 1\nSvc-Approved-By: Ada <a@b>", run("", "write-tree"))
	err := prereceive.Check(s.Context(), prereceive.Push{Repository: s.Repository(), Updates: strings.NewReader(main + " " + next + " refs/heads/main\n")})
	if err == nil {
		run("", "update-ref", "refs/heads/main", next, main)
	}
	return fmt.Sprint("push ", err == nil)
}

// TestNoWayRoundTheReview: whatever people and programs try, in whatever order, what production
// is served changes by who may do without approvals, or by a request that two others have
// approved who may, for what stood there.
func TestNoWayRoundTheReview(t *testing.T) {
	attempts := 600
	if n, err := strconv.Atoi(os.Getenv("SVC_TEST_ATTEMPTS")); err == nil {
		attempts = n
	}
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("SVC_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	s := besiege(t, seed)
	files, _ := s.state()
	served := production(files)
	for i := range attempts {
		by := s.actors[s.random.IntN(len(s.actors))]
		way, approvals := s.attempt(by)
		s.told[way]++
		files, _ := s.state()
		now := production(files)
		if now == served {
			continue
		}
		s.told["changed by "+way]++
		if !access.BypassesReview(by.Roles) && approvals < 2 {
			t.Fatalf("seed %d, attempt %d: %s by %v changed what production is served, with %d approvals", seed, i, way, by.Roles, approvals)
		}
		if access.BypassesReview(by.Roles) {
			s.told["by who may"]++
		} else {
			s.told["by approval"]++
		}
		served = now
	}
	var lines []string
	for _, way := range slices.Sorted(maps.Keys(s.told)) {
		lines = append(lines, fmt.Sprint(way, ": ", s.told[way]))
	}
	t.Logf("seed %d\n%s", seed, strings.Join(lines, "\n"))
	if attempts >= 3000 && (s.told["by approval"] == 0 || s.told["by who may"] == 0) {
		t.Error("nothing was changed by approval, or by who may")
	}
}

// approvals are how many count of those that were given to a request, by their own reckoning.
func (s *siege) approvals(id string, given map[*actor]string) int {
	if len(given) == 0 {
		return 0
	}
	_, shown := s.call(s.actors[2], "GET", "/v1/change-requests/"+id, "")
	if shown["state"] != "open" {
		return 0
	}
	author, _ := shown["author"].(map[string]any)
	count := 0
	for by, seen := range given {
		if string(by.ID) != author["id"] && by.Type == access.PrincipalUser && seen == s.seen(shown) &&
			slices.ContainsFunc(by.Roles, func(role string) bool { return role == "engineer" || role == "protected_engineer" }) {
			count++
		}
	}
	return count
}
