package workspace

import (
	"regexp"
	"strings"
	"testing"
)

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
