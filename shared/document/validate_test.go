package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
)

const threeRuleFlag = `{
  "$schema": "https://svc.example/schemas/v1/stored-config.json",
  "key": "checkout.redesign",
  "type": "feature_flag",
  "valueType": "bool",
  "name": "Checkout redesign",
  "description": "The new checkout",
  "access": "standard",
  "tags": ["checkout", "web"],
  "readyForCleanup": false,
  "default": {
    "rules": [
      {
        "criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["pro", "team"]}}],
        "value": {"type": "bool", "value": true}
      },
      {
        "criteria": [
          {"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta-users"}},
          {"operator": "PROP_ENDS_WITH_ONE_OF", "propertyName": "user.email", "valueToMatch": {"type": "string_list", "value": ["@example.com"]}}
        ],
        "value": {
          "type": "weighted_values",
          "value": {
            "weightedValues": [
              {"value": {"type": "bool", "value": true}, "weight": 25000},
              {"value": {"type": "bool", "value": false}, "weight": 75000}
            ],
            "hashByPropertyName": "user.key"
          }
        }
      },
      {
        "criteria": [{"operator": "ALWAYS_TRUE"}],
        "value": {"type": "bool", "value": false}
      }
    ]
  },
  "environments": [{"id": "production", "rules": []}],
  "variants": [
    {"value": {"type": "bool", "value": false}},
    {"value": {"type": "bool", "value": true}}
  ]
}`

const secretConfig = `{
  "key": "payment.token", "type": "config", "valueType": "string", "sendToClientSdk": false, "schemaKey": "token",
  "default": {"rules": [
    {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "c1ph3r", "confidential": true, "decryptWith": "master.key"}}
  ]},
  "environments": [
    {"id": "staging", "rules": [
      {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "provided", "value": {"source": "ENV_VAR", "lookup": "TOKEN"}}}
    ]}
  ]
}`

const logLevels = `{
  "key": "log-level.cart", "type": "log_level", "valueType": "log_level",
  "default": {"rules": [
    {"criteria": [{"operator": "PROP_STARTS_WITH_ONE_OF", "propertyName": "svc-sdk-logging.key", "valueToMatch": {"type": "string_list", "value": ["com.acme.cart"]}}], "value": {"type": "log_level", "value": "DEBUG"}},
    {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "log_level", "value": "WARN"}}
  ]}
}`

const betaUsers = `{
  "key": "beta-users", "type": "segment", "valueType": "bool",
  "default": {"rules": [
    {"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.key", "valueToMatch": {"type": "string_list", "value": ["1"]}}], "value": {"type": "bool", "value": true}}
  ]}
}`

var parse = documents.Tree

// put replaces, adds or (with "") deletes what a pointer names.
func put(t testing.TB, tree *jsontree.Node, pointer, text string) *jsontree.Node {
	t.Helper()
	if pointer == "" {
		return parse(t, text)
	}
	slash := strings.LastIndex(pointer, "/")
	parent, name := tree.At(pointer[:slash]), pointer[slash+1:]
	if i, err := strconv.Atoi(name); err == nil && parent.Kind == jsontree.Array {
		parent.Items[i] = parse(t, text)
	} else if text == "" {
		parent.Delete(name)
	} else {
		parent.Set(name, parse(t, text))
	}
	return tree
}

func lines(issues []Issue) []string {
	var all []string
	for _, issue := range issues {
		all = append(all, issue.Pointer+": "+issue.Message)
	}
	return all
}

// ofType is a small document with one value.
func ofType(valueType, value string) string {
	return fmt.Sprintf(`{"key": "k", "type": "config", "valueType": %q, "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": %s}]}}`, valueType, value)
}

func TestValidateTakes(t *testing.T) {
	for name, text := range map[string]string{
		"flag":           threeRuleFlag,
		"config":         secretConfig,
		"log level":      logLevels,
		"segment":        betaUsers,
		"no rules":       `{"key": "k", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`,
		"unknown fields": `{"key": "k", "type": "feature_flag", "valueType": "bool", "default": {"rules": [], "note": 1}, "owner": {"team": null}}`,
		"empty lists of a segment": `{"key": "k", "type": "segment", "valueType": "bool", "default": {"rules": []},
			"environments": [], "variants": []}`,
		"as deep as may be": ofType("json", `{"type": "json", "value": `+strings.Repeat(`{"a":`, jsontree.MaxDepth-10)+`null`+strings.Repeat(`}`, jsontree.MaxDepth-10)+`}`),
		"longest key":       strings.Replace(betaUsers, "beta-users", strings.Repeat("k", 200), 1),
		"longest names": strings.Replace(strings.Replace(threeRuleFlag, `"key":`, `"id": "`+strings.Repeat("\u00e9", MaxName)+`", "key":`, 1),
			`"variants": [{`, `"variants": [{"name": "`+strings.Repeat("\u00e9", MaxName)+`", `, 1),
		"unknown operator":  strings.Replace(betaUsers, "PROP_IS_ONE_OF", "PROP_OF_LATER_DAYS", 1),
		"int":               ofType("int", `{"type": "int", "value": 9223372036854775807}`),
		"int as 1.0":        ofType("int", `{"type": "int", "value": 1.0}`),
		"int as a string":   ofType("int", `{"type": "int", "value": "-42"}`),
		"double":            ofType("double", `{"type": "double", "value": 1e-5}`),
		"double, string":    ofType("double", `{"type": "double", "value": "1.50e+3"}`),
		"json object":       ofType("json", `{"type": "json", "value": {"a": [null]}}`),
		"json null":         ofType("json", `{"type": "json", "value": null}`),
		"json string":       ofType("json", `{"type": "json", "value": "plain"}`),
		"json number text":  ofType("json", `{"type": "json", "value": "12"}`),
		"json almost JSON":  ofType("json", `{"type": "json", "value": "{name}"}`),
		"empty string list": ofType("string_list", `{"type": "string_list", "value": []}`),
		"duration":          ofType("duration", `{"type": "duration", "value": "P1DT2H3M4.123456789S"}`),
		"longest duration":  ofType("duration", `{"type": "duration", "value": "P36500D"}`),
		"legacy schema":     ofType("schema", `{"type": "schema", "value": {"schemaType": "ZOD"}}`),
		"encrypted int":     ofType("int", `{"type": "int", "value": "c1ph3r", "decryptWith": "k2"}`),
		"provided int":      ofType("int", `{"type": "provided", "value": {"source": "ENV_VAR", "lookup": "N"}}`),
		"weights of zero": ofType("int", `{"type": "weighted_values", "value": {"weightedValues": [
			{"value": {"type": "int", "value": 1}, "weight": 0}, {"value": {"type": "provided", "value": {"source": "ENV_VAR", "lookup": "N"}}, "weight": 1e2}]}}`),
		"operand of its own type": strings.Replace(betaUsers, `{"type": "string_list", "value": ["1"]}`, `{"type": "int_range", "value": {"start": 1, "end": 2}}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			tree := parse(t, text)
			if issues := Validate(tree); len(issues) > 0 {
				t.Errorf("%q", lines(issues))
			}
			if found := storedSchema().Check(tree); len(found) > 0 {
				t.Errorf("the schema alone says %q", lines(found))
			}
			if _, issues := Decode(tree); len(issues) > 0 {
				t.Errorf("Decode says %q", lines(issues))
			}
		})
	}
}

func TestValidateFinds(t *testing.T) {
	const rule = "/default/rules/0"
	for _, tt := range []struct {
		name, base, at, text string
		want                 []string
	}{
		{"no object", threeRuleFlag, "", `[1]`, []string{
			`: a document is a JSON object, not an array`}},
		{"nothing there", threeRuleFlag, "", `{}`, []string{
			`/default: default is missing: an object {"rules": [...]} with the default rules`,
			`/key: key is missing: a key is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot`,
			`/type: type is missing: one of feature_flag, config, log_level and segment`,
			`/valueType: valueType is missing: one of bool, string, int, double, json, string_list, duration, log_level and schema`}},
		{"key with a space", threeRuleFlag, "/key", `"a b"`, []string{
			`/key: a key is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot`}},
		{"key with a leading dot and too long", threeRuleFlag, "/key", `".` + strings.Repeat("k", 200) + `"`, []string{
			`/key: a key is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot`}},
		{"key of another type", threeRuleFlag, "/key", `7`, []string{`/key: key is a string, not a number`}},
		{"unknown type", threeRuleFlag, "/type", `"flag"`, []string{`/type: type is one of feature_flag, config, log_level and segment`}},
		{"unknown value type", threeRuleFlag, "/valueType", `"boolean"`, []string{
			`/valueType: valueType is one of bool, string, int, double, json, string_list, duration, log_level and schema`}},
		{"unknown access tier", threeRuleFlag, "/access", `"admin"`, []string{`/access: access is one of support, standard, protected-env and protected-all-envs`}},
		{"null for a string", threeRuleFlag, "/name", `null`, []string{`/name: name is a string`}},
		{"schema address", threeRuleFlag, "/$schema", `1`, []string{`/$schema: $schema is the address of this schema`}},
		{"old identifier", threeRuleFlag, "/id", `1`, []string{`/id: id is a string, not a number`}},
		{"long identifier", threeRuleFlag, "/id", `"` + strings.Repeat("\u00e9", MaxName+1) + `"`, []string{`/id: id is a string of at most 200 characters`}},
		{"long name of a variant", threeRuleFlag, "/variants/1/name", `"` + strings.Repeat("n", MaxName+1) + `"`, []string{
			`/variants/1/name: the name of a variant is a string of at most 200 characters`}},
		{"tags", threeRuleFlag, "/tags", `["a", 1, null]`, []string{
			`/tags/1: a tag is a string, not a number`, `/tags/2: a tag is a string, not null`}},
		{"tags that are no words", threeRuleFlag, "/tags", `["a", 1, "", " \u00a0", "x\ny", "\u0085", "a b"]`, []string{
			`/tags/1: a tag is a string, not a number`,
			`/tags/2: a tag is a word or more, without line breaks and other control characters`,
			`/tags/3: a tag is a word or more, without line breaks and other control characters`,
			`/tags/4: a tag is a word or more, without line breaks and other control characters`,
			`/tags/5: a tag is a word or more, without line breaks and other control characters`}},
		{"tags as a string", threeRuleFlag, "/tags", `"a,b"`, []string{`/tags: tags is an array, not a string`}},
		{"marker as a string", threeRuleFlag, "/readyForCleanup", `"yes"`, []string{`/readyForCleanup: readyForCleanup is a boolean, not a string`}},
		{"flag sent to clients", threeRuleFlag, "/sendToClientSdk", `false`, []string{
			`/sendToClientSdk: sendToClientSdk belongs to configs; a flag is always served, so leave it out`}},
		{"empty schemaKey", secretConfig, "/schemaKey", `""`, []string{`/schemaKey: schemaKey is the key of a JSON Schema of the workspace`}},
		{"log level key", logLevels, "/key", `"cart"`, []string{`/key: the key of a log level is log-level. followed by the name of a service`}},
		{"log level key without a name", logLevels, "/key", `"log-level."`, []string{`/key: the key of a log level is log-level. followed by the name of a service`}},
		{"log level of another value type", logLevels, "/valueType", `"string"`, []string{`/valueType: the valueType of a log level is log_level`}},
		{"no level", logLevels, rule + "/value/value", `"VERBOSE"`, []string{rule + `/value/value: a log level is one of TRACE, DEBUG, INFO, WARN, ERROR and FATAL`}},
		{"segment of another value type", betaUsers, "/valueType", `"string"`, []string{`/valueType: the valueType of a segment is bool`}},
		{"segment with environments", betaUsers, "/environments", `[{"id": "a", "rules": []}]`, []string{
			`/environments: a segment is the same in every environment: keep its rules in default and leave environments out`}},
		{"segment with variants", betaUsers, "/variants", `[{"value": {"type": "bool", "value": true}}]`, []string{
			`/variants: a segment has no variants; leave them out`}},
		{"default as a list", threeRuleFlag, "/default", `[]`, []string{`/default: the default scope is an object, not an array`}},
		{"default without rules", threeRuleFlag, "/default", `{}`, []string{`/default/rules: rules is missing: an array of {"criteria", "value"}`}},
		{"environment without a name", threeRuleFlag, "/environments/0", `{"rules": []}`, []string{`/environments/0/id: id is missing: the name of an environment`}},
		{"environment with an empty name", threeRuleFlag, "/environments/0/id", `""`, []string{`/environments/0/id: id is the name of an environment`}},
		{"environments as a map", threeRuleFlag, "/environments", `{"production": []}`, []string{`/environments: environments is an array, not an object`}},
		{"environments that are names", threeRuleFlag, "/environments", `["a", {"id": "b", "rules": [{"criteria": [], "value": {"type": "bool", "value": true}}]}]`, []string{
			`/environments/0: an entry of environments is an object, not a string`,
			`/environments/1/rules/0/criteria: a rule needs at least one criterion; for every context write [{"operator": "ALWAYS_TRUE"}]`}},
		{"rule as a string", threeRuleFlag, rule, `"on"`, []string{rule + `: a rule is an object, not a string`}},
		{"empty rule", threeRuleFlag, rule, `{}`, []string{
			rule + `/criteria: criteria is missing: a rule needs at least one criterion; for every context write [{"operator": "ALWAYS_TRUE"}]`,
			rule + `/value: value is missing: a rule serves a value, such as {"type": "bool", "value": true}`}},
		{"empty criteria", threeRuleFlag, rule + "/criteria", `[]`, []string{
			rule + `/criteria: a rule needs at least one criterion; for every context write [{"operator": "ALWAYS_TRUE"}]`}},
		{"criterion without operator", threeRuleFlag, rule + "/criteria/0/operator", ``, []string{
			rule + `/criteria/0/operator: operator is missing: operator names a test, such as ALWAYS_TRUE or PROP_IS_ONE_OF`}},
		{"empty operator", threeRuleFlag, rule + "/criteria/0/operator", `""`, []string{
			rule + `/criteria/0/operator: operator names a test, such as ALWAYS_TRUE or PROP_IS_ONE_OF`}},
		{"property as a list", threeRuleFlag, rule + "/criteria/0/propertyName", `["user.plan"]`, []string{
			rule + `/criteria/0/propertyName: propertyName is a string, not an array`}},
		{"bare value to match", threeRuleFlag, rule + "/criteria/0/valueToMatch", `"pro"`, []string{
			rule + `/criteria/0/valueToMatch: valueToMatch is an object, not a string`}},
		{"null value to match", threeRuleFlag, rule + "/criteria/0/valueToMatch", `null`, []string{
			rule + `/criteria/0/valueToMatch: valueToMatch is a value, such as {"type": "string_list", "value": ["pro"]}`}},
		{"value to match of the wrong content", threeRuleFlag, rule + "/criteria/0/valueToMatch/value", `"pro"`, []string{
			rule + `/criteria/0/valueToMatch/value: a string_list value is an array, not a string`}},
		{"weights to match", threeRuleFlag, rule + "/criteria/0/valueToMatch/type", `"weighted_values"`, []string{
			rule + `/criteria/0/valueToMatch/type: the type of a value to match is a string such as string_list; weighted_values may stand only as the value of a rule`}},
		{"bare value", threeRuleFlag, rule + "/value", `true`, []string{rule + `/value: a value is an object, not a boolean`}},
		{"value without a type", threeRuleFlag, rule + "/value/type", ``, []string{
			rule + `/value/type: type is missing: the type of a rule's value is the document's valueType, provided or weighted_values`}},
		{"value without content", threeRuleFlag, rule + "/value/value", ``, []string{rule + `/value/value: value is missing: a bool value is true or false`}},
		{"value of another type", threeRuleFlag, rule + "/value", `{"type": "string", "value": "on"}`, []string{
			rule + `/value/type: the type of this value is string, but the valueType of the document is bool`}},
		{"empty type, encrypted", threeRuleFlag, rule + "/value", `{"type": "", "value": "c1ph3r", "decryptWith": "k"}`, []string{
			rule + `/value/type: the type of a rule's value is the document's valueType, provided or weighted_values`}},
		{"bool as a string", threeRuleFlag, rule + "/value/value", `"true"`, []string{rule + `/value/value: a bool value is a boolean, not a string`}},
		{"confidential as a string", threeRuleFlag, rule + "/value/confidential", `"yes"`, []string{rule + `/value/confidential: confidential is a boolean, not a string`}},
		{"encrypted with nothing", threeRuleFlag, rule + "/value/decryptWith", `""`, []string{
			rule + `/value/decryptWith: decryptWith is the key of a config; leave it out when the value is not encrypted`}},
		{"encrypted but no ciphertext", threeRuleFlag, rule + "/value/decryptWith", `"k"`, []string{rule + `/value/value: ciphertext is a string, not a boolean`}},
		{"provided without lookup", secretConfig, "/environments/0/rules/0/value/value", `{"source": ""}`, []string{
			`/environments/0/rules/0/value/value/lookup: lookup is missing: the name to look up, such as the name of an environment variable`,
			`/environments/0/rules/0/value/value/source: source is the kind of place to look in, such as ENV_VAR`}},
		{"provided as a string", secretConfig, "/environments/0/rules/0/value/value", `"TOKEN"`, []string{
			`/environments/0/rules/0/value/value: a provided value (with source and lookup) is an object, not a string`}},
		{"no arms", threeRuleFlag, "/default/rules/1/value/value/weightedValues", `[]`, []string{
			`/default/rules/1/value/value/weightedValues: a split needs at least one arm`}},
		{"arms missing", threeRuleFlag, "/default/rules/1/value/value", `{}`, []string{
			`/default/rules/1/value/value/weightedValues: weightedValues is missing: a split needs at least one arm, as {"value", "weight"}`}},
		{"weights", threeRuleFlag, "/default/rules/1/value/value/weightedValues", `[
			{"value": {"type": "bool", "value": true}, "weight": 100001},
			{"value": {"type": "bool", "value": true}, "weight": -1},
			{"value": {"type": "bool", "value": true}, "weight": 0.5},
			{"value": {"type": "bool", "value": true}, "weight": "5"},
			{"value": {"type": "bool", "value": true}, "weight": 1e999999999},
			{"value": {"type": "bool", "value": true}}]`, []string{
			`/default/rules/1/value/value/weightedValues: no arm of this split has a weight, so the rule serves nothing; give one of them a weight`,
			`/default/rules/1/value/value/weightedValues/0/weight: a weight is a whole number from 0 to 100000 (thousandths of a percent)`,
			`/default/rules/1/value/value/weightedValues/1/weight: a weight is a whole number from 0 to 100000 (thousandths of a percent)`,
			`/default/rules/1/value/value/weightedValues/2/weight: a weight is a whole number from 0 to 100000 (thousandths of a percent)`,
			`/default/rules/1/value/value/weightedValues/3/weight: a weight is a whole number from 0 to 100000 (thousandths of a percent)`,
			`/default/rules/1/value/value/weightedValues/4/weight: a weight is a whole number from 0 to 100000 (thousandths of a percent)`,
			`/default/rules/1/value/value/weightedValues/5/weight: weight is missing: a weight is a whole number from 0 to 100000 (thousandths of a percent)`}},
		{"no weight", threeRuleFlag, "/default/rules/1/value/value/weightedValues", `[{"value": {"type": "bool", "value": true}, "weight": 0}, {"value": {"type": "bool", "value": false}, "weight": 0}]`, []string{
			`/default/rules/1/value/value/weightedValues: no arm of this split has a weight, so the rule serves nothing; give one of them a weight`}},
		{"arm of another type", threeRuleFlag, "/default/rules/1/value/value/weightedValues/0/value", `{"type": "int", "value": 1}`, []string{
			`/default/rules/1/value/value/weightedValues/0/value/type: the type of this value is int, but the valueType of the document is bool`}},
		{"split in a split", threeRuleFlag, "/default/rules/1/value/value/weightedValues/0/value", `{"type": "weighted_values", "value": {"weightedValues": []}}`, []string{
			`/default/rules/1/value/value/weightedValues/0/value/type: weighted_values may stand only as the value of a rule`}},
		{"a marker beside the weight", threeRuleFlag, "/default/rules/1/value/value/weightedValues/0", `{"value": {"type": "bool", "value": true}, "weight": 25000, "confidential": true, "decryptWith": "k"}`, []string{
			`/default/rules/1/value/value/weightedValues/0/confidential: confidential protects nothing beside weight; write it into the arm's value, beside its type`,
			`/default/rules/1/value/value/weightedValues/0/decryptWith: decryptWith protects nothing beside weight; write it into the arm's value, beside its type`}},
		{"a marker beside the arms", threeRuleFlag, "/default/rules/1/value/value/confidential", `false`, []string{
			`/default/rules/1/value/value/confidential: confidential protects nothing beside weightedValues; write it beside "type": "weighted_values", or into each arm's value`}},
		{"hash property", threeRuleFlag, "/default/rules/1/value/value/hashByPropertyName", `1`, []string{
			`/default/rules/1/value/value/hashByPropertyName: hashByPropertyName is a string, not a number`}},
		{"variant of another type", threeRuleFlag, "/variants/1", `{"value": {"type": "string", "value": "on"}}`, []string{
			`/variants/1/value/type: the type of this value is string, but the valueType of the document is bool`}},
		{"variant without a value", threeRuleFlag, "/variants/1", `{"name": "on"}`, []string{
			`/variants/1/value: value is missing: a variant has a value, such as {"type": "bool", "value": true}`}},
		{"split as a variant", threeRuleFlag, "/variants/1/value", `{"type": "weighted_values", "value": {}}`, []string{
			`/variants/1/value/type: weighted_values may stand only as the value of a rule`}},
		{"int beyond 64 bits", ofType("int", `{"type": "int", "value": 9223372036854775808}`), "/key", `"k"`, []string{
			rule + `/value/value: an int value is a whole number of at most 64 bits`}},
		{"int as words", ofType("int", `{"type": "int", "value": "many"}`), "/key", `"k"`, []string{
			rule + `/value/value: an int value stored as a string must read as a number`}},
		{"int in a padded string", ofType("int", `{"type": "int", "value": " 1 "}`), "/key", `"k"`, []string{
			rule + `/value/value: an int value is a whole number of at most 64 bits, as a number or as a string of digits`}},
		{"double beyond a float", ofType("double", `{"type": "double", "value": 1e400}`), "/key", `"k"`, []string{
			rule + `/value/value: a double value is beyond the range of a 64-bit float`}},
		{"string list", ofType("string_list", `{"type": "string_list", "value": ["a", 1, "b", null]}`), "/key", `"k"`, []string{
			rule + `/value/value/1: a string_list holds strings only, not a number`,
			rule + `/value/value/3: a string_list holds strings only, not null`}},
		{"json in a string", ofType("json", `{"type": "json", "value": " {\"a\": 1}"}`), "/key", `"k"`, []string{
			rule + `/value/value: a json value is native JSON: write the object or array itself, not a string that holds it`}},
		{"json with a number beyond a float", ofType("json", `{"type": "json", "value": {"a": [1, 1e308, {"b": -1e400}]}}`), "/key", `"k"`, []string{
			rule + `/value/value: a number in this value is beyond the range of a 64-bit float: many programs could read nothing of an answer with it`}},
		{"json missing", ofType("json", `{"type": "json"}`), "/key", `"k"`, []string{
			rule + `/value/value: value is missing: a json value is any JSON, written as it is`}},
		{"duration too long", ofType("duration", `{"type": "duration", "value": "P36501D"}`), "/key", `"k"`, []string{
			rule + `/value/value: a duration is at most P36500D`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := put(t, parse(t, tt.base), tt.at, tt.text)
			if got := lines(Validate(tree)); !slices.Equal(got, tt.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
		})
	}
}

// Messages end up in answers, logs and commits.
func TestValidateKeepsSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, value := range []string{
		`{"type": "int", "value": "hunter2", "confidential": true}`,
		`{"type": "duration", "value": "PThunter2S", "confidential": true}`,
		`{"type": "json", "value": "{\"p\": \"hunter2\"}", "confidential": true}`,
		`{"type": "log_level", "value": "hunter2", "confidential": true}`,
		`{"type": "string_list", "value": [{"hunter2": "hunter2"}], "confidential": true}`,
		`{"type": "string", "value": {"hunter2": 1}, "confidential": true}`,
		`{"type": "string", "value": ["hunter2"], "decryptWith": "k"}`,
		`{"type": "provided", "value": {"source": ["hunter2"], "lookup": {"hunter2": "hunter2"}}}`,
		`{"type": "double", "value": "hunter2", "decryptWith": ""}`,
	} {
		issues := Validate(parse(t, ofType("bool", value)))
		if len(issues) == 0 {
			t.Errorf("no issue in %s", value)
		}
		if said := fmt.Sprint(issues); strings.Contains(said, secret) {
			t.Errorf("%s: %s", value, said)
		}
	}
}

func TestDurations(t *testing.T) {
	const bad = -1
	for text, want := range map[string]struct{ strict, lenient time.Duration }{
		"PT30S":                            {30 * time.Second, 30 * time.Second},
		"PT5M":                             {5 * time.Minute, 5 * time.Minute},
		"PT1H30M":                          {90 * time.Minute, 90 * time.Minute},
		"P1DT6H":                           {30 * time.Hour, 30 * time.Hour},
		"P0D":                              {0, 0},
		"PT0.5S":                           {500 * time.Millisecond, 500 * time.Millisecond},
		"PT1.001S":                         {1001 * time.Millisecond, 1001 * time.Millisecond},
		"P1DT2H3M4.123456789S":             {26*time.Hour + 3*time.Minute + 4123456789, 26*time.Hour + 3*time.Minute + 4123456789},
		"P36500D":                          {36500 * 24 * time.Hour, 36500 * 24 * time.Hour},
		"P36499DT24H":                      {36500 * 24 * time.Hour, 36500 * 24 * time.Hour},
		"P00000000000000000000001D":        {24 * time.Hour, 24 * time.Hour},
		"PT1.5H":                           {bad, 90 * time.Minute},
		"PT0.5M":                           {bad, 30 * time.Second},
		"P0.5D":                            {bad, 12 * time.Hour},
		"PT1.1234567891S":                  {bad, 1123456789},
		"P36500DT0.000000001S":             {bad, bad},
		"P36501D":                          {bad, bad},
		"PT99999999999999999999S":          {bad, bad},
		"PT36028797018963968S":             {bad, bad}, // 2^55 s are 0 in 64 bits of nanoseconds
		"P36500DT876000H":                  {bad, bad},
		"PT3153600001S":                    {bad, bad},
		"":                                 {bad, bad},
		"P":                                {bad, bad},
		"PT":                               {bad, bad},
		"P1DT":                             {bad, bad},
		"P1H":                              {bad, bad},
		"P1W":                              {bad, bad},
		"P1Y":                              {bad, bad},
		"PT1M1H":                           {bad, bad},
		"-PT1S":                            {bad, bad},
		"PT-1S":                            {bad, bad},
		"PT1.S":                            {bad, bad},
		"PT.5S":                            {bad, bad},
		"PT1,5S":                           {bad, bad},
		"pt1s":                             {bad, bad},
		" PT1S":                            {bad, bad},
		"PT1S\n":                           {bad, bad},
		"PT1SPT1S":                         {bad, bad},
		"P\u0661D":                         {bad, bad},
		"5 minutes":                        {bad, bad},
		"P1D T1H":                          {bad, bad},
		"PT" + string(rune(0x1F600)) + "S": {bad, bad},
	} {
		check(t, "strict", text, want.strict, func(text string) (time.Duration, error) { return duration(strictDuration, text) })
		check(t, "ReadDuration", text, want.lenient, ReadDuration)
	}
}

func check(t *testing.T, name, text string, want time.Duration, read func(string) (time.Duration, error)) {
	t.Helper()
	got, err := read(text)
	if want < 0 && err == nil {
		t.Errorf("%s(%q) = %v, want a refusal", name, text, got)
	}
	if want >= 0 && (err != nil || got != want) {
		t.Errorf("%s(%q) = %v, %v, want %v", name, text, got, err, want)
	}
}
