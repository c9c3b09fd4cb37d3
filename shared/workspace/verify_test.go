package workspace

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/testing/must"
)

// with is the sound workspace with some files changed; "" removes one.
func with(changes map[string]string) map[string][]byte {
	texts := sound()
	for path, text := range changes {
		if texts[path] = text; text == "" {
			delete(texts, path)
		}
	}
	return files(texts)
}

// flag is a flag with one rule that has one criterion.
func flag(key, criterion string) string {
	return fmt.Sprintf("{\n  \"key\": %q,\n  \"type\": \"feature_flag\",\n  \"valueType\": \"bool\",\n  \"default\": {\"rules\": [\n    {\"criteria\": [%s],\n     \"value\": {\"type\": \"bool\", \"value\": true}}]}\n}", key, criterion)
}

func config(key, valueType, schema string, values ...string) string {
	var rules []string
	for _, value := range values {
		rules = append(rules, `{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": `+value+`}`)
	}
	return fmt.Sprintf("{\"key\": %q, \"type\": \"config\", \"valueType\": %q, \"schemaKey\": %q, \"default\": {\"rules\": [\n%s]}}", key, valueType, schema, strings.Join(rules, ",\n"))
}

func TestVerifyTakesASoundWorkspace(t *testing.T) {
	_, problems := ReadAndVerify(with(nil))
	expect(t, problems)
}

// TestVerifyFinds what is wrong with a sound workspace of which some files are others, as
// testdata has them, each case as txtar. An empty one is missing.
func TestVerifyFinds(t *testing.T) {
	const f = "feature-flags/f.json"
	check := func(name string, changes map[string]string, want ...string) {
		t.Run(name, func(t *testing.T) {
			_, problems := ReadAndVerify(with(changes))
			// Many of these documents serve each of their values to everybody.
			problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Code == problem.UnreachableRule })
			expect(t, problems, want...)
		})
	}
	all := must.Get(os.ReadFile("testdata/problems.txt"))(t)
	for _, text := range strings.Split("\n"+strings.TrimSpace(string(all)), "\n=== ")[1:] {
		found := txtar.Parse([]byte(text))
		changes, want := map[string]string{}, []string(nil)
		for _, file := range found.Files {
			if changes[file.Name] = string(file.Data); file.Name == "want" {
				want = strings.FieldsFunc(changes["want"], func(r rune) bool { return r == '\n' })
				delete(changes, "want")
			}
		}
		check(strings.TrimSpace(string(found.Comment)), changes, want...)
	}
	check("byte order marks", map[string]string{f: "\xef\xbb\xbf" + flag("f", `{"operator": ""}`), "svc.json": "\xef\xbb\xbf" + declaration, "schemas/s.json": "\xef\xbb\xbf{}"},
		f+`:1:1: warning : begins with a byte order mark; save it as UTF-8 without one, other tools refuse it`,
		f+`:6:32: /default/rules/0/criteria/0/operator: operator names a test, such as ALWAYS_TRUE or PROP_IS_ONE_OF`,
		`schemas/s.json:1:1: warning : begins with a byte order mark; save it as UTF-8 without one, other tools refuse it`,
		`svc.json:1:1: warning : begins with a byte order mark; save it as UTF-8 without one, other tools refuse it`)
	check("lines of a file with CRLF", map[string]string{f: strings.ReplaceAll(flag("f", `{"operator": ""}`), "\n", "\r\n")},
		f+`:6:32: /default/rules/0/criteria/0/operator: operator names a test, such as ALWAYS_TRUE or PROP_IS_ONE_OF`)
}

// What a schema says of a secret must not give it away, nor the names in it.
func TestVerifyKeepsSecrets(t *testing.T) {
	_, problems := ReadAndVerify(with(map[string]string{
		"schemas/s.json": `{"const": 1, "type": "object", "additionalProperties": false}`,
		"configs/c.json": config("c", "json", "s",
			`{"type": "json", "value": {"hunter2": "hunter2"}, "confidential": true}`,
			`{"type": "json", "value": "hunter2", "decryptWith": "master.key"}`,
			`{"type": "provided", "value": {"source": "hunter2", "lookup": "hunter2"}}`),
		"feature-flags/f.json": flag("f", `{"operator": "PROP_MATCHES", "valueToMatch": {"type": "string", "value": "hunter2(", "confidential": true}},
			{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "hunter2", "confidential": true}},
			{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "hunter2", "decryptWith": "master.key"}}`),
	}))
	if len(problems) != 6 { // two of them unreachable rules
		t.Errorf("%d problems: %q", len(problems), said(problems))
	}
	if all := fmt.Sprint(problems); strings.Contains(all, "hunter2") {
		t.Error(all)
	}
}

func TestVerifyDoesNotTellEndlessly(t *testing.T) {
	_, problems := ReadAndVerify(with(map[string]string{
		"schemas/s.json": `{"items": {"type": "string"}}`,
		"configs/c.json": config("c", "json", "s", `{"type": "json", "value": [`+strings.Repeat("1,", 99)+`1]}`),
	}))
	if last := problems[0]; len(problems) != maxViolations+1 || last.Message != `violates the schema "s" in 80 more places` {
		t.Errorf("%d problems, %v", len(problems), last)
	}
}

func itemOf(t *testing.T, path, text string) Item {
	t.Helper()
	_, key, ok := SplitPath(path)
	tree, err := jsontree.Parse([]byte(text))
	if err != nil || !ok {
		t.Fatal(path, err)
	}
	return Item{Path: path, Key: key, View: document.View(tree), Tree: tree, Text: []byte(text)}
}

func TestVerification(t *testing.T) {
	ws := read(t, sound())
	for _, tt := range []struct {
		name, path, text string
		want             []string
	}{
		{"what stands there", "segments/beta.json", segment("beta", "staff"), nil},
		{"what is wrong by itself is not looked at", "feature-flags/f.json", flag("f", `{"operator": "LATER"}`), nil},
		{"a new segment that is in itself", "segments/new.json", segment("new", "new"), []string{
			"/default/rules/0/criteria/0/valueToMatch: the segments refer to each other in a circle: new -> new"}},
		{"a circle through the others", "segments/staff.json", segment("staff", "gone", "beta"), []string{
			`/default/rules/0/criteria/0/valueToMatch: there is no segment "gone"`,
			"/default/rules/1/criteria/0/valueToMatch: the segments refer to each other in a circle: staff -> beta -> staff"}},
		{"a circle taken apart", "segments/beta.json", segment("beta"), nil},
		{"a flag that has the name of a segment", "feature-flags/staff.json", flag("staff", `{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta"}}`), nil},
		{"several", "configs/c.json", `{"key": "c", "type": "config", "valueType": "string", "schemaKey": "gone", "environments": [{"id": "nope", "rules": []}],
			"default": {"rules": [{"criteria": [{"operator": "PROP_MATCHES", "propertyName": "a.b", "valueToMatch": {"type": "string", "value": "*"}}], "value": {"type": "string", "value": "x", "decryptWith": "nope"}}]}}`, []string{
			`/environments/0/id: the environment "nope" is not declared in svc.json; declared are: development, old, staging, production`,
			`/schemaKey: there is no schema "gone": it would be schemas/gone.json`,
			`/default/rules/0/value/decryptWith: there is no config "nope" to decrypt the value with`,
			`/default/rules/0/criteria/0/valueToMatch: the regular expression (RE2) does not compile: missing argument to repetition operator: "*"`}},
		{"a config that decrypts its own", "configs/self.json", config("self", "string", "limits", `{"type": "string", "value": "x", "decryptWith": "self"}`), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, issue := range NewVerification(ws).Of(itemOf(t, tt.path, tt.text)) {
				got = append(got, issue.Pointer+": "+issue.Message)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
		})
	}
}

func TestSchemaIssues(t *testing.T) {
	ws := read(t, sound())
	for text, want := range map[string]int{
		config("c", "json", "limits", `{"type": "json", "value": {"max": 10}}`):                              0,
		config("c", "json", "limits", `{"type": "json", "value": {"max": 11}}`):                              1,
		config("c", "json", "gone", `{"type": "json", "value": {"max": 11}}`):                                0,
		config("c", "json", "limits", `{"type": "json", "value": "x", "decryptWith": "master.key"}`):         0,
		strings.Replace(config("c", "json", "limits", `{"type": "json", "value": 1}`), "config", "other", 1): 0,
	} {
		if got := SchemaIssues(ws, itemOf(t, "configs/c.json", text), new(document.Allowance), everywhere); len(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestWindowsProblem(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "console": true, "com": true, "com10": true, "com1a": true, "lpt": true, "a.con": true, "nul-1": true, "a.b": true, ".": false,
		"con": false, "CON": false, "nul": false, "Nul.b": false, "aux.": false, "prn": false, "com1": false, "LPT9.x.y": false, "com¹": false,
		"a.": false, "a ": false, "a?b": false, "a\x01": false, `a\b`: false,
	} {
		if problem := windowsProblem(name); (problem == "") != ok {
			t.Errorf("windowsProblem(%q) = %q", name, problem)
		}
	}
}

// The operators that an editor proposes are those that are known here.
func TestOperatorsAreThoseOfTheSchema(t *testing.T) {
	tree := must.Get(jsontree.Parse(document.SchemaJSON()))(t)
	var proposed []string
	for _, n := range tree.At("/$defs/criterion/properties/operator/anyOf/0/enum").Items {
		name, _ := n.Text()
		proposed = append(proposed, name)
		if !evaluation.Known(name) {
			t.Errorf("%s is proposed and not known", name)
		}
	}
	if known := evaluation.Operators(); len(proposed) != len(known) || evaluation.Known("PROP_SOUNDS_LIKE") || evaluation.Known("") {
		t.Errorf("known %q, proposed %q", known, proposed)
	}
}

// TestRulesThatCannotDoWhatTheySay are told of: testdata has the criteria of rules, one rule
// in a line, and the code and the place of what is said, if anything is.
func TestRulesThatCannotDoWhatTheySay(t *testing.T) {
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/rules.txt"))(t))), "\n\n") {
		var rules, want, got []string
		for _, line := range strings.Split(block, "\n")[1:] {
			if strings.HasPrefix(line, "{") {
				rules = append(rules, `{"criteria":[`+line+`],"value":{"type":"bool","value":true}}`)
			} else {
				want = append(want, line)
			}
		}
		tree := must.Get(jsontree.Parse([]byte(`{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[` + strings.Join(rules, ",") + `]}}`)))(t)
		for _, issue := range Warnings(&Item{View: document.View(tree), Tree: tree}) {
			got = append(got, string(issue.Code)+" "+issue.Pointer)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n%q", block, got)
		}
	}
}

func TestValuesThatClientsReadAsOthers(t *testing.T) {
	for _, tt := range []struct {
		key, valueType, value, more string
		told                        bool
	}{
		{"f", "int", `9007199254740993`, "", true}, {"f", "int", `"-9007199254740993"`, "", true}, {"f", "int", `9007199254740991`, "", false},
		{"f", "double", `9007199254740993`, "", false}, {"f", "json", `{"ids":[1234567890123456789]}`, "", true}, {"f", "json", `{"ids":["1234567890123456789"]}`, "", false},
		{"f", "json", `null`, "", true}, {"f", "json", `{"a":null}`, "", false}, {"__proto__", "int", `1`, "", true},
		{"f", "int", `9007199254740993`, `"type":"config",`, false}, {"f", "int", `9007199254740993`, `"type":"config","sendToClientSdk":true,`, true},
	} {
		more := tt.more
		if more == "" {
			more = `"type":"feature_flag",`
		}
		tree := must.Get(jsontree.Parse([]byte(fmt.Sprintf(`{"key":%q,%s"valueType":%q,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":%q,"value":%s}}]}}`, tt.key, more, tt.valueType, tt.valueType, tt.value))))(t)
		if issues := Warnings(&Item{View: document.View(tree), Tree: tree}); (len(issues) > 0) != tt.told {
			t.Errorf("%+v: %v", tt, issues)
		}
	}
}

// TestALongTextIsCut wherever it stands in a file: a problem is a line that a
// person reads, on a terminal, in a log or as git's answer to a push.
func TestALongTextIsCut(t *testing.T) {
	files := map[string]string{
		File: `{"environments": ["staging", {"name": "production", "environmentType": "production"}], "secretReferences": "protected"}`,
		"schemas/limits.json": `{"type": "object", "properties": {"max": {"type": "integer", "enum": [3], "pattern": "x"}}, "required": ["max"],
			"additionalProperties": false, "$defs": {"a": {"$ref": "#/$defs/a"}}}`,
		"segments/beta.json": `{"key": "beta", "type": "segment", "valueType": "bool", "default": {"rules": [
			{"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta"}}], "value": {"type": "bool", "value": true}}]}}`,
		"configs/checkout.json": `{"key": "checkout", "type": "config", "valueType": "json", "schemaKey": "limits", "tags": ["a"], "default": {"rules": [
			{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "json", "value": {"max": 3}}}]},
			"variants": [{"name": "n", "value": {"type": "json", "value": {"max": 3}}}],
			"environments": [{"id": "staging", "rules": [
				{"criteria": [{"operator": "PROP_MATCHES", "propertyName": "user.plan", "valueToMatch": {"type": "string", "value": "a(b"}}],
				 "value": {"type": "provided", "value": {"source": "ENV_VAR", "lookup": "LIMITS"}}},
				{"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta"}}],
				 "value": {"type": "weighted_values", "value": {"hashByPropertyName": "user.key", "weightedValues": [
					{"weight": 1, "value": {"type": "json", "value": {"max": 3}}}]}}},
				{"criteria": [{"operator": "ALWAYS_TRUE"}],
				 "value": {"type": "json", "value": "abc", "confidential": true, "decryptWith": "secret"}}]}]}`,
	}
	long := `"` + strings.Repeat("long", 100_000) + `"`
	for path, text := range files {
		for _, at := range regexp.MustCompile(`"[^"]*"`).FindAllStringIndex(text, -1) {
			changed := map[string][]byte{}
			for p, text := range files {
				changed[p] = []byte(text)
			}
			changed[path] = []byte(text[:at[0]] + long + text[at[1]:])
			_, problems := ReadAndVerify(changed)
			for _, p := range problems {
				if len(p.Message) > 2000 || len(p.String()) > 4000 {
					t.Errorf("%s: %s made long: a message of %d bytes, a line of %d: %.120s",
						path, text[at[0]:at[1]], len(p.Message), len(p.String()), p.Message)
				}
			}
		}
	}
}
