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

// TestQueries: what cannot be read of a query of GO Feature Flag, and how much of one may
// be written.
func TestQueries(t *testing.T) {
	nested, long := strings.Repeat("(", 60)+`a eq "b"`+strings.Repeat(")", 60), `a eq "b"`+strings.Repeat(` and a eq "b"`, 2500)
	widening := `a eq "b"`
	for range 600 {
		widening += ` or a eq "b" and c eq "d"`
	}
	for _, c := range []struct{ query, want string }{
		{`a eq "b"`, ""},
		{"a eq \"b\" and\n  c pr", "cannot be read"}, // as GO Feature Flag takes the lines together
		{"a eq \"b\" \n  and c pr", ""},
		{``, "no comparison"},
		{`a`, "no comparison"},
		{`a is 3`, "no operator"},
		{`a eq`, "no operator"},
		{`a gt "b"`, "no counterpart"},
		{`a eq 1e3`, "cannot be read"},
		{`a eq 99999999999999999999`, "cannot be read"},
		{`a eq "b`, "no counterpart"},
		{`a eq "b" AND c pr`, "cannot be read"},
		{`(a eq "b"`, "not closed"},
		{`a.b.c eq 3`, "no property"},
		{`in eq 3`, "no property"},
		{`a in []`, "no list"},
		{`a in [1.5, 2]`, "no list"},
		{`{"==": [1, 1]}`, "JsonLogic"},
		{nested, "nests deeper"},
		{long, "more than 2000"},
		{widening, "500 rules"},
	} {
		text := fmt.Sprintf(`{"f": {"variations": {"on": 1, "off": 2}, "targeting": [{"query": %q, "variation": "on"}], "defaultRule": {"variation": "off"}}}`, c.query)
		r, err := Import("", []File{{Name: "f.json", Text: []byte(text)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Items[0].Reasons); c.want == "" && r.Items[0].Outcome == Refused || !strings.Contains(got, c.want) {
			t.Errorf("%.80s: %v, want %q", c.query, got, c.want)
		}
	}
}

// TestLeftOver: where a share is served a value and the others are served nothing, no split
// can say so.
func TestLeftOver(t *testing.T) {
	for _, text := range []string{
		`{"features": {"f": {"defaultValue": null, "rules": [{"force": true, "coverage": 0.5}]}}}`,
		`{"features": [{"name": "f", "enabled": true, "variants": [{"name": "a", "weight": 1000, "payload": {"type": "number", "value": "3"}}],
			"strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "50"}}]}]}`,
	} {
		r, err := Import("", []File{{Name: "f.json", Text: []byte(text)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Items[0].Reasons); r.Items[0].Outcome != Refused || !strings.Contains(got, "served nothing") {
			t.Errorf("%s: %v, %s", text, r.Items[0].Outcome, got)
		}
	}
}

// TestFliptInput: what is wrong in a file of Flipt is refused, with the reason.
func TestFliptInput(t *testing.T) {
	for _, c := range []struct{ flag, want string }{
		{`{"key": "f", "type": "BOOLEAN_FLAG_TYPE", "enabled": true}`, ""},
		{`{"key": "f", "enabled": true, "variants": [{"key": "a", "attachment": {"n": 1}}], "rules": [{"segment": "s", "distributions": [{"variant": "a", "rollout": 100}]}]}`, "attached"},
		{`{"key": "f", "enabled": true, "variants": [{"key": "a"}], "rules": [{"segments": ["s", "s"], "distributions": [{"variant": "a", "rollout": 50}]}]}`, "not 100%"},
		{`{"key": "f", "enabled": true, "variants": [{"key": "a"}], "rules": [{"segment": "s", "distributions": [{"variant": "b", "rollout": 100}]}]}`, "no variant"},
		{`{"key": "f", "enabled": true, "variants": [{"key": "a"}], "rules": [{"segment": {"key": "none"}}]}`, "no segment"},
		{`{"key": "f", "enabled": true, "variants": [{"key": "a"}], "rules": [{"segment": 7}]}`, "names no segment"},
		{`{"key": "f", "enabled": true, "type": "BOOLEAN_FLAG_TYPE", "rollouts": [{}]}`, "neither"},
		{`{"key": "f", "enabled": true, "type": "BOOLEAN_FLAG_TYPE", "rollouts": [{"segment": {"key": "odd", "value": true}}]}`, "no list"},
		{`{"key": "f", "enabled": "yes"}`, "a flag is an object"},
	} {
		text := `{"namespace": {"key": "default"}, "flags": [` + c.flag + `], "segments": [{"key": "s", "match_type": "ALL_MATCH_TYPE"},
			{"key": "odd", "constraints": [{"type": "STRING_COMPARISON_TYPE", "property": "p", "operator": "isoneof", "value": "x"}]}]}`
		r, err := Import("flipt", []File{{Name: "f.json", Text: []byte(text)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Items[0].Reasons); c.want == "" && r.Items[0].Outcome == Refused || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v, want %q", c.flag, got, c.want)
		}
	}
}

// FuzzImport: whatever a file holds, it is imported or refused, with a reason for each flag.
func FuzzImport(f *testing.F) {
	for _, text := range []string{
		`{"f": {"variations": {"a": 1}, "targeting": [{"query": "(a.b in [1, 2] or not (c pr)) and d ge 1.2.3", "percentage": {"a": 50}}], "defaultRule": {"variation": "a"}}}`,
		`{"features": [{"name": "f", "enabled": true, "variants": [{"name": "a", "weight": 1}], "strategies": [{"name": "flexibleRollout", "parameters": {"rollout": 50}, "segments": [1],
			"constraints": [{"contextName": "p", "operator": "NUM_GT", "value": "3", "inverted": true}]}]}], "segments": [{"id": 1}]}`,
		`{"namespace": "n", "flags": [{"key": "f", "enabled": true, "variants": [{"key": "a", "attachment": {}}], "rules": [{"segment": "s", "distributions": [{"variant": "a", "rollout": 100}]}],
			"rollouts": [{"threshold": {"percentage": 5}}]}], "segments": [{"key": "s", "constraints": [{"type": "NUMBER_COMPARISON_TYPE", "property": "p", "operator": "isoneof", "value": "[1]"}]}]}`,
		`{"flags": {"f": {"state": "ENABLED", "variants": {"on": 1}, "defaultVariant": "on", "targeting": {"if": [{"<": [1, {"var": "a"}, 3]}, "on"]}}}}`,
		`{"features": {"f": {"defaultValue": 1, "rules": [{"condition": {"$not": {"a": {"$in": [1]}}}, "force": 2, "coverage": 0.5}]}}}`,
		`{"flags": {"f": {"on": true, "variations": [1, 2], "fallthrough": {"variation": 1}, "rules": [{"variation": 0, "clauses": [{"attribute": "a", "op": "in", "values": [1]}]}]}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, from := range Systems() {
			r, err := Import(from, []File{{Name: "f.json", Text: text}}, nil)
			if err != nil {
				continue
			}
			for _, item := range r.Items {
				if item.Outcome != Imported && len(item.Reasons) == 0 {
					t.Errorf("%s: %s is %s for no reason", from, item.Key, item.Outcome)
				}
			}
		}
	})
}
