package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	"svc.example/svc/shared/testing/must"
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
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
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

// TestNothingIsPrintedThatATerminalObeys: what strangers have named is told, as one reads it.
func TestNothingIsPrintedThatATerminalObeys(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, api := hostileDirectory(t, true), hostileAPI(t)
	hostilePull(t, filepath.Join(dir, "p"))
	hostileKey(t, filepath.Join(dir, "d"))
	const out, stderr, both = "out", "stderr", "both"
	for _, c := range []struct {
		args, tells string
		lines       int // of what goes to standard output: else a cell has broken the table
	}{
		{"verify --datadir c --format github", both, 0},
		{"verify --datadir c", both, 0},
		{"verify --datadir c --json", out, 0},
		{"serve --datadir c", stderr, 0},
		{"api --import c --port " + freeport.Take(), both, 0},
		{"contexts search user x", out, 2},
		{"contexts search user refuse", stderr, 0},
		{"contexts search user x --json", out, 0},
		{"pull --datadir out", stderr, 0},
		{"push --datadir p --dry-run", out, 0}, {"push --datadir p --dry-run", stderr, 0}, {"push --datadir p --message=why", stderr, 0},
		{"copy staging production --tag x --dry-run", out, 0}, {"copy staging production --tag x --dry-run", stderr, 0}, {"copy staging production --tag x --message=why", stderr, 0},
		{"key list --data d", out, 3},
		{"key revoke 0000000000000009 --data d", stderr, 0},
	} {
		t.Run(c.args, func(t *testing.T) {
			said := map[string]string{}
			said[out], said[stderr] = run(t, t.Context(), dir, api, strings.Fields(c.args)...)
			said[both] = said[out] + said[stderr]
			checkHarmless(t, said[c.tells])
			if n := strings.Count(said[out], "\n"); c.lines > 0 && n != c.lines {
				t.Errorf("%d lines: %q", n, said[out])
			}
			if strings.HasSuffix(c.args, "--json") {
				means(t, said[out])
			}
		})
	}
}

// means demands that JSON still says the names, though it shows them escaped.
func means(t *testing.T, text string) {
	t.Helper()
	var answer struct {
		Problems []struct{ File string }
		Contexts []struct{ Key string }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, p := range answer.Problems {
		answer.Contexts = append(answer.Contexts, struct{ Key string }{p.File})
	}
	for _, c := range answer.Contexts {
		if c.Key == hostile || c.Key == "configs/"+strings.ToValidUTF8(hostile, "")+"\ufffd\ufffd.json" {
			return
		}
	}
	t.Errorf("the JSON does not name it: %s", text)
}

// untilHealthy is a free port, and a context that ends once a server answers there.
func untilHealthy(t *testing.T) (ctx context.Context, port string) {
	port = freeport.Take()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(stop)
	go func() {
		for ctx.Err() == nil {
			if answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%s/healthz", port)); err == nil {
				answer.Body.Close()
				stop()
			}
		}
	}()
	return ctx, port
}

func TestServePrintsNothingThatATerminalObeys(t *testing.T) {
	ctx, port := untilHealthy(t)
	out, stderr := run(t, ctx, hostileDirectory(t, false), nil, "serve", "--datadir", "c", "--port", port)
	checkHarmless(t, out, stderr)
}

// TestATerminalIsShownTheFirstKey, and nothing keeps it.
func TestATerminalIsShownTheFirstKey(t *testing.T) {
	ctx, port := untilHealthy(t)
	dir := t.TempDir()
	var out, stderr output
	Main(ctx, []string{"api", "--port", port}, cli.Caller{Stdout: &out, Stderr: &stderr, Getenv: func(string) string { return "" }, Workdir: dir, Person: func(any) bool { return true }})
	if !regexp.MustCompile(`(?m)^Key          svc_uk_\w+$`).MatchString(out.String()) {
		t.Errorf("shown: %q%q", out.String(), stderr.String())
	}
	if _, err := os.Stat(filepath.Join(dir, defaultData, embedded.FirstKeyName)); err == nil {
		t.Error("the key lies in a file")
	}
}

// hostileAPI answers everything with hostile words.
func hostileAPI(t *testing.T) (env map[string]string) {
	key := must.Get(access.NewKey(rand.Reader, access.KindUser, "0000000000000001", "0000000000000002"))(t)
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

// hostilePull is a directory that was pulled from a hostile workspace.
func hostilePull(t *testing.T, dir string) {
	name := must.Get(json.Marshal(hostile))(t)
	content := fmt.Sprintf(`{"workspaceId":%s,"files":{"feature-flags/a.json":{"commitSha":"1","sha256":"another"}}}`, name)
	seal := must.Get(statedir.Seal(os.Getenv, []byte(content)))(t)
	put(t, filepath.Join(dir, ".svc-pull.json"), strings.TrimSuffix(content, "}")+fmt.Sprintf(`,"seal":%q}`, seal))
	put(t, filepath.Join(dir, "feature-flags", "a.json"), `{"key":"a","type":"feature_flag","valueType":"bool","default":{"rules":[]}}`)
}

// hostileKey is a data directory with a key of a hostile name.
func hostileKey(t *testing.T, dir string) {
	must.Get(embedded.Create(t.Context(), dir, embedded.Creation{Name: "acme"}))(t)
	registry := must.Get(local.OpenRegistry(dir))(t)
	defer registry.Close()
	err := registry.Update(t.Context(), func(s access.State) (access.State, access.Entry, error) {
		record := s.Keys[0]
		record.ID, record.Name, record.Environment = "0000000000000009", hostile, hostile
		s.Version++
		s.Keys = append(slices.Clone(s.Keys), record)
		return s, access.Entry{}, nil
	})
	must.Do(t, err)
}
