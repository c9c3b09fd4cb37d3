package command

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/statedir"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"svc": func() { cli.Program(Main) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else commands with the race detector wait a second before they end
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			return nil
		},
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"action":   action,
			"freeport": freePort,
			"get":      get,
			"await":    await,
			"fill":     fill,
			"mistakes": mistakes,
			"journal":  journal,
			"keyenv":   keyEnv,
			"idenv":    idEnv,
			"mode":     mode,
			"patch":    patch,
			"poll":     poll,
			"report":   reportTelemetry,
			"snippet":  snippet,
		},
	})
}

// condition knows ipv6: whether the machine has an IPv6 loopback address.
func condition(cond string) (bool, error) {
	if cond != "ipv6" {
		return false, fmt.Errorf("unknown condition %s", cond)
	}
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false, nil
	}
	return true, l.Close()
}

// freePort sets a variable to a port that nothing listens on.
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], freeport.Take())
}

// fetch sends GET url, with headers given as name:value.
func fetch(url string, headers []string) (string, error) {
	return send(http.MethodGet, url, "", headers)
}

func send(method, url, content string, headers []string) (string, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(content))
	if err != nil {
		return "", err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		request.Header.Set(name, value)
		if name == "Host" { // which is no header for net/http
			request.Host = value
		}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return fmt.Sprintf("%s\n%s\n", answer.Status, body), err
}

// get prints the answer to GET url.
func get(ts *testscript.TestScript, neg bool, args []string) {
	text, err := fetch(args[0], args[1:])
	if neg {
		if err == nil {
			ts.Fatalf("%s answers: %s", args[0], text)
		}
		return
	}
	prints(ts, text, err)
}

func prints(ts *testscript.TestScript, text string, err error) {
	ts.Check(err)
	_, err = io.WriteString(ts.Stdout(), text)
	ts.Check(err)
}

// basic is a header with an SDK key.
func basic(key string) []string {
	return []string{"Authorization:Basic " + base64.StdEncoding.EncodeToString([]byte("1:"+key))}
}

// await polls a URL until its answer matches, or for a minute.
func await(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[1])
	var text string
	var err error
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if text, err = fetch(args[0], args[2:]); err == nil && pattern.MatchString(text) {
			return
		}
	}
	ts.Fatalf("%s does not answer with %s but with %s %v", args[0], args[1], text, err)
}

// snippet writes a snippet of a guide to a file, with this script's port in the
// place of the default ones.
func snippet(ts *testscript.TestScript, _ bool, args []string) {
	text, err := guides.Find(args[0], args[1])
	ts.Check(err)
	text = strings.NewReplacer(":6580/", ":"+ts.Getenv("PORT")+"/", ":6581/", ":"+ts.Getenv("PORT")+"/").Replace(text)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text), 0o666))
}

// journal has a directory be one in which a change of several files was cut short.
func journal(ts *testscript.TestScript, _ bool, args []string) {
	dir, err := statedir.Of(ts.Getenv)
	ts.Check(err)
	dir = filepath.Join(dir, "writing")
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, statedir.Name(ts.MkAbs(args[0]))+".json"), []byte(ts.ReadFile(args[1])), 0o600))
}

// mode checks the permissions of a file.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has the permissions %s, not %s", args[0], got, args[1])
	}
}

// keyEnv sets a variable to the key that a file holds.
func keyEnv(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// idEnv sets a variable to the first word of the second line of what a command printed: the
// id of the first that a list has.
func idEnv(ts *testscript.TestScript, _ bool, args []string) {
	_, rows, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	id, _, _ := strings.Cut(rows, " ")
	ts.Setenv(args[0], id)
}

// patch prints the answer to PATCH url with a key and a body.
func patch(ts *testscript.TestScript, _ bool, args []string) {
	text, err := send(http.MethodPatch, args[0], args[2], []string{"Authorization:Bearer " + args[1]})
	prints(ts, text, err)
}

// poll prints what a browser with an SDK key is told, for a token of a context.
func poll(ts *testscript.TestScript, _ bool, args []string) {
	token := "e30"
	if len(args) > 2 {
		token = args[2]
	}
	text, err := fetch(args[0]+"/api/v2/configs/eval-with-context/"+token, basic(args[1]))
	prints(ts, text, err)
}

// reportTelemetry prints the answer to telemetry that an SDK key sends.
func reportTelemetry(ts *testscript.TestScript, _ bool, args []string) {
	text, err := send(http.MethodPost, args[0]+"/api/v1/telemetry/", ts.ReadFile(args[2]), basic(args[1]))
	prints(ts, text, err)
}

// mistakes writes a document with so many rules that are none, a line each.
func mistakes(ts *testscript.TestScript, _ bool, args []string) {
	var n int
	_, err := fmt.Sscan(args[1], &n)
	ts.Check(err)
	rules := strings.TrimSuffix(strings.Repeat("\n1,", n), ",")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(`{"key":"many","type":"feature_flag","valueType":"bool","default":{"rules":[`+rules+`]}}`), 0o666))
}

// fill writes a file of so many bytes.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	var size int
	_, err := fmt.Sscan(args[1], &size)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("x", size)), 0o666))
}

// TestVerifyFixesInItsTurn: others who write files of the directory are waited for, and
// who fixes nothing waits for nobody.
func TestVerifyFixesInItsTurn(t *testing.T) {
	dir := t.TempDir()
	const broken = `{"key": "another", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`
	path := filepath.Join(dir, "feature-flags", "a.json")
	must.Do(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(broken), 0o666)))
	lock := must.Get(datadir.Lock(t.Context(), dir))(t)
	defer lock.Close()
	in := Invocation{&cli.Caller{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}}
	for _, tt := range []struct {
		name  string
		flags verifyFlags
		held  bool
	}{
		{"a fix", verifyFlags{fix: true}, true},
		{"a dry run", verifyFlags{fix: true, dryRun: true}, false},
		{"a look", verifyFlags{}, false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := verify(ctx, in, dir, tt.flags); errors.Is(err, datadir.ErrHeld) != tt.held {
			t.Errorf("%s: %v", tt.name, err)
		}
		cancel()
	}
	if text, _ := os.ReadFile(path); string(text) != broken {
		t.Errorf("it is fixed out of turn: %s", text)
	}
}
