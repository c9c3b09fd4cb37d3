package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// webApp is a page with the web SDK and the OFREP provider.
type webApp struct{ tab }

func openWebApp(t *testing.T) webApp {
	t.Helper()
	browser(t)
	return webApp{openTab(t, bundleSite(t, testdata(t, "web-provider.js")).origin("localhost"))}
}

// start returns the code of the error that the provider failed with.
func (app webApp) start(t *testing.T, options, context map[string]any) string {
	t.Helper()
	return call[string](t, app.tab, `(options, context) => start(options, context)`, options, context)
}

func (app webApp) mustStart(t *testing.T, options, context map[string]any) {
	t.Helper()
	if code := app.start(t, options, context); code != "" {
		t.Fatalf("the provider failed: %s", code)
	}
}

func (app webApp) ask(t *testing.T, q ...question) []details {
	t.Helper()
	return call[[]details](t, app.tab, `(questions) => ask(questions)`, q)
}

func (app webApp) value(t *testing.T, q question) any {
	t.Helper()
	return app.ask(t, q)[0].Value
}

func (app webApp) waitForValue(t *testing.T, what string, q question, want any) {
	t.Helper()
	eventually(t, what, func() (any, bool) {
		got := app.value(t, q)
		return fmt.Sprintf("%s is %v", q.Key, got), got == want
	})
}

var (
	proOnly = question{"boolean", "pro.only", false}
	ratio   = question{"number", "ratio", 0}
)

func TestWebProviderReadsEveryType(t *testing.T) {
	t.Parallel()
	app := openWebApp(t)
	base := "http://127.0.0.1:" + serve(t, everyTypeDir(t))
	app.mustStart(t, map[string]any{"baseUrl": base}, member)
	checkAnswers(t, everyType, app.ask(t, questions(everyType)...))
	a := app.ask(t, noRuleMatches)[0]
	if a.Value != "default" || a.Variant != "default" || a.Reason != "UNKNOWN" || a.ErrorCode != "" {
		t.Errorf("no rule matches, and the answer is %+v", a)
	}
	app.log.waitForPreflight(t, base+"/ofrep/v1/evaluate/flags")
}

// question is what an application asks OpenFeature: a key, by the method of a
// type, with the default of the code.
type question struct {
	Type    string `json:"type"` // boolean, string, number or object
	Key     string `json:"key"`
	Default any    `json:"default"`
}

// details is what OpenFeature answers.
type details struct {
	FlagKey      string         `json:"flagKey"`
	Value        any            `json:"value"`
	Variant      string         `json:"variant"`
	Reason       string         `json:"reason"`
	ErrorCode    string         `json:"errorCode"`
	ErrorMessage string         `json:"errorMessage"`
	FlagMetadata map[string]any `json:"flagMetadata"`
}

// expectation is a question and the answer to it.
type expectation struct {
	question
	Value   any
	Variant string
	Reason  string
	Error   string
}

// member is the context that the expectations are for, and the flat one that
// an application sets.
var member = map[string]any{"targetingKey": "user-1", "user.plan": "pro", "user.logins": 12}

// everyType is a question of each type of value, and of each way in which
// there is none, as all providers answer it in the directory everyTypeDir.
var everyType = []expectation{
	{question{"boolean", "always", false}, true, "static", "STATIC", ""},
	{question{"boolean", "pro.only", false}, true, "on", "TARGETING_MATCH", ""},
	{question{"string", "greeting", "default"}, "hello, ünïcode", "static", "STATIC", ""},
	{question{"string", "headline", "default"}, "second", "split:1", "SPLIT", ""},
	{question{"string", "home", "default"}, "development", "targeting:0", "TARGETING_MATCH", ""},
	{question{"number", "limit", 0}, 42.0, "static", "STATIC", ""},
	{question{"number", "ratio", 0}, 0.5, "targeting:0", "TARGETING_MATCH", ""},
	{question{"number", "whole", 0}, 3.0, "static", "STATIC", ""},
	{question{"object", "settings", map[string]any{}}, map[string]any{"retries": 3.0, "hosts": []any{"a", "b"}, "nested": map[string]any{"deep": nil}}, "static", "STATIC", ""},
	{question{"object", "origins", []any{}}, []any{"https://a.example", "https://b.example"}, "static", "STATIC", ""},
	{question{"string", "timeout", "PT1S"}, "PT30S", "static", "STATIC", ""},

	{question{"boolean", "nobody.knows", true}, true, "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "server.only", "default"}, "default", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "unmarked", "default"}, "default", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "password", "default"}, "default", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"boolean", "staff", true}, true, "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"string", "log-level.app", "WARN"}, "WARN", "", "ERROR", "FLAG_NOT_FOUND"},
	{question{"boolean", "greeting", true}, true, "", "ERROR", "TYPE_MISMATCH"},
}

// noRuleMatches is a config of which no rule matches the context member.
var noRuleMatches = question{"string", "beta.only", "default"}

func questions(list []expectation) []question {
	var q []question
	for _, e := range list {
		q = append(q, e.question)
	}
	return q
}

func checkAnswers(t *testing.T, list []expectation, got []details) {
	t.Helper()
	if len(got) != len(list) {
		t.Fatalf("%d answers to %d questions", len(got), len(list))
	}
	for i, e := range list {
		a := got[i]
		if !reflect.DeepEqual(a.Value, e.Value) || a.Variant != e.Variant || a.Reason != e.Reason || a.ErrorCode != e.Error {
			t.Errorf("%s %s: got %+v, want %v by %s (%s) %s", e.Type, e.Key, a, e.Value, e.Variant, e.Reason, e.Error)
		}
		if e.Error == "" && (a.FlagMetadata["valueType"] == nil || a.FlagMetadata["configType"] == nil) {
			t.Errorf("%s: the metadata is %v", e.Key, a.FlagMetadata)
		}
	}
}

// serverProviders are OFREP's providers for servers.
var serverProviders = []struct {
	language string
	program  func(t *testing.T) *exec.Cmd
	integers bool // the language tells them from doubles
	// unmatched is the error that the provider makes of an answer without a value: its
	// application gets the default of its code all the same.
	unmatched string
}{
	{"Node.js", func(t *testing.T) *exec.Cmd { return node(t, testdata(t, "server-provider.js")) }, false, "GENERAL"},
	{"Python", python, true, ""},
	{"Java", java, true, "FLAG_NOT_FOUND"},
}

func python(t *testing.T) *exec.Cmd {
	interpreter := filepath.Join("python", ".venv", "bin", "python")
	testenv.File(t, "make tools, with Python 3 and venv", interpreter)
	return exec.Command(interpreter, filepath.Join("python", "provider.py"))
}

func java(t *testing.T) *exec.Cmd {
	testenv.File(t, "make tools, with Maven", filepath.Join("java", "lib", "installed"))
	testenv.Program(t, "on Debian, apt-get install default-jdk-headless", "javac")
	return exec.Command(testenv.Program(t, "on Debian, apt-get install default-jdk-headless", "java"),
		"-cp", filepath.Join("java", "lib", "*"), filepath.Join("java", "Provider.java"))
}

// numbers are doubles and ints in every way in which files spell them.
var numbers = []struct {
	key, valueType, content string
	want                    float64
}{
	{"double.digits", "double", `2`, 2}, {"double.zero", "double", `0`, 0}, {"double.text", "double", `"3"`, 3},
	{"double.negative", "double", `-4`, -4}, {"double.exponent", "double", `1e30`, 1e30}, {"double.large", "double", `9007199254740993`, 9007199254740992},
	{"int.fraction", "int", `1.0`, 1}, {"int.exponent", "int", `1e2`, 100}, {"int.text", "int", `"7"`, 7},
}

func TestServerProviders(t *testing.T) {
	t.Parallel()
	dir := everyTypeDir(t)
	expected := slices.Clone(everyType)
	for _, n := range numbers {
		write(t, dir, "feature-flags/"+n.key+".json", `{"key": "`+n.key+`", "type": "feature_flag", "valueType": "`+n.valueType+`", "default": {"rules": [
			{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "`+n.valueType+`", "value": `+n.content+`}}]}}`)
		method := map[string]string{"double": "double", "int": "integer"}[n.valueType]
		expected = append(expected, expectation{question{method, n.key, -1}, n.want, "static", "STATIC", ""})
	}
	const key = "dev-key"
	options := map[string]any{"baseUrl": "http://127.0.0.1:" + serve(t, dir, "--frontend-sdk-key", key)}
	for _, p := range serverProviders {
		t.Run(p.language, func(t *testing.T) {
			app, expected := startApp(t, p.program(t)), slices.Clone(expected)
			for i, e := range expected {
				switch numeric := e.Type == "number" || e.Type == "integer" || e.Type == "double"; {
				case numeric && !p.integers:
					expected[i].Type = "number"
				case e.Type == "number":
					expected[i].Type = map[string]string{"limit": "integer", "ratio": "double", "whole": "double"}[e.Key]
				}
			}
			known := maps.Clone(options)
			known["headers"] = map[string]string{"X-API-Key": key}
			checkAnswers(t, expected, app.ask(t, serverRequest{known, member, questions(expected)}))

			a := app.ask(t, serverRequest{nil, member, []question{noRuleMatches}})[0]
			wanted := details{FlagKey: noRuleMatches.Key, Value: "default", Variant: "default", Reason: "UNKNOWN"}
			if p.unmatched != "" {
				wanted.Variant, wanted.Reason, wanted.ErrorCode = "", "ERROR", p.unmatched
			}
			if a.Value != wanted.Value || a.Variant != wanted.Variant || a.Reason != wanted.Reason || a.ErrorCode != wanted.ErrorCode {
				t.Errorf("no rule matches, and the answer is %+v, want %+v", a, wanted)
			}
			refused := expectation{proOnly, false, "", "ERROR", "GENERAL"}
			checkAnswers(t, []expectation{refused}, app.ask(t, serverRequest{options, member, []question{proOnly}}))
		})
	}
}

// serverApp is a program with a server SDK and its OFREP provider.
type serverApp struct {
	requests *json.Encoder
	answers  *json.Decoder
}

func startApp(t *testing.T, cmd *exec.Cmd) serverApp {
	t.Helper()
	return startAppFor(t, cmd, 3*patience)
}

// startAppFor starts a program that is ended after so long, as it hangs by then.
func startAppFor(t *testing.T, cmd *exec.Cmd, most time.Duration) serverApp {
	t.Helper()
	cmd.Stderr = t.Output()
	stdin := must.Get(cmd.StdinPipe())(t)
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	hung := time.AfterFunc(most, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		stdin.Close() // which ends the program
		io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", cmd.Path, err)
		}
		hung.Stop()
	})
	return serverApp{json.NewEncoder(stdin), json.NewDecoder(stdout)}
}

// serverRequest is a line to the program: the options of a new provider, if
// any, and the questions.
type serverRequest struct {
	Options   map[string]any `json:"options,omitempty"`
	Context   map[string]any `json:"context,omitempty"`
	Questions []question     `json:"questions"`
}

func (app serverApp) ask(t *testing.T, r serverRequest) []details {
	t.Helper()
	if err := app.requests.Encode(r); err != nil {
		t.Fatalf("asking the program: %v", err)
	}
	var answers []details
	if err := app.answers.Decode(&answers); err != nil {
		t.Fatalf("the program's answer: %v", err)
	}
	return answers
}

// everyTypeDir is a copy of a config directory with a value of every type.
func everyTypeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS("testdata/every-type")))
	return dir
}

func write(t *testing.T, datadir, path, content string) {
	t.Helper()
	file := filepath.Join(datadir, filepath.FromSlash(path))
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(t, os.WriteFile(file, []byte(content), 0o644))
}

// edit replaces a text, which must be there, where it stands first in a file
// of a datadir.
func edit(t *testing.T, datadir, path, old, new string) {
	t.Helper()
	content := readFile(t, filepath.Join(datadir, filepath.FromSlash(path)))
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s does not hold %q", path, old)
	}
	write(t, datadir, path, strings.Replace(string(content), old, new, 1))
}

// switchOff makes new-checkout of the sample directory false, where it is true
// for a developer.
func switchOff(t *testing.T, datadir string) {
	t.Helper()
	edit(t, datadir, "feature-flags/new-checkout.json", `"value": true`, `"value": false`)
}
