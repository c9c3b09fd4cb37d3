package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/statedir"
	"svc.example/svc/shared/testing/freeport"
)

// hostile is what a stranger may put into a name: it renames the window, turns
// the line round, starts a sequence with one C1 character, and goes on with
// what looks like a line of ours, and with commands of GitHub's runner.
const hostile = "x\x1b]0;pwned\x07\u202e\u009b2J\u2066\nforged: all is well\tok\x7f##[add-mask]a::error::b"

// invalid is hostile with bytes that are no UTF-8, as file names may have them.
const invalid = hostile + "\xff\x9b"

// run runs a command line and returns what it printed.
func run(t *testing.T, ctx context.Context, dir string, env map[string]string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err output
	Main(ctx, args, cli.Caller{Stdout: &out, Stderr: &err, Getenv: func(name string) string {
		if name == "GITHUB_ACTIONS" {
			return "true"
		}
		return env[name]
	}, Workdir: dir})
	return out.String(), err.String()
}

// output may be written to by several goroutines.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// annotation is what svc itself begins a command of GitHub's runner with.
var annotation = regexp.MustCompile(`^::(error|warning|notice) [^:]*::`)

// checkHarmless fails when a terminal would obey something of a text, or when
// the text does not tell of the hostile name at all.
func checkHarmless(t *testing.T, texts ...string) {
	t.Helper()
	all := strings.Join(texts, "")
	if !utf8.ValidString(all) {
		t.Errorf("invalid UTF-8 is printed: %q", all)
	}
	for _, r := range all {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%U is printed in %q", r, all)
			break
		}
	}
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, "forged:") || strings.Contains(annotation.ReplaceAllString(line, ""), "::") || strings.Contains(line, "##[") {
			t.Errorf("a name has made a line or a command of its own: %q", line)
		}
	}
	if !strings.Contains(all, `pwned\u0007\u202e\u009b2J`) && !strings.Contains(all, `pwned\a\u202e\u009b2J`) {
		t.Errorf("the name is not told: %q", all)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Skipf("this file system takes no such name: %v", err)
	}
}

// hostileDirectory is a config directory with hostile names in all places.
func hostileDirectory(t *testing.T, broken bool) string {
	t.Helper()
	dir := t.TempDir()
	name, _ := json.Marshal(hostile)
	put(t, filepath.Join(dir, "c", "svc.json"), `{"environments": ["development"]}`)
	put(t, filepath.Join(dir, "c", "feature-flags", invalid+".json"), fmt.Sprintf(
		`{"key": %[1]s, "type": "feature_flag", "valueType": "bool", %[1]s: 1, "default": {"rules": [{"criteria": [{"operator": %[1]s}, {"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": %[1]s}}], "value": {"type": "bool", "value": true}}]}}`, name))
	put(t, filepath.Join(dir, "c", "feature-flags", invalid+".JSON"), "{}")
	if broken {
		put(t, filepath.Join(dir, "c", "configs", invalid+".json"), "{")
	}
	return dir
}

func TestVerifyPrintsNothingThatATerminalObeys(t *testing.T) {
	dir := hostileDirectory(t, true)
	out, stderr := run(t, t.Context(), dir, nil, "verify", "--datadir", "c", "--format", "github")
	checkHarmless(t, out, stderr)
	out, stderr = run(t, t.Context(), dir, nil, "verify", "--datadir", "c")
	checkHarmless(t, out, stderr)

	out, _ = run(t, t.Context(), dir, nil, "verify", "--datadir", "c", "--json")
	checkHarmless(t, out)
	var result struct{ Problems []struct{ File string } }
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "configs/" + strings.ToValidUTF8(hostile, "") + "\ufffd\ufffd.json"
	for _, p := range result.Problems {
		if p.File == want {
			return
		}
	}
	t.Errorf("the JSON does not name %q: %s", want, out)
}

func TestServePrintsNothingThatATerminalObeys(t *testing.T) {
	_, stderr := run(t, t.Context(), hostileDirectory(t, true), nil, "serve", "--datadir", "c")
	checkHarmless(t, stderr)

	port := freeport.Take()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%s/healthz", port)); err == nil {
				answer.Body.Close()
				stop()
			}
		}
	}()
	out, stderr := run(t, ctx, hostileDirectory(t, false), nil, "serve", "--datadir", "c", "--port", port)
	checkHarmless(t, out, stderr)
}

func TestAnImportPrintsNothingThatATerminalObeys(t *testing.T) {
	out, stderr := run(t, t.Context(), hostileDirectory(t, true), nil, "api", "--import", "c", "--port", freeport.Take())
	checkHarmless(t, out, stderr)
}

// hostileAPI answers everything with hostile words.
func hostileAPI(t *testing.T) (env map[string]string) {
	key, err := access.NewKey(rand.Reader, access.KindUser, "0000000000000001", "0000000000000002")
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]any{"type": hostile, "key": hostile, "name": hostile, "email": hostile, "environment": hostile, "lastSeenAt": hostile}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]any{"contexts": []any{row}, "flags": []any{row}, "workspaceId": hostile, "commitSha": hostile, "total": 1}
		answer["documents"] = []any{map[string]any{"type": "feature_flag", "key": hostile, "commitSha": hostile, "document": row}}
		answer["results"] = []any{map[string]any{"type": hostile, "key": hostile, "changed": true, "messages": []any{map[string]string{"message": hostile}}}}
		answer["warnings"] = []any{map[string]string{"path": hostile, "message": hostile}}
		if r.URL.Path == "/v1/changes" && r.Header.Get("Idempotency-Key") != "" {
			w.WriteHeader(http.StatusConflict)
			answer["message"] = hostile
			answer["details"] = map[string]any{"issues": answer["warnings"], "changes": []any{map[string]string{"authorName": hostile, "date": hostile, "sha": hostile}}}
		}
		if r.URL.Query().Get("query") == "refuse" {
			w.WriteHeader(http.StatusBadRequest)
			answer["message"] = hostile
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return map[string]string{"SVC_API_URL": server.URL + "/v1", "SVC_API_KEY": key.Reveal()}
}

func TestContextsSearchPrintsNothingThatATerminalObeys(t *testing.T) {
	env := hostileAPI(t)
	out, _ := run(t, t.Context(), t.TempDir(), env, "contexts", "search", "user", "")
	checkHarmless(t, out)
	if strings.Count(out, "\n") != 2 {
		t.Errorf("a cell has broken the table: %q", out)
	}
	_, stderr := run(t, t.Context(), t.TempDir(), env, "contexts", "search", "user", "refuse")
	checkHarmless(t, stderr)

	out, _ = run(t, t.Context(), t.TempDir(), env, "contexts", "search", "user", "", "--json")
	checkHarmless(t, out)
	var answer struct{ Contexts []struct{ Key string } }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Contexts[0].Key != hostile {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPullPrintsNothingThatATerminalObeys(t *testing.T) {
	_, stderr := run(t, t.Context(), t.TempDir(), hostileAPI(t), "pull", "--datadir", "out")
	checkHarmless(t, stderr)
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPushAndCopyPrintNothingThatATerminalObeys(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	state := map[string]any{"workspaceId": hostile, "files": map[string]any{"feature-flags/a.json": map[string]any{"commitSha": "1", "sha256": "another"}}}
	content := fmt.Sprintf(`{"workspaceId":%s,"files":{"feature-flags/a.json":{"commitSha":"1","sha256":"another"}}}`, mustJSON(t, hostile))
	seal, err := statedir.Seal(os.Getenv, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	state["seal"] = seal
	for path, text := range map[string]string{".svc-pull.json": mustJSON(t, state), "feature-flags/a.json": `{"key":"a","type":"feature_flag","valueType":"bool","default":{"rules":[]}}`} {
		path = filepath.Join(dir, "d", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"push", "--datadir", "d"}, {"copy", "staging", "production", "--tag", "x"}} {
		for _, more := range []string{"--dry-run", "--message=why"} {
			out, stderr := run(t, t.Context(), dir, hostileAPI(t), append(args, more)...)
			checkHarmless(t, stderr)
			if more == "--dry-run" {
				checkHarmless(t, out)
			}
		}
	}
}

func TestKeyListPrintsNothingThatATerminalObeys(t *testing.T) {
	dir := t.TempDir()
	if _, err := embedded.Create(t.Context(), filepath.Join(dir, "d"), embedded.Creation{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	registry, err := local.OpenRegistry(filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	keys, err := registry.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record := keys[0]
	record.ID, record.Name, record.Environment = "0000000000000009", hostile, hostile
	if err := registry.CreateKey(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, t.Context(), dir, nil, "key", "list", "--data", "d")
	checkHarmless(t, out)
	if strings.Count(out, "\n") != 3 {
		t.Errorf("a cell has broken the table: %q", out)
	}
	_, stderr := run(t, t.Context(), dir, nil, "key", "revoke", "0000000000000009", "--data", "d")
	checkHarmless(t, stderr)
}
