package importer

import (
	"fmt"
	"strings"
	"testing"
)

// TestReferencesAreBounded: evaluators that refer to each other twice would double with
// each of them.
func TestReferencesAreBounded(t *testing.T) {
	var shared []string
	for i := range 22 {
		shared = append(shared, fmt.Sprintf(`"e%d": {"and": [{"$ref": "e%d"}, {"$ref": "e%d"}]}`, i, i+1, i+1))
	}
	shared = append(shared, `"e22": {"==": [{"var": "a"}, "b"]}`, `"circle": {"!": [{"$ref": "circle"}]}`)
	for _, c := range []struct{ targeting, want string }{
		{`{"if": [{"$ref": "e0"}, "on"]}`, "steps"},
		{`{"if": [{"$ref": "circle"}, "on"]}`, "in a circle"},
		{`{"if": [{"$ref": "none"}, "on"]}`, `there is no "none"`},
		{`{"if": [{"and": []}, "on"]}`, ""},
		{`{"if": []}`, ""},
		{`{"if": [{"if": []}, "on"]}`, ""},
		{`{"fractional": []}`, ""},
		{`{"<": []}`, "a property with a constant"},
		{`{"": ""}`, "no counterpart"},
		{`[]`, "no counterpart"},
		{`7`, `no variant "7"`},
	} {
		text := `{"flags": {"f": {"state": "ENABLED", "variants": {"on": 1, "off": 2.5}, "defaultVariant": "off", "targeting": ` + c.targeting + `}}, "$evaluators": {` + strings.Join(shared, ",") + `}}`
		r, err := Import("", []File{{Name: "f.json", Text: []byte(text)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Items[0].Reasons); c.want == "" && r.Items[0].Outcome == Refused || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v, want %q", c.targeting, got, c.want)
		}
	}
}
