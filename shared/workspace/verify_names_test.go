package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func TestMisspeltNames(t *testing.T) {
	rule := func(text string) string {
		return `{"key":"a","default":{"rules":[` + text + `]}}`
	}
	for text, want := range map[string]string{
		`{"key":"a","owner":"me","notes":{"vlaue":1}}`:                        "",
		`{"enviroments":[]}`:                                                  `/enviroments "enviroments" means nothing here; did you mean environments?`,
		`{"sendToClientSDK":true}`:                                            `/sendToClientSDK "sendToClientSDK" means nothing here; did you mean sendToClientSdk?`,
		`{"Key":"a","tag":[]}`:                                                `/Key "Key" means nothing here; did you mean key?|/tag "tag" means nothing here; did you mean tags?`,
		`{"default":{"rule":[]}}`:                                             `/default/rule "rule" means nothing here; did you mean rules?`,
		`{"environments":[{"id":"x","ruels":[]}]}`:                            `/environments/0/ruels "ruels" means nothing here; did you mean rules?`,
		`{"variants":[{"name":"x","valeu":{}}]}`:                              `/variants/0/valeu "valeu" means nothing here; did you mean value?`,
		rule(`{"citeria":[],"value":{}}`):                                     `/default/rules/0/citeria "citeria" means nothing here; did you mean criteria?`,
		rule(`{"criteria":[{"operater":"X","valueToMach":{"vale":1}}]}`):      `/default/rules/0/criteria/0/operater "operater" means nothing here; did you mean operator?|/default/rules/0/criteria/0/valueToMach "valueToMach" means nothing here; did you mean valueToMatch?`,
		rule(`{"value":{"type":"json","value":{"vlaue":1},"decriptWith":1}}`): `/default/rules/0/value/decriptWith "decriptWith" means nothing here; did you mean decryptWith?`,
		rule(`{"value":{"type":"weighted_values","value":{"weightedValue":[],"weightedValues":[{"wieght":1,"value":{"tpye":"x"}}]}}}`): `/default/rules/0/value/value/weightedValue "weightedValue" means nothing here; did you mean weightedValues?|` +
			`/default/rules/0/value/value/weightedValues/0/wieght "wieght" means nothing here; did you mean weight?|/default/rules/0/value/value/weightedValues/0/value/tpye "tpye" means nothing here; did you mean type?`,
		rule(`{"value":{},"confidential":true,"criteria":[{"decryptWith":"k","valueToMatch":{"confidential":true}}]}`): `/default/rules/0/confidential "confidential" protects nothing here; write it into the value, beside its type|` +
			`/default/rules/0/criteria/0/decryptWith "decryptWith" protects nothing here; write it into the value, beside its type`,
		`{"confidential":true,"variants":[{"confidential":true,"value":{}}]}`: `/confidential "confidential" protects nothing here; write it into the value, beside its type|` +
			`/variants/0/confidential "confidential" protects nothing here; write it into the value, beside its type`,
		rule(`{"value":{"type":"weighted_values","value":{"confidential":true,"weightedValues":[{"confidential":true,"weight":1}]}}}`): "", // errors, said elsewhere
		rule(`{"value":{"type":"provided","value":{"sorce":"ENV_VAR"}}}`):                                                              `/default/rules/0/value/value/sorce "sorce" means nothing here; did you mean source?`,
	} {
		tree, err := jsontree.Parse([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		if got := inLines(misspelt(tree, "", documentShape)); got != want {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
	}
	tree, _ := jsontree.Parse([]byte(`{"environment":[],"environments":["a",{"name":"b","protectd":true,"team":"x"}]}`))
	if got, want := inLines(misspelt(tree, "", fileShape)), `/environment "environment" means nothing here; did you mean environments?|/environments/1/protectd "protectd" means nothing here; did you mean protected?`; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func inLines(issues []document.Issue) string {
	var lines []string
	for _, i := range issues {
		lines = append(lines, fmt.Sprintf("%s %s", i.Pointer, i.Message))
	}
	return strings.Join(lines, "|")
}

// TestTheNamesAreTheSchemas: what editors propose is what is known here.
func TestTheNamesAreTheSchemas(t *testing.T) {
	tree := must.Get(jsontree.Parse(document.SchemaJSON()))(t)
	for at, known := range map[string]shape{
		"": documentShape, "/$defs/scope": documentShape["default"], "/$defs/rule": ruleShape, "/$defs/criterion": criterionShape,
		"/$defs/variant": documentShape["variants"],
	} {
		var properties []string
		for _, m := range tree.At(at + "/properties").Members {
			properties = append(properties, m.Name)
		}
		if got, want := slices.Sorted(slices.Values(properties)), slices.Sorted(maps.Keys(known)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, and %v is known", at, got, want)
		}
	}
	split := contentShapes[document.WeightedValue]
	for _, known := range []shape{documentShape["environments"], valueShape, split, split["weightedValues"], contentShapes[document.ProvidedValue]} {
		for name := range known {
			if !strings.Contains(string(document.SchemaJSON()), `"`+name+`"`) {
				t.Errorf("the schema does not know %s", name)
			}
		}
	}
}
