package document

import (
	"fmt"
	"slices"
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func TestNewUses(t *testing.T) {
	const (
		old    = `{"type":"string","value":"b2xk","decryptWith":"k"}`
		other  = `{"type":"string","value":"b3RoZXI=","decryptWith":"k"}`
		second = `{"type":"string","value":"b2xk","decryptWith":"k2"}`
		lookup = `{"type":"provided","value":{"source":"ENV_VAR","lookup":"A"}}`
		same   = `{"value":{"lookup":"A","source":"ENV_VAR"},"type":"provided","confidential":true}`
		plain  = `{"type":"string","value":"x"}`
	)
	view := func(defaults, staging, variant string) *Document {
		rule := func(value string) string { return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}` }
		tree := must.Get(jsontree.Parse([]byte(fmt.Sprintf(`{"key":"c","type":"config","valueType":"string","default":{"rules":[%s]},"environments":[{"id":"staging","rules":[%s]}],"variants":[{"value":%s}]}`,
			rule(defaults), rule(staging), variant))))(t)
		doc, issues := Decode(tree)
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		return doc
	}
	inDefault := Use{DefaultScope, "/default/rules/0/value", "k"}
	inStaging := Use{"staging", "/environments/0/rules/0/value", "k"}
	asVariant := Use{DefaultScope, "/variants/0/value", "k"}
	read := Use{DefaultScope, "/default/rules/0/value", ""}
	for _, c := range []struct {
		name          string
		before, after *Document
		want          []Use
	}{
		{"a new document", nil, view(old, lookup, plain), []Use{inDefault, {"staging", inStaging.Pointer, ""}}},
		{"nothing", view(old, lookup, plain), view(old, lookup, plain), nil},
		{"another ciphertext", view(old, plain, plain), view(other, plain, plain), []Use{inDefault}},
		{"another key", view(old, plain, plain), view(second, plain, plain), []Use{{DefaultScope, inDefault.Pointer, "k2"}}},
		{"from default into an environment that it did not reach", view(old, plain, plain), view(old, old, plain), []Use{inStaging}},
		{"from default into the variants", view(old, plain, plain), view(old, plain, old), nil},
		{"from a variant into default", view(plain, plain, old), view(old, plain, old), []Use{inDefault}},
		{"from an environment into default", view(plain, old, plain), view(old, old, plain), []Use{inDefault}},
		{"from a variant into an environment", view(plain, plain, old), view(plain, old, plain), []Use{inStaging}},
		{"into an environment", view(plain, plain, plain), view(plain, old, plain), []Use{inStaging}},
		{"into a variant", view(plain, plain, plain), view(plain, plain, old), []Use{asVariant}},
		{"a lookup", view(plain, plain, plain), view(lookup, plain, plain), []Use{read}},
		{"a lookup in other words", view(lookup, plain, plain), view(same, plain, plain), nil},
		{"taken out", view(old, lookup, other), view(plain, plain, plain), nil},
	} {
		if got := NewUses(c.before, c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
