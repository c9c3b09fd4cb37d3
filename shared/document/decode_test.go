package document

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDecodeReadsTheView(t *testing.T) {
	doc, issues := Decode(parse(t, threeRuleFlag))
	if len(issues) > 0 {
		t.Fatalf("%q", lines(issues))
	}
	if doc.Key != "checkout.redesign" || doc.Type != Flag || doc.ValueType != BoolValue || doc.Name != "Checkout redesign" ||
		!slices.Equal(doc.Tags, []string{"checkout", "web"}) || len(doc.Default) != 3 || len(doc.Variants) != 2 {
		t.Errorf("%+v", doc)
	}
	split := doc.Default[1].Value.Weighted
	if split == nil || split.HashByProperty != "user.key" || len(split.Arms) != 2 || split.Arms[1].Weight != 75000 {
		t.Errorf("%+v", split)
	}
	if rules, own := doc.Own("production"); !own || len(rules) != 0 {
		t.Error("an environment with an empty rule list has an entry of its own")
	}
	if _, own := doc.Own("staging"); own {
		t.Error("staging has no entry")
	}
	if !doc.Default[len(doc.Default)-1].CatchAll() {
		t.Error("no fallback")
	}
}

// Old files are served as they are; only new content is held to the rules.
func TestDecodeReadsOldFiles(t *testing.T) {
	for name, text := range map[string]string{
		"null for left out":   `{"id": null, "key": "k", "type": "config", "valueType": "bool", "name": null, "tags": null, "default": {"rules": []}, "environments": null, "variants": null}`,
		"empty criteria":      strings.Replace(threeRuleFlag, `[{"operator": "ALWAYS_TRUE"}]`, `[]`, 1),
		"old duration":        ofType("duration", `{"type": "duration", "value": "PT1.5H"}`),
		"unknown value type":  ofType("bytes", `{"type": "bytes", "value": "AA=="}`),
		"unknown type":        strings.Replace(ofType("int", `{"type": "int", "value": "1"}`), `"config"`, `"schedule"`, 1),
		"mixed types":         ofType("bool", `{"type": "string", "value": "on"}`),
		"upper case":          strings.Replace(threeRuleFlag, `"id": "production"`, `"id": "Production"`, 1),
		"flag with the SDK":   strings.Replace(threeRuleFlag, `"readyForCleanup": false`, `"sendToClientSdk": true`, 1),
		"unknown access tier": strings.Replace(threeRuleFlag, `"standard"`, `"root"`, 1),
		"operand of any kind": strings.Replace(betaUsers, `{"type": "string_list", "value": ["1"]}`, `{"type": "string_list", "value": 1}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, issues := Decode(parse(t, text)); len(issues) > 0 {
				t.Errorf("%q", lines(issues))
			}
		})
	}
}

// TestALongNameCountsAsLeftOut where it would be served over and over.
func TestALongNameCountsAsLeftOut(t *testing.T) {
	for length, left := range map[int]bool{MaxName: false, MaxName + 1: true, 500_000: true} {
		name := `"` + strings.Repeat("\u00e9", length) + `"`
		doc, issues := Decode(put(t, put(t, parse(t, threeRuleFlag), "/id", name), "/variants/0/name", name))
		if len(issues) > 0 || (doc.ID == "") != left || (doc.Variants[0].Name == "") != left {
			t.Errorf("of %d characters: %d and %d bytes, %q", length, len(doc.ID), len(doc.Variants[0].Name), lines(issues))
		}
	}
}

func TestDecodeReportsEverythingAtOnce(t *testing.T) {
	doc, issues := Decode(parse(t, `{"key": 1, "valueType": "bool", "tags": ["a", 2],
		"default": {"rules": [1, {"criteria": {}, "value": {"type": "bool", "value": 1}}]},
		"environments": [3, {"id": "a", "rules": []}], "variants": [{}]}`))
	want := []string{
		"/key: key is a string, not a number",
		"/type: type is missing: one of feature_flag, config, log_level and segment",
		"/tags/1: a tag is a string, not a number",
		"/default/rules/0: a rule is an object, not a number",
		"/default/rules/1/criteria: criteria is an array, not an object",
		"/default/rules/1/value/value: a bool value is a boolean, not a number",
		"/environments/0: an entry of environments is an object, not a number",
		`/variants/0/value: value is missing: a variant has a value, such as {"type": "bool", "value": true}`,
	}
	if got := lines(issues); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if len(doc.Environments) != 2 || doc.Environments[1].ID != "a" {
		t.Errorf("the view's indexes are not the tree's: %+v", doc.Environments)
	}
}

// TestAMarkThatSaysNothingIsAnError wherever documents are read: what it was to
// hide would be served.
func TestAMarkThatSaysNothingIsAnError(t *testing.T) {
	for mark, want := range map[string]string{
		`"confidential": null`: "/default/rules/0/value/confidential: confidential is true or false, not null",
		`"decryptWith": null`:  "/default/rules/0/value/decryptWith: decryptWith is the key of a config; leave it out when the value is not encrypted",
		`"decryptWith": ""`:    "/default/rules/0/value/decryptWith: decryptWith is the key of a config; leave it out when the value is not encrypted",
		`"confidential": 1`:    "/default/rules/0/value/confidential: confidential is a boolean, not a number",
	} {
		_, issues := Decode(parse(t, ofType("string", `{"type": "string", "value": "a", `+mark+`}`)))
		if got := lines(issues); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", mark, got, want)
		}
	}
}

func TestServed(t *testing.T) {
	for value, want := range map[string]string{
		`{"type": "int", "value": 1.0}`:                        `1`,
		`{"type": "int", "value": 1e2}`:                        `100`,
		`{"type": "int", "value": " -2.50E1 "}`:                `-25`,
		`{"type": "int", "value": 1.5}`:                        `1.5`,
		`{"type": "int", "value": 1e30}`:                       `1e30`,
		`{"type": "int", "value": -0}`:                         `-0`,
		`{"type": "double", "value": 1e2}`:                     `1e2`,
		`{"type": "int", "value": "9007199254740993"}`:         `9007199254740993`,
		`{"type": "double", "value": " 1.50 "}`:                `1.50`,
		`{"type": "string", "value": "12"}`:                    `"12"`,
		`{"type": "int", "value": "ciph", "decryptWith": "k"}`: `"ciph"`,
		`{"type": "json", "value": [1]}`:                       `[1]`,
	} {
		doc := View(parse(t, ofType("int", value)))
		if got := string(doc.Default[0].Value.Served().Compact()); got != want {
			t.Errorf("%s is served as %s, want %s", value, got, want)
		}
	}
}

func TestSecret(t *testing.T) {
	for value, want := range map[string]bool{
		`{"type": "string", "value": "a"}`:                                       false,
		`{"type": "string", "value": "a", "confidential": true}`:                 true,
		`{"type": "string", "value": "a", "decryptWith": "k"}`:                   true,
		`{"type": "provided", "value": {"source": "ENV_VAR", "lookup": "NAME"}}`: true,
	} {
		if doc := View(parse(t, ofType("string", value))); doc.Default[0].Value.Secret() != want {
			t.Errorf("Secret of %s is not %v", value, want)
		}
	}
}

// A spot's pointer must lead to the very value or criterion it came with.
func TestSpotsLeadBack(t *testing.T) {
	for _, text := range []string{threeRuleFlag, secretConfig, logLevels, betaUsers} {
		tree := parse(t, text)
		doc := View(tree)
		values := 0
		for spot, value := range doc.Values() {
			values++
			if n := tree.At(spot.Pointer()); n == nil || n.Get("value") != value.Content {
				t.Errorf("%s does not lead back to its value", spot.Pointer())
			}
		}
		for spot, criterion := range doc.Criteria() {
			if got, _ := tree.At(spot.Pointer()).Get("operator").Text(); got != criterion.Operator {
				t.Errorf("%s does not lead back to its criterion", spot.Pointer())
			}
		}
		if values == 0 {
			t.Error("no values")
		}
	}
	for range View(parse(t, threeRuleFlag)).Values() {
		break // an iterator that goes on after its loop has ended panics
	}
}

func TestDecodeDoesNotChangeTheTree(t *testing.T) {
	tree := parse(t, threeRuleFlag)
	before := tree.Clone()
	Decode(tree)
	Validate(tree)
	if !reflect.DeepEqual(tree, before) {
		t.Error("the tree changed")
	}
}
