package document

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// join writes n parts with commas between them.
func join(n int, part func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = part(i)
	}
	return strings.Join(parts, ",")
}

// layered is a schema of definitions each of which leads to the next.
func layered(n int, level func(next string) string) string {
	return `{"$ref": "#/$defs/l0", "$defs": {` + join(n, func(i int) string {
		return fmt.Sprintf(`"l%d": %s`, i, level(fmt.Sprintf(`{"$ref": "#/$defs/l%d"}`, i+1)))
	}) + fmt.Sprintf(`, "l%d": {"type": "string", "minLength": 3}}}`, n)
}

func mustCompile(t *testing.T, text string) *Schema {
	t.Helper()
	schema, issues := CompileSchema(parse(t, text))
	if len(issues) > 0 {
		t.Fatalf("%q", lines(issues))
	}
	return schema
}

// TestALongTextIsNotReadForEachPart that it is held against, and what holds it
// against too many is refused: what is read of it counts.
func TestALongTextIsNotReadForEachPart(t *testing.T) {
	long := parse(t, `"`+strings.Repeat("\u00e9", 200_000)+`"`)
	for n, refused := range map[int]bool{100: false, 3200: true} {
		schema := mustCompile(t, `{"allOf": [`+join(n, func(int) string { return `{"$ref": "#/$defs/x"}` })+`], "$defs": {"x": {"maxLength": 500000}}}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := schema.Check(long)
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; (len(found) > 0) != refused || made > 200<<20 || refused && made > 5<<20 {
			t.Errorf("%d parts: %q, and %d bytes were made", n, lines(found), made)
		}
	}
}

// TestATextThatIsReadAsAnExpressionCounts: so it does where a schema asks for the
// format, which those of before 2019 do with effect.
func TestATextThatIsReadAsAnExpressionCounts(t *testing.T) {
	schema := mustCompile(t, `{"$schema": "http://json-schema.org/draft-07/schema#", "items": {"format": "regex"}}`)
	for _, tt := range []struct {
		n       int
		refused bool
	}{{20, false}, {400, true}, {20, false}} {
		found := schema.Check(parse(t, `[`+join(tt.n, func(i int) string {
			return fmt.Sprintf(`"%s%d"`, strings.Repeat(`\\pL`, 500), i)
		})+`]`))
		if (len(found) > 0) != tt.refused {
			t.Errorf("%d texts: %q", tt.n, lines(found))
		}
	}
}

func TestAKeywordsNumberIsOneThatCanBeCounted(t *testing.T) {
	for text, want := range map[string]string{
		`{"maxLength": 10000000000000000000}`:                            "/maxLength",
		`{"properties": {"a": {"minLength": 1e19}}}`:                     "/properties/a/minLength",
		`{"items": {"maxItems": 1e400}}`:                                 "/items/maxItems",
		`{"allOf": [{"minContains": 9223372036854775808}]}`:              "/allOf/0/minContains",
		`{"maxProperties": 9007199254740991}`:                            "",
		`{"properties": {"maxLength": {"const": 1e19}}}`:                 "",
		`{"const": {"maxLength": 1e19}, "maximum": 1e19}`:                "",
		`{"enum": [{"minItems": 1e400}], "default": {"maxItems": 1e19}}`: "",
	} {
		_, issues := CompileSchema(parse(t, text))
		got := ""
		if len(issues) > 0 {
			got = issues[0].Pointer
		}
		if got != want || len(issues) > 1 {
			t.Errorf("%s: %q", text, lines(issues))
		}
	}
}

// TestASchemaThatMultipliesIsRefused: by itself, and for every value.
func TestASchemaThatMultipliesIsRefused(t *testing.T) {
	const multiplies = "one value would be held against more than 10000 forms here: alternatives (anyOf, oneOf, allOf, if) that lead to each other multiply"
	for name, tt := range map[string]struct{ schema, want string }{
		"anyOf":   {layered(22, func(next string) string { return `{"anyOf": [` + next + "," + next + `]}` }), "/$defs/l10: " + multiplies},
		"allOf":   {layered(22, func(next string) string { return `{"allOf": [` + next + "," + next + `]}` }), "/$defs/l10: " + multiplies},
		"not, if": {layered(22, func(next string) string { return `{"not": ` + next + `, "if": ` + next + `}` }), "/$defs/l10: " + multiplies},
		"dependentSchemas, under not": {strings.Replace(layered(22, func(next string) string { // the library calls no vocabulary here
			return `{"dependentSchemas": {"a": ` + next + `, "b": ` + next + `}}`
		}), `{"$ref": "#/$defs/l0"`, `{"not": {"$ref": "#/$defs/l0"}`, 1), "/$defs/l10: " + multiplies},
		"$dynamicRef": {`{"$ref": "#/$defs/l0", "$defs": {` + join(22, func(i int) string {
			return fmt.Sprintf(`"l%d": {"$dynamicAnchor": "a%d", "anyOf": [{"$dynamicRef": "#a%d"}, {"$dynamicRef": "#a%d"}]}`, i, i, i+1, i+1)
		}) + `, "l22": {"$dynamicAnchor": "a22"}}}`, "/$defs/l10: " + multiplies},
		"circle":      {`{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}`, "the schema leads back to itself without going into the value"},
		"long chain":  {layered(400, func(next string) string { return next }), "more than 256 references and alternatives lead to one another here"},
		"wide enough": {`{"anyOf": [` + join(9_000, func(int) string { return `{"type": "string"}` }) + `]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			schema, issues := CompileSchema(parse(t, tt.schema))
			if schema == nil || len(issues) > 1 || tt.want == "" && len(issues) > 0 || tt.want != "" && (len(issues) == 0 || !strings.Contains(lines(issues)[0], tt.want)) {
				t.Fatalf("%q", lines(issues))
			}
			found := schema.Check(parse(t, `{"a": 1, "b": 2}`))
			if refused := len(found) == 1 && strings.HasPrefix(found[0].Message, "cannot be checked: "); refused != (tt.want != "") {
				t.Errorf("a value: %q", lines(found))
			}
		})
	}
}

// TestAValueThatTakesTooManyStepsIsRefused, where it is and without being
// looked at further.
func TestAValueThatTakesTooManyStepsIsRefused(t *testing.T) {
	const tooMuch = "takes more than 200000 steps to check: the schema asks for too much at "
	for name, tt := range map[string]struct{ schema, value, want string }{
		"alternatives on each level of the value": {
			`{"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}`, strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40),
			strings.Repeat("/0", 25)},
		"a large enum for many items": {`{"items": {"enum": [` + join(10_000, func(i int) string { return fmt.Sprint(i) }) + `]}}`,
			`[` + join(100, func(int) string { return "0.5" }) + `]`, tooMuch},
		"many missing members": {`{"items": {"required": [` + join(1000, func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}}`,
			`[` + join(300, func(int) string { return "{}" }) + `]`, tooMuch},
		"a large expression": {`{"items": {"pattern": "(x+x+){1,200}y"}}`, `[` + join(50, func(int) string { return `"` + strings.Repeat("x", 20_000) + `"` }) + `]`, tooMuch},
		"expressions of names": {`{"patternProperties": {` + join(200, func(i int) string { return fmt.Sprintf(`"(x+x+){1,20}%d": {}`, i) }) + `}}`,
			`{` + join(1000, func(i int) string { return fmt.Sprintf(`"%s%d": 1`, strings.Repeat("x", 100), i) }) + `}`, tooMuch},
		"items that must differ": {`{"uniqueItems": true}`, `[` + join(300_000, func(i int) string { return fmt.Sprint(i) }) + `]`, tooMuch},
		"a small enum of numbers for very many items": {`{"items": {"enum": [` + join(109, func(i int) string { return fmt.Sprint(i + 2) }) + `]}}`,
			`[` + join(6000, func(int) string { return "1" }) + `]`, tooMuch},
		"numbers that are far out": {`{"items": {"not": {"enum": [` + join(109, func(i int) string { return fmt.Sprintf("%de99", i+1) }) + `]}}}`,
			`[` + join(1000, func(int) string { return "1.5e-99" }) + `]`, tooMuch},
		"numbers in lists": {`{"items": {"not": {"enum": [` + join(109, func(i int) string { return "[" + strings.Repeat("1.5e-99,", 20) + fmt.Sprint(i) + "]" }) + `]}}}`,
			`[` + join(100, func(int) string { return "[" + strings.Repeat("1.5e-99,", 20) + "-1]" }) + `]`, tooMuch},
		"multiples of long numbers": {`{"items": {"allOf": [` + join(100, func(i int) string { return fmt.Sprintf(`{"multipleOf": 0.%s%d}`, strings.Repeat("7", 280), i+1) }) + `]}}`,
			`[` + join(900, func(int) string { return strings.Repeat("9", 290) + "e-99" }) + `]`, tooMuch},
		"far numbers that must differ": {`{"items": {"uniqueItems": true}}`, `[` + join(1000, func(int) string {
			return `[` + join(20, func(i int) string { return fmt.Sprintf("%d.5e-99", i) }) + `]`
		}) + `]`, tooMuch},
		"a few numbers for many items": {`{"items": {"enum": [1, 2, 3, 4, 5], "minimum": 1, "multipleOf": 1}}`, `[` + join(10_000, func(int) string { return "5" }) + `]`, ""},
		"names": {`{"propertyNames": {"anyOf": [` + join(300, func(int) string { return `{"minLength": 99}` }) + `]}}`,
			`{` + join(1000, func(i int) string { return fmt.Sprintf(`"n%d": 1`, i) }) + `}`, tooMuch},
		"what nobody has looked at": {`{"allOf": [` + join(100, func(int) string { return `{"properties": {"x": {}}}` }) + `], "unevaluatedProperties": false}`,
			`{` + join(10_000, func(i int) string { return fmt.Sprintf(`"n%d": 1`, i) }) + `}`, tooMuch},
		"an ordinary large value": {`{"items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}}`,
			`[` + join(20_000, func(i int) string { return fmt.Sprintf(`{"a": %d, "b": null}`, i) }) + `]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			schema, issues := CompileSchema(parse(t, tt.schema))
			if len(issues) > 0 {
				t.Fatalf("%q", lines(issues))
			}
			found := lines(schema.Check(parse(t, tt.value)))
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want) || !strings.Contains(found[0], tooMuch)) {
				t.Errorf("%.300q", found)
			}
		})
	}
}

// TestTheValuesOfADocumentShareABudget.
func TestTheValuesOfADocumentShareABudget(t *testing.T) {
	schema, _ := CompileSchema(parse(t, `{"items": {"type": "integer"}}`))
	value := parse(t, `[`+join(50_000, func(i int) string { return fmt.Sprint(i) })+`]`)
	var budget Budget
	for i := range 10 {
		found := schema.CheckWithin(&budget, value)
		if refused := len(found) > 0; refused != (i > 2) {
			t.Errorf("value %d, after %d steps: %q", i, budget.spent, lines(found))
		}
	}
}

func TestVeryManyViolationsAreOne(t *testing.T) {
	schema, _ := CompileSchema(parse(t, `{"items": {"type": "string"}}`))
	found := lines(schema.Check(parse(t, `[`+join(5_000, func(i int) string { return fmt.Sprint(i) })+`]`)))
	if !slices.Equal(found, []string{": does not fit the schema in more than 1000 places"}) {
		t.Errorf("%d: %.200q", len(found), found)
	}
}

// TestADocumentOfProblemsIsNotLookedAtTwice: a megabyte of it took 600 MB. What was
// found the first time is all counted.
func TestADocumentOfProblemsIsNotLookedAtTwice(t *testing.T) {
	tree := parse(t, `{"key": "x", "type": "feature_flag", "valueType": "bool", "default": {"rules": [`+join(20_000, func(int) string { return "{}" })+`]}}`)
	if issues := Validate(tree); len(issues) != 40_000 || issues[0].Pointer != "/default/rules/0/criteria" {
		t.Errorf("%d issues, the first %+v", len(issues), issues[0])
	}
}

// TestTheLibraryTakesNoMoreSteps than were worked out, whatever the schema and
// the value are; and nothing is begun that takes more than there may be.
func TestTheLibraryTakesNoMoreSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anySchema(t)
		tree, err := jsontree.Parse([]byte(text))
		if err != nil {
			t.Fatal(err, text)
		}
		value := must.Get(jsontree.Parse([]byte(anyValue(t, 6))))(t)
		schema, _ := CompileSchema(tree)
		if schema == nil || schema.refused != nil {
			return
		}
		var budget Budget
		if schema.graph.measure(value, &budget) != nil {
			return
		}
		made := 0
		for _, part := range schema.graph.all { // a format is looked at before what a part leads to, whatever comes of it
			part.Format = &jsonschema.Format{Validate: func(any) error { made++; return nil }}
		}
		_ = schema.compiled.Validate(plain(value))
		if made > budget.spent || budget.spent > 2*maxSteps {
			t.Fatalf("%d visits of %d steps\n%s", made, budget.spent, text)
		}
	})
}

// anySchema draws a schema whose parts lead to one another in every way.
func anySchema(t *rapid.T) string {
	const definitions = 5
	var part func(depth int) string
	part = func(depth int) string {
		next := func() string { return part(depth - 1) }
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "refer") == 0 {
			return rapid.SampledFrom([]string{`{}`, `true`, `{"type": "string"}`, `{"minLength": 2}`, `{"uniqueItems": true}`, `{"enum": [1, "a"]}`,
				`{"$ref": "#/$defs/d1"}`, `{"$ref": "#/$defs/d2"}`, `{"$ref": "#/$defs/d3"}`, `{"$dynamicRef": "#n"}`, `{"$ref": "#"}`}).Draw(t, "leaf")
		}
		var keywords []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"anyOf", "allOf", "oneOf", "not", "if", "properties", "additionalProperties", "patternProperties",
			"items", "prefixItems", "contains", "dependentSchemas", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}), 1, 3, rapid.ID).Draw(t, "keywords") {
			content := next()
			switch name {
			case "anyOf", "allOf", "oneOf", "prefixItems":
				content = "[" + content + "," + next() + "]"
			case "properties", "patternProperties", "dependentSchemas":
				content = `{"a": ` + content + `, "b": ` + next() + `}`
			}
			keywords = append(keywords, fmt.Sprintf("%q: %s", name, content))
		}
		return "{" + strings.Join(keywords, ", ") + "}"
	}
	defs := join(definitions, func(i int) string {
		text := part(2)
		if rest, isObject := strings.CutPrefix(text, "{"); isObject && rapid.Bool().Draw(t, "anchor") && i > 2 {
			text = strings.TrimSuffix(`{"$dynamicAnchor": "n", `+rest, ", }")
			if rest == "}" {
				text += "}"
			}
		}
		return fmt.Sprintf(`"d%d": %s`, i, text)
	})
	return `{"allOf": [` + part(3) + `], "$defs": {` + defs + `}}`
}

func anyValue(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"1", `"a"`, "null", "{}"}).Draw(t, "leaf")
	}
	n := rapid.IntRange(0, 3).Draw(t, "size")
	if rapid.Bool().Draw(t, "array") {
		return "[" + join(n, func(int) string { return anyValue(t, depth-1) }) + "]"
	}
	return "{" + join(n, func(i int) string { return fmt.Sprintf("%q: %s", "abc"[i:i+1], anyValue(t, depth-1)) }) + "}"
}

// TestAFormatIsCheckedByManyAtATime: a schema belongs to all requests.
func TestAFormatIsCheckedByManyAtATime(t *testing.T) {
	schema := mustCompile(t, `{"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "a+", "items": {"format": "regex"}}`)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			value := parse(t, fmt.Sprintf(`["a%d", "b%d", "(c%d"]`, i, i, i))
			if found := lines(schema.Check(value)); len(found) != 1 || !strings.Contains(found[0], "/2: expected a regular expression (RE2): missing closing )") {
				t.Errorf("%q", found)
			}
		})
	}
	all.Wait()
}

func addSeeds(f *testing.F) {
	for _, seed := range []string{threeRuleFlag, secretConfig, logLevels, betaUsers, `{}`, `[]`, `null`, `"x"`,
		`{"key":"k","type":"config","valueType":"int","default":{"rules":[{"criteria":[],"value":{"type":"int","value":1e999999999}}]}}`,
		ofType("json", `{"type":"json","value":"{\"a\":1}"}`),
		ofType("double", `{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"double","value":"1e5"},"weight":1.0}]}}`),
		`{"key":1,"type":null,"default":{"rules":{}},"environments":[1,{"id":2}],"variants":[{},1],"tags":[1]}`,
	} {
		f.Add([]byte(seed))
	}
}

func FuzzDecode(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := jsontree.Parse(text)
		if err != nil {
			return
		}
		doc, issues := Decode(tree)
		again := must.Get(jsontree.Parse(tree.Encode()))(t)
		twin, more := Decode(again)
		if !reflect.DeepEqual(issues, more) {
			t.Fatalf("%q became %q by being written and read", issues, more)
		}
		others := maps.Collect(twin.Values())
		for spot, value := range doc.Values() {
			if other := others[spot]; value.Type != other.Type || value.Served() != nil && !jsontree.Equal(value.Served(), other.Served()) {
				t.Fatalf("the value at %s changed by being written and read", spot.Pointer())
			}
		}
	})
}

func FuzzValidate(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if tree, err := jsontree.Parse(text); err == nil {
			holdValidate(t, tree)
		}
	})
}

func FuzzCompileSchema(f *testing.F) {
	for _, seed := range []string{`{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1e400}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#"}}}`, `{"$ref":"file:///etc/passwd"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","format":"date"}`,
		`{"pattern":"("}`, `{"type":"strin"}`, `true`, `{"multipleOf":1e-999999}`, `{"minLength":1e30}`, `{"$id":"urn:x","$dynamicRef":"#y","$anchor":"y"}`,
		`{"enum":[1e9999999,{"a":[]}],"uniqueItems":true,"contains":{"const":null},"unevaluatedProperties":false,"propertyNames":{"maxLength":2}}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":1e999999999,"abc":[1,1.0]}`))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		tree, err := jsontree.Parse(schema)
		if err != nil || len(schema) > 2000 {
			return
		}
		compiled, issues := CompileSchema(tree)
		if refused := compiled == nil || compiled.refused != nil; refused != (len(issues) > 0) {
			t.Fatalf("neither a schema nor a reason, or both: %q", issues)
		}
		if n, err := jsontree.Parse(value); err == nil && compiled != nil {
			var budget Budget
			compiled.CheckWithin(&budget, n)
			if budget.spent > 2*maxSteps {
				t.Fatalf("%d steps", budget.spent)
			}
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"P1DT2H3M4.5S", "PT1.5H", "P", "PT", "P36500D", "P36500DT0.000000001S", "PT99999999999999999999S"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		strict, err := duration(strictDuration, text)
		if err != nil {
			return
		}
		lenient, err := ReadDuration(text)
		if err != nil || strict != lenient || strict < 0 || strict > maxDuration {
			t.Fatalf("%q: %v, %v, %v", text, strict, lenient, err)
		}
	})
}
