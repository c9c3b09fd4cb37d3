package document

import (
	"maps"
	"reflect"
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

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
			other := others[spot]
			if value.Type != other.Type || value.Served() != nil && !jsontree.Equal(value.Served(), other.Served()) {
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
