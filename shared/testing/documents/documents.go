// Package documents writes documents for tests, in short.
package documents

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// Tree parses a document.
func Tree(t testing.TB, text string) *jsontree.Node {
	t.Helper()
	tree, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return tree
}

// Files are those of a txtar archive, by path.
func Files(archive string) map[string]string {
	a, err := txtar.ParseFile(archive)
	if err != nil {
		panic(err) // it lies beside the tests
	}
	files := map[string]string{}
	for _, file := range a.Files {
		files[file.Name] = string(file.Data)
	}
	return files
}

// Wire is a value as the API writes it.
func Wire(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	must.Do(t, e.Encode(v))
	return string(bytes.TrimSpace(b.Bytes()))
}

// Flag is a flag whose default rules and environments are given.
func Flag(valueType, rules, rest string) string {
	return `{"key":"f","type":"feature_flag","valueType":"` + valueType + `","default":{"rules":[` + rules + `]}` + rest + `}`
}

// Rules as they are stored: who is served what.
const (
	ServesFalse = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}`
	ServesTrue  = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}`
	TargetsPro  = `{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro"]}}],"value":{"type":"bool","value":true}}`
	TargetsBeta = `{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"beta"}}],"value":{"type":"bool","value":true}}`
	Quarter     = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":true},"weight":25000},{"value":{"type":"bool","value":false},"weight":75000}],"hashByPropertyName":"team.key"}}}`
)

// Rollout is a fallback that splits between arms, sticky by a property.
func Rollout(arms, by string) string {
	return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"weightedValues":[` + arms + `],"hashByPropertyName":"` + by + `"}}}`
}

// LevelRules writes rules in short: "a,b=INFO" is a rule for two prefixes,
// "*=WARN" the catch-all, "?" a rule that is neither.
func LevelRules(short string) string {
	var rules []string
	for _, part := range strings.Fields(short) {
		name, level, _ := strings.Cut(part, "=")
		value := `"value":{"type":"log_level","value":"` + level + `"}`
		switch name {
		case "*":
			rules = append(rules, `{"criteria":[{"operator":"ALWAYS_TRUE"}],`+value+`}`)
		case "?":
			rules = append(rules, `{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"x"}}],"value":{"type":"log_level","value":"DEBUG"}}`)
		default:
			list := `["` + strings.ReplaceAll(name, ",", `","`) + `"]`
			rules = append(rules, `{"criteria":[{"operator":"PROP_STARTS_WITH_ONE_OF","propertyName":"svc-sdk-logging.key","valueToMatch":{"type":"string_list","value":`+list+`}}],`+value+`}`)
		}
	}
	return strings.Join(rules, ",")
}

// LevelDocument is a log level with such default rules and some environments.
func LevelDocument(rules, environments string) string {
	return `{"key":"log-level.shop","type":"log_level","valueType":"log_level","default":{"rules":[` + LevelRules(rules) + `]},"environments":[` + environments + `]}`
}
