package command

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/testenv"
)

// aMistakeOfEach has a file for each rule that a small file can break.
const aMistakeOfEach = `
-- svc.json --
{"environments": ["development", "Old", {"name": "b", "protected": 1}]}
-- beside.json --
-- schema/s.json --
-- schemas/broken.json --
{"type": "nothing"}
-- schemas/small.json --
{"maximum": 1}
-- feature-flags/con.json --
{"key": "con", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}
-- feature-flags/syntax.json --
{
-- feature-flags/missing.json --
{"key": "missing"}
-- feature-flags/field.json --
{"key": "field", "type": "feature_flag", "valueType": "bool", "tags": "x", "default": {"rules": []}}
-- feature-flags/mismatch.json --
{"key": "another", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}
-- feature-flags/folder.json --
{"key": "folder", "type": "config", "valueType": "bool", "default": {"rules": []}}
-- feature-flags/types.json --
{"key": "types", "type": "feature_flag", "valueType": "bool", "default": {"rules": [
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "x"}}]}}
-- configs/value.json --
{"key": "value", "type": "config", "valueType": "duration", "default": {"rules": [
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "duration", "value": "soon"}}]}}
-- configs/secrets.json --
{"key": "secrets", "type": "config", "valueType": "string", "confidential": true, "default": {"rules": [
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "weighted_values", "value": {"confidential": true, "weightedValues": [
    {"weight": 1, "value": {"type": "string", "value": "a"}}]}}}]}}
-- feature-flags/expression.json --
{"key": "expression", "type": "feature_flag", "valueType": "bool", "default": {"rules": [
  {"criteria": [{"operator": "PROP_MATCHES", "propertyName": "user.key", "valueToMatch": {"type": "string", "value": "a("}}], "value": {"type": "bool", "value": true}}]}}
-- configs/twice.json --
{"key": "twice", "type": "config", "valueType": "bool", "default": {"rules": []}}
-- feature-flags/twice.json --
{"key": "twice", "type": "feature_flag", "valueType": "bool", "default": {"rules": []},
 "environments": [{"id": "development", "rules": []}, {"id": "development", "rules": []}, {"id": "nowhere", "rules": []}]}
-- feature-flags/segments.json --
{"key": "segments", "type": "feature_flag", "valueType": "bool", "default": {"rules": [
  {"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "gone"}}], "value": {"type": "bool", "value": true}}]}}
-- segments/round.json --
{"key": "round", "type": "segment", "valueType": "bool", "default": {"rules": [
  {"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "round"}}], "value": {"type": "bool", "value": true}}]}}
-- configs/references.json --
{"key": "references", "type": "config", "valueType": "string", "schemaKey": "gone", "default": {"rules": [
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "x", "decryptWith": "gone"}}]}}
-- configs/violation.json --
{"key": "violation", "type": "config", "valueType": "int", "schemaKey": "small", "default": {"rules": [
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": 2}}]}}
-- feature-flags/odd.json --
{"key": "odd", "type": "feature_flag", "valueType": "bool", "descripton": "", "default": {"rules": [
  {"criteria": [{"operator": "GUESS", "propertyName": "user.key"}], "value": {"type": "bool", "value": true}},
  {"criteria": [{"operator": "IS_PRESENT"}], "value": {"type": "bool", "value": true}},
  {"criteria": [{"operator": "PROP_GREATER_THAN", "propertyName": "user.age", "valueToMatch": {"type": "string", "value": "x"}}], "value": {"type": "bool", "value": true}}]},
 "variants": [{"value": {"type": "bool", "value": false}}]}
-- feature-flags/meaning.json --
{"key": "meaning", "type": "feature_flag", "valueType": "int", "default": {"rules": [
  {"criteria": [{"operator": "PROP_AFTER", "propertyName": "prefab.current-time", "valueToMatch": {"type": "int", "value": 1735689600}},
    {"operator": "IS_PRESENT", "propertyName": "user.key"}, {"operator": "IS_NOT_PRESENT", "propertyName": "user.key"}], "value": {"type": "int", "value": 9007199254740993}},
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": 1}},
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": 2}}]}}
-- configs/plain.json --
{"key": "plain", "type": "config", "valueType": "string", "default": {"rules": [
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "x", "confidential": true}}]},
 "variants": [{"value": {"type": "string", "value": "x"}}]}
-- configs/unbound.json --
{"key": "unbound", "type": "config", "valueType": "string", "default": {"rules": [
  {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "decryptWith": "value", "value": "UNBOUND"}}]}}
`

// TestEveryRuleHasACode: svc verify finds every rule of the table, under the severity
// that stands there, and nothing without a code.
func TestEveryRuleHasACode(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, []byte(text), 0o666))
	}
	for _, file := range txtar.Parse([]byte(aMistakeOfEach)).Files {
		write(file.Name, strings.ReplaceAll(string(file.Data), "UNBOUND", base64.StdEncoding.EncodeToString(make([]byte, 40))))
	}
	write("feature-flags/huge.json", strings.Repeat(" ", document.MaxSize+10))
	write("feature-flags/utf16.json", "\xff\xfe{\x00}\x00")
	write("feature-flags/marked.json", "\ufeff"+`{"key": "marked", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`)
	write("config", "") // as in a repository
	write(".svc-write.json", "[]")
	testenv.Program(t, "your system's package", "git")
	write(".git/HEAD", "ref: refs/heads/main\n")
	write(".git/objects/info/packs", "")
	write(".git/refs/heads/x", "")
	write(".gitattributes", "svc.json working-tree-encoding=UTF-16\n")
	must(t, os.Symlink("odd.json", filepath.Join(dir, "feature-flags", "linked.json")))
	for i := range 12 { // whose expressions each fit, and not all together
		rule := `{"criteria": [{"operator": "PROP_MATCHES", "propertyName": "user.key", "valueToMatch": {"type": "string", "value": "%d(a{1,400}){2}"}}], "value": {"type": "bool", "value": true}}`
		var rules []string
		for n := range 40 {
			rules = append(rules, fmt.Sprintf(rule, 100*i+n))
		}
		write(fmt.Sprintf("feature-flags/many%d.json", i), fmt.Sprintf(`{"key": "many%d", "type": "feature_flag", "valueType": "bool", "default": {"rules": [%s]}}`, i, strings.Join(rules, ",")))
	}

	found := map[problem.Code]string{}
	for _, dir := range []string{dir, empty} {
		var out bytes.Buffer
		Main(t.Context(), []string{"verify", "--json", dir}, cli.Caller{Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }, Workdir: dir})
		var v checked
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		for _, p := range v.Problems {
			rule, known := problem.Lookup(p.Code)
			if !known || rule.Warning != (p.Severity == "warning") {
				t.Errorf("%+v is not as the table of rules has it: %+v", p, rule)
			}
			found[p.Code] = p.Message
		}
	}
	for _, rule := range problem.Rules {
		if found[rule.Code] == "" {
			t.Errorf("nothing was found under %s", rule.Code)
		}
	}
}

// TestTheGuideListsTheRules: the guide has the table of rules as it is in the code.
func TestTheGuideListsTheRules(t *testing.T) {
	want := "| code | what is wrong | what to do |\n|---|---|---|\n"
	for _, rule := range problem.Rules {
		if want += fmt.Sprintf("| `%s` | ", rule.Code); rule.Warning {
			want += "warning: "
		}
		if want += rule.Found + " | " + rule.Remedy; rule.Fixed != "" {
			want += " `--fix` " + rule.Fixed + "."
		}
		want += " |\n"
	}
	if !strings.Contains(guides.Read(t, guideToReview), want) {
		t.Errorf("%s does not have this table:\n%s", guideToReview, want)
	}
}
