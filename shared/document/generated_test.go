package document

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
)

type object = map[string]any

// drawDocument makes a document that keeps every rule.
func drawDocument(t *rapid.T) object {
	kind := rapid.SampledFrom([]Type{Flag, Config, LogLevel, Segment}).Draw(t, "type")
	key := rapid.StringMatching(`[A-Za-z0-9_-][A-Za-z0-9._-]{0,30}`).Draw(t, "key")
	valueType := rapid.SampledFrom([]ValueType{BoolValue, StringValue, IntValue, DoubleValue, JSONValue, StringListValue, DurationValue, LogLevelValue, SchemaValue}).Draw(t, "valueType")
	switch kind {
	case LogLevel:
		key, valueType = LogLevelPrefix+key, LogLevelValue
	case Segment:
		valueType = BoolValue
	}
	doc := object{"key": key, "type": kind, "valueType": valueType, "default": object{"rules": drawRules(t, valueType)}}
	perhaps(t, doc, "$schema", rapid.String().AsAny())
	perhaps(t, doc, "name", rapid.String().AsAny())
	perhaps(t, doc, "description", rapid.String().AsAny())
	perhaps(t, doc, "access", rapid.SampledFrom([]any{"support", "standard", "protected-env", "protected-all-envs"}))
	perhaps(t, doc, "tags", rapid.SliceOfN(rapid.StringMatching(`[^\s\pC\pZ]{1,9}`), 0, 3).AsAny())
	perhaps(t, doc, "readyForCleanup", rapid.Bool().AsAny())
	perhaps(t, doc, "somethingElse", rapid.SampledFrom([]any{nil, 1, "x", object{"a": nil}}))
	if kind == Config {
		perhaps(t, doc, "sendToClientSdk", rapid.Bool().AsAny())
		perhaps(t, doc, "schemaKey", rapid.StringMatching(`[a-z]{1,9}`).AsAny())
	}
	if kind == Segment {
		return doc
	}
	environments := []any{}
	for range rapid.IntRange(0, 2).Draw(t, "environments") {
		environments = append(environments, object{"id": rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "id"), "rules": drawRules(t, valueType)})
	}
	variants := []any{}
	for range rapid.IntRange(0, 2).Draw(t, "variants") {
		variant := object{"value": drawValue(t, valueType)}
		perhaps(t, variant, "name", rapid.String().AsAny())
		variants = append(variants, variant)
	}
	doc["environments"], doc["variants"] = environments, variants
	return doc
}

func perhaps(t *rapid.T, o object, name string, value *rapid.Generator[any]) {
	if rapid.Bool().Draw(t, "has "+name) {
		o[name] = value.Draw(t, name)
	}
}

func drawRules(t *rapid.T, valueType ValueType) []any {
	rules := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		criteria := []any{}
		for range rapid.IntRange(1, 2).Draw(t, "criteria") {
			criterion := object{"operator": rapid.SampledFrom([]string{"ALWAYS_TRUE", "PROP_IS_ONE_OF", "IN_SEG", "LATER"}).Draw(t, "operator")}
			perhaps(t, criterion, "propertyName", rapid.String().AsAny())
			if rapid.Bool().Draw(t, "has operand") {
				operand := rapid.SampledFrom([]ValueType{StringValue, StringListValue, IntValue, DoubleValue, DurationValue, "int_range"}).Draw(t, "operand")
				criterion["valueToMatch"] = drawValue(t, operand)
			}
			criteria = append(criteria, criterion)
		}
		rules = append(rules, object{"criteria": criteria, "value": drawRuleValue(t, valueType)})
	}
	return rules
}

func drawRuleValue(t *rapid.T, valueType ValueType) object {
	if rapid.IntRange(0, 3).Draw(t, "split") > 0 {
		return drawValue(t, valueType)
	}
	arms := []any{}
	least := 1 // of the first, so that one has a weight
	for range rapid.IntRange(1, 3).Draw(t, "arms") {
		arms = append(arms, object{"value": drawValue(t, valueType), "weight": rapid.IntRange(least, FullWeight).Draw(t, "weight")})
		least = 0
	}
	split := object{"weightedValues": arms}
	perhaps(t, split, "hashByPropertyName", rapid.String().AsAny())
	perhaps(t, split, "splitEvenly", rapid.Bool().AsAny())
	return object{"type": WeightedValue, "value": split}
}

func drawValue(t *rapid.T, valueType ValueType) object {
	value := object{"type": valueType}
	perhaps(t, value, "confidential", rapid.Bool().AsAny())
	switch rapid.IntRange(0, 7).Draw(t, "storage") {
	case 0:
		value["value"], value["decryptWith"] = rapid.String().Draw(t, "ciphertext"), "key"
	case 1:
		value["type"], value["value"] = ProvidedValue, object{"source": "ENV_VAR", "lookup": "NAME"}
	default:
		value["value"] = drawContent(t, valueType)
	}
	return value
}

func drawContent(t *rapid.T, valueType ValueType) any {
	switch valueType {
	case BoolValue:
		return rapid.Bool().Draw(t, "bool")
	case StringValue:
		return rapid.String().Draw(t, "string")
	case IntValue:
		return rapid.OneOf(rapid.Int64().AsAny(), rapid.StringMatching(`-?[1-9][0-9]{0,17}`).AsAny()).Draw(t, "int")
	case DoubleValue:
		return rapid.OneOf(rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`).AsAny()).Draw(t, "double")
	case StringListValue:
		return rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "list")
	case DurationValue:
		return rapid.StringMatching(`P([0-9]{1,4}D)?T([0-9]{1,3}H)?([0-9]{1,3}M)?[0-9]{1,4}(\.[0-9]{1,9})?S`).Draw(t, "duration")
	case LogLevelValue:
		return rapid.SampledFrom(Levels).Draw(t, "level")
	}
	return rapid.SampledFrom([]any{nil, true, 1.5, "text", []any{1, "a", nil}, object{"a": object{"b": []any{}}}}).Draw(t, "json")
}

func treeOf(t *rapid.T, doc object) *jsontree.Node {
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsontree.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestGeneratedDocumentsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := treeOf(t, drawDocument(t))
		if issues := Validate(tree); len(issues) > 0 {
			t.Fatalf("%q in %s", lines(issues), tree.Compact())
		}
		if found := storedSchema().Check(tree); len(found) > 0 {
			t.Fatalf("the schema says %q of %s", lines(found), tree.Compact())
		}
	})
}

// damage changes a few places of a document at random.
func damage(t *rapid.T, tree *jsontree.Node) {
	odd := []string{`null`, `true`, `0`, `-1`, `1.5`, `1e999999999`, `""`, `" 1 "`, `"x"`, `"bool"`, `"weighted_values"`, `"provided"`, `"log_level"`,
		`"segment"`, `"feature_flag"`, `"[1]"`, `"P1D"`, `"PT1.5H"`, `[]`, `[null]`, `{}`, `{"type": "int", "value": "x"}`}
	for range rapid.IntRange(1, 3).Draw(t, "damages") {
		var places []*jsontree.Node
		var walk func(n *jsontree.Node)
		walk = func(n *jsontree.Node) {
			places = append(places, n)
			for _, m := range n.Members {
				walk(m.Value)
			}
			for _, item := range n.Items {
				walk(item)
			}
		}
		walk(tree)
		place := rapid.SampledFrom(places).Draw(t, "place")
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
		tree := treeOf(t, drawDocument(t))
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
		parent := issue.Pointer[:max(0, strings.LastIndex(issue.Pointer, "/"))]
		if issue.Message == "" || tree.At(parent) == nil {
			t.Fatalf("%q points nowhere", lines([]Issue{issue}))
		}
	}
	if fresh := NewIssues(issues, issues); len(fresh) > 0 {
		t.Fatalf("new in the same document: %q", lines(fresh))
	}
}
