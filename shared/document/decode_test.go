package document

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
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

// nestings are so many different arrays of arrays that hold nothing else, of n
// pairs of brackets each. The library's index takes them for the same.
func nestings(most, n int) []string {
	var found []string
	var walk func(text string, open, left int)
	walk = func(text string, open, left int) {
		switch {
		case len(found) == most:
		case left == 0 && open == 0:
			found = append(found, strings.ReplaceAll("["+text+"]", "][", "],["))
		default:
			if left > 0 {
				walk(text+"[", open+1, left-1)
			}
			if open > 0 {
				walk(text+"]", open-1, left)
			}
		}
	}
	walk("", 0, n)
	return found
}

func TestItemsThatCollideCount(t *testing.T) {
	distinct := func(n int, item string) string { // item has one %d
		return "[" + join(n, func(i int) string { return fmt.Sprintf(item, i) }) + "]"
	}
	for _, tt := range []struct {
		name, value string
		refused     bool
	}{
		{"nested arrays", "[" + strings.Join(nestings(6_500, 11), ",") + "]", true},
		{"a few nested arrays", "[" + strings.Join(nestings(100, 8), ",") + "]", false},
		{"texts that are split in two ways", distinct(20_000, `["a\u0004b%d","c"]`), false},
		{"the same again and again", "[" + join(6_000, func(int) string { return "[[],[[]]]" }) + "]", false},
		{"numbers", distinct(5_000, "%d"), false},
		{"numbers and their opposites", "[" + join(2_000, func(i int) string { return fmt.Sprintf("%d,-%d", i+1, i+1) }) + "]", false},
		{"objects", distinct(10_000, `{"id":%d,"name":"x"}`), false},
		{"lists", distinct(10_000, `["x",%d]`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value := parse(t, tt.value)
			found := mustCompile(t, `{"uniqueItems": true}`).Check(value)
			if refused := len(found) == 1 && strings.Contains(found[0].Message, "takes more than"); refused != tt.refused {
				t.Errorf("refused: %v, %q", refused, lines(found))
			}
		})
	}
}

// TestASchemaOfItemsThatCollide is refused before the library compares them all:
// with 40,000 of them that took a minute.
func TestASchemaOfItemsThatCollide(t *testing.T) {
	many := "[" + strings.Join(nestings(2_000, 11), ",") + "]"
	for _, text := range []string{
		`{"$schema": "http://json-schema.org/draft-07/schema#", "enum": ` + many + `}`,
		`{"required": ` + many + `}`,
		`{"properties": {"a": {"type": ` + many + `}}}`,
		`{"allOf": [{"dependentRequired": {"a": ` + many + `}}]}`,
	} {
		if _, issues := CompileSchema(parse(t, text)); len(issues) != 1 || !strings.Contains(issues[0].Message, "too many nested lists") {
			t.Errorf("%.60s: %d issues", text, len(issues))
		}
	}
	if _, issues := CompileSchema(parse(t, `{"enum": [`+strings.Join(nestings(100, 8), ",")+`]}`)); len(issues) > 0 {
		t.Errorf("%q", lines(issues))
	}
}

func issuesOf(all ...string) []Issue {
	var issues []Issue
	for _, line := range all {
		pointer, message, _ := strings.Cut(line, ": ")
		issues = append(issues, Issue{Pointer: pointer, Message: message})
	}
	return issues
}

func TestNewIssues(t *testing.T) {
	for _, tt := range []struct {
		name                string
		before, after, want []string
	}{
		{"nothing", nil, nil, nil},
		{"all new", nil, []string{"/key: bad"}, []string{"/key: bad"}},
		{"unchanged", []string{"/key: bad", "/default/rules/0/criteria: empty"}, []string{"/key: bad", "/default/rules/0/criteria: empty"}, nil},
		{"mended", []string{"/key: bad", "/access: bad"}, []string{"/key: bad"}, nil},
		{"another message at the same place", []string{"/key: bad"}, []string{"/key: worse"}, []string{"/key: worse"}},
		{"a rule came before it", []string{"/default/rules/0/criteria: empty"}, []string{"/default/rules/1/criteria: empty"}, nil},
		{"a rule before it went", []string{"/default/rules/3/criteria: empty"}, []string{"/default/rules/2/criteria: empty"}, nil},
		{"one more of the kind", []string{"/default/rules/1/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/default/rules/1/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty"}},
		{"an environment seeded from the default rules",
			[]string{"/default/rules/0/criteria: empty", "/default/rules/4/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/default/rules/4/criteria: empty", "/environments/2/rules/0/criteria: empty", "/environments/2/rules/4/criteria: empty"},
			nil},
		{"seeded, and one more",
			[]string{"/default/rules/0/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/environments/0/rules/0/criteria: empty", "/environments/0/rules/1/criteria: empty"},
			[]string{"/environments/0/rules/1/criteria: empty"}},
		{"no scope gets what two had together",
			[]string{"/default/rules/0/criteria: empty", "/environments/0/rules/0/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/environments/0/rules/0/criteria: empty", "/environments/0/rules/1/criteria: empty"},
			[]string{"/environments/0/rules/1/criteria: empty"}},
		{"another part of the rule", []string{"/default/rules/0/value/type: bad"}, []string{"/default/rules/0/criteria/0/valueToMatch/type: bad"},
			[]string{"/default/rules/0/criteria/0/valueToMatch/type: bad"}},
		{"outside the scopes no place is like another", []string{"/default/rules/0/value/type: bad"}, []string{"/variants/0/value/type: bad"}, []string{"/variants/0/value/type: bad"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewIssues(issuesOf(tt.before...), issuesOf(tt.after...)); !slices.Equal(got, issuesOf(tt.want...)) {
				t.Errorf("got %q, want %q", lines(got), tt.want)
			}
		})
	}
}

func TestComparePointers(t *testing.T) {
	sorted := []string{"", "/a", "/a/2", "/a/10", "/a/10/b", "/a/x", "/b"}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, comparePointers)
	if !slices.Equal(shuffled, sorted) {
		t.Errorf("%q", shuffled)
	}
}

// damage changes a few places of a document at random.
func damage(t *rapid.T, tree *jsontree.Node) {
	odd := []string{`null`, `true`, `0`, `-1`, `1.5`, `1e999999999`, `""`, `" 1 "`, `"x"`, `"bool"`, `"weighted_values"`, `"provided"`, `"log_level"`,
		`"segment"`, `"feature_flag"`, `"[1]"`, `"P1D"`, `"PT1.5H"`, `[]`, `[null]`, `{}`, `{"type": "int", "value": "x"}`}
	for range rapid.IntRange(1, 3).Draw(t, "damages") {
		place := rapid.SampledFrom(slices.Collect(tree.All())).Draw(t, "place")
		if len(place.Members) > 0 && rapid.Bool().Draw(t, "delete") {
			i := rapid.IntRange(0, len(place.Members)-1).Draw(t, "member")
			place.Delete(place.Members[i].Name)
			continue
		}
		if len(place.Members) > 0 && rapid.Bool().Draw(t, "add") {
			names := []string{"sendToClientSdk", "decryptWith", "confidential", "environments", "variants", "access", "schemaKey", "type", "id"}
			replacement, _ := jsontree.Parse([]byte(rapid.SampledFrom(odd).Draw(t, "added")))
			place.Set(rapid.SampledFrom(names).Draw(t, "name"), replacement)
			continue
		}
		replacement, _ := jsontree.Parse([]byte(rapid.SampledFrom(odd).Draw(t, "replacement")))
		*place = *replacement
	}
}

func TestDamagedDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := must.Get(jsontree.Parse([]byte(rapid.SampledFrom([]string{threeRuleFlag, secretConfig, logLevels, betaUsers}).Draw(t, "document"))))(t)
		damage(t, tree)
		holdValidate(t, tree)
	})
}

// holdValidate checks what must be true of any document at all.
func holdValidate(t interface {
	Helper()
	Fatalf(string, ...any)
}, tree *jsontree.Node) {
	t.Helper()
	_, decoding := Decode(tree)
	issues := Validate(tree)
	if len(issues) == 0 && len(decoding) > 0 {
		t.Fatalf("Validate takes what Decode refuses: %q", lines(decoding))
	}
	for _, found := range storedSchema().Check(tree) {
		object := found.Pointer[:max(0, strings.LastIndex(found.Pointer, "/"))] + "/"
		if !slices.ContainsFunc(issues, func(issue Issue) bool { return strings.HasPrefix(issue.Pointer+"/", object) }) {
			t.Fatalf("the schema refuses %+v, and Validate says %q", found, lines(issues))
		}
	}
	if !slices.Equal(issues, distinct(slices.Clone(issues))) {
		t.Fatalf("unordered or repeated: %q", lines(issues))
	}
	for _, issue := range issues {
		if parent := issue.Pointer[:max(0, strings.LastIndex(issue.Pointer, "/"))]; issue.Message == "" || tree.At(parent) == nil {
			t.Fatalf("%q points nowhere", lines([]Issue{issue}))
		}
	}
	if fresh := NewIssues(issues, issues); len(fresh) > 0 {
		t.Fatalf("new in the same document: %q", lines(fresh))
	}
}
