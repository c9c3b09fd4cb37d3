package browsertest

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

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
