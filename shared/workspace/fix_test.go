package workspace_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"unicode/utf16"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// inUTF16 is a text as PowerShell writes it.
func inUTF16(text string, order binary.ByteOrder) string {
	units, _ := binary.Append(nil, order, utf16.Encode([]rune("\ufeff"+text)))
	return string(units)
}

var fixes = map[string]struct {
	path, text, want string
	codes            []problem.Code
}{
	"nothing to fix":       {"feature-flags/a.json", `{"key": "a", "type": "feature_flag"}`, `{"key": "a", "type": "feature_flag"}`, nil},
	"a byte order mark":    {"svc.json", "\ufeff{ }\r\n", "{ }\r\n", []problem.Code{problem.ByteOrderMark}},
	"two byte order marks": {"svc.json", "\ufeff\ufeff{}", "{}", []problem.Code{problem.ByteOrderMark}},
	"UTF-16": {"schemas/s.json", inUTF16("{\"ä\": \"😀\"}\r\n", binary.LittleEndian), "{\"ä\": \"😀\"}\r\n",
		[]problem.Code{problem.UTF16, problem.ByteOrderMark}},
	"UTF-16 the other way round, and a key": {"configs/c.json", inUTF16(`{"type": "config"}`, binary.BigEndian), `{"key": "c", "type": "config"}`,
		[]problem.Code{problem.UTF16, problem.ByteOrderMark, problem.MissingField}},
	"UTF-16 with half a character": {"configs/c.json", "\xff\xfe\x00\xd8", "\xff\xfe\x00\xd8", nil},
	"UTF-16 cut off":               {"configs/c.json", "\xff\xfe{", "\xff\xfe{", nil},
	"another key": {"feature-flags/a.json", "{\r\n\t\"x\": 1.0,\r\n\t\"key\" :\"b\\u0020\",\r\n\t\"type\": \"feature_flag\"}", "{\r\n\t\"x\": 1.0,\r\n\t\"key\" :\"a\",\r\n\t\"type\": \"feature_flag\"}",
		[]problem.Code{problem.KeyMismatch}},
	"all is missing": {"segments/s.json", "{\r\n    \"default\": {}\r\n}", "{\r\n    \"key\": \"s\",\r\n    \"type\": \"segment\",\r\n    \"valueType\": \"bool\",\r\n    \"default\": {}\r\n}",
		[]problem.Code{problem.MissingField, problem.MissingField, problem.MissingField}},
	"on one line":                                 {"log-levels/log-level.s.json", `{"default":{}}`, `{"key":"log-level.s","type":"log_level","valueType":"log_level","default":{}}`, []problem.Code{problem.MissingField, problem.MissingField, problem.MissingField}},
	"nothing at all":                              {"configs/c.json", "{\n}", "{\n}", nil},
	"an object on one line":                       {"configs/c.json", `{"type":"config"}`, `{"key":"c","type":"config"}`, []problem.Code{problem.MissingField}},
	"a file of flagd":                             {"feature-flags/flagd.json", "\ufeff" + `{"flags": {"a": {"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "on"}}}`, "\ufeff" + `{"flags": {"a": {"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "on"}}}`, nil},
	"a file with a key and no type":               {"feature-flags/a.json", `{"key": "b", "default": true}`, `{"key": "b", "default": true}`, nil},
	"a key that is no text is somebody's mistake": {"configs/c.json", `{"key": 5, "type": null}`, `{"key": 5, "type": null}`, nil},
	"a name that no key may have":                 {"configs/a b.json", `{"key": "ab", "type": "config"}`, `{"key": "ab", "type": "config"}`, nil},
	"the type of another folder":                  {"configs/c.json", `{"key": "c", "type": "segment"}`, `{"key": "c", "type": "segment"}`, nil},
	"environments in capitals":                    {"svc.json", `{"environments": ["QA", {"name": "Production"}, "Two", "two", "No Name"]}`, `{"environments": ["qa", {"name": "production"}, "Two", "two", "No Name"]}`, []problem.Code{problem.InvalidEnvironmentName, problem.InvalidEnvironmentName}},
	"rules of environments in capitals":           {"configs/c.json", `{"key": "c", "type": "config", "environments": [{"id": "Production"}, {"id": "QA"}, {"id": "qa"}, 5]}`, `{"key": "c", "type": "config", "environments": [{"id": "production"}, {"id": "QA"}, {"id": "qa"}, 5]}`, []problem.Code{problem.UnknownEnvironment}},
	"a flag for clients":                          {"feature-flags/a.json", `{"key": "a", "type": "feature_flag", "sendToClientSdk": true}`, `{"key": "a", "type": "feature_flag"}`, []problem.Code{problem.InvalidField}},
	"a flag that was not for clients":             {"feature-flags/a.json", `{"key": "a", "type": "feature_flag", "sendToClientSdk": false}`, `{"key": "a", "type": "feature_flag", "sendToClientSdk": false}`, nil},
	"a config for clients":                        {"configs/c.json", `{"key": "c", "type": "config", "sendToClientSdk": true}`, `{"key": "c", "type": "config", "sendToClientSdk": true}`, nil},
	"older names of the time": {"configs/c.json", `{"key": "c", "type": "config", "default": {"rules": [{"criteria": [{"propertyName": "quonfig.current-time"}]}]}, "environments": [{"rules": [7, {"criteria": [{}, {"propertyName": "prefab.current-time"}]}]}]}`,
		`{"key": "c", "type": "config", "default": {"rules": [{"criteria": [{"propertyName": "svc.current-time"}]}]}, "environments": [{"rules": [7, {"criteria": [{}, {"propertyName": "svc.current-time"}]}]}]}`, []problem.Code{problem.OlderTimeName, problem.OlderTimeName}},
	"no JSON":             {"configs/c.json", `{"key": "d",`, `{"key": "d",`, nil},
	"no object":           {"configs/c.json", `["key"]`, `["key"]`, nil},
	"a schema has no key": {"schemas/s.json", `{"key": "t"}`, `{"key": "t"}`, nil},
}

func TestFix(t *testing.T) {
	for name, test := range fixes {
		t.Run(name, func(t *testing.T) {
			fixed, fixes := workspace.Fix(test.path, []byte(test.text))
			var codes []problem.Code
			for _, issue := range fixes {
				codes = append(codes, issue.Code)
			}
			if string(fixed) != test.want || !slices.Equal(codes, test.codes) {
				t.Errorf("%q, %v\nwant %q, %v", fixed, fixes, test.want, test.codes)
			}
		})
	}
}

// FuzzFix: a fix changes no more than the members that it repairs, and leaves nothing
// to fix.
func FuzzFix(f *testing.F) {
	for _, test := range fixes {
		f.Add(test.path, []byte(test.text))
	}
	f.Fuzz(func(t *testing.T, path string, text []byte) {
		fixed, fixes := workspace.Fix(path, bytes.Clone(text))
		if len(fixes) == 0 && !bytes.Equal(fixed, text) {
			t.Fatalf("%q became %q, and no fix is reported", text, fixed)
		}
		if again, more := workspace.Fix(path, fixed); len(more) > 0 || !bytes.Equal(again, fixed) {
			t.Fatalf("%q is fixed again: %v", fixed, more)
		}
		if len(fixes) == 0 {
			return
		}
		before, err := jsontree.Parse(bytes.TrimPrefix(text, []byte("\ufeff")))
		if err != nil || before.Kind != jsontree.Object {
			return
		}
		after, err := jsontree.Parse(fixed)
		if err != nil {
			t.Fatalf("%q is no JSON: %v", fixed, err)
		}
		fixable := []string{"key", "type", "valueType", "sendToClientSdk", "default", "environments"}
		if !jsontree.Equal(before.Without(fixable...), after.Without(fixable...)) {
			t.Fatalf("%q became %q", text, fixed)
		}
	})
}
