package document_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

func TestServesOne(t *testing.T) {
	const (
		all   = `"criteria":[{"operator":"ALWAYS_TRUE"}]`
		some  = `"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro"]}}]`
		on    = `"value":{"type":"int","value":1}`
		text  = `"value":{"type":"int","value":"1"}`
		off   = `"value":{"type":"int","value":0}`
		split = `"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"int","value":1},"weight":W},{"value":{"type":"int","value":0},"weight":50000}]}}`
	)
	whole, half := strings.ReplaceAll(strings.Replace(split, "W", "7", 1), "50000", "0"), strings.Replace(split, "W", "50000", 1)
	for _, c := range []struct {
		name, rules, production string // production "": no rules of its own
		want                    string
	}{
		{"one rule for all", `{` + all + `,` + on + `}`, "", "1"},
		{"written in two ways", `{` + some + `,` + on + `},{` + all + `,` + text + `}`, "", "1"},
		{"no rules", ``, "", ""},
		{"not for all", `{` + some + `,` + on + `}`, "", ""},
		{"two values", `{` + some + `,` + off + `},{` + all + `,` + on + `}`, "", ""},
		{"a rule that nobody reaches", `{` + all + `,` + on + `},{` + all + `,` + off + `}`, "", "1"},
		{"no criteria", `{"criteria":[],` + on + `},{` + all + `,` + off + `}`, "", "1"},
		{"a split", `{` + all + `,` + half + `}`, "", ""},
		{"a split that is over", `{` + all + `,` + whole + `}`, "", "1"},
		{"the same in production", `{` + all + `,` + on + `}`, `{` + all + `,` + on + `}`, "1"},
		{"another in production", `{` + all + `,` + on + `}`, `{` + all + `,` + off + `}`, ""},
		{"production goes on with the default rules", `{` + all + `,` + on + `}`, `{` + some + `,` + on + `}`, "1"},
		{"production has one more", `{` + all + `,` + on + `}`, `{` + some + `,` + off + `}`, ""},
		{"production has no rules", `{` + all + `,` + on + `}`, ` `, "1"},
	} {
		own := ""
		if c.production != "" {
			own = `,"environments":[{"id":"production","rules":[` + c.production + `]}]`
		}
		tree := must.Get(document.Parse([]byte(`{"key":"a","type":"feature_flag","valueType":"int","default":{"rules":[` + c.rules + `]}` + own + `}`)))(t)
		value, one := document.View(tree).ServesOne([]string{"production", "staging"})
		got := ""
		if one {
			got = string(value.Served().Compact())
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
