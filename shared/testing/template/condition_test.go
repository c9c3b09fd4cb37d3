package template

import "testing"

func TestConditions(t *testing.T) {
	all, err := Read(write(t, `
Parameters: {A: {Type: String, Default: ''}, B: {Type: String, Default: b}}
Conditions:
  NoA: !Equals [!Ref A, '']
  IsB: !Equals [!Ref B, b]
  Both: !And [!Condition NoA, !Not [!Equals [!Ref B, '']]]
  Other: !Or [!Condition NoA, !Condition IsB]
  Lost: !Equals [!Ref C, '']
  Odd: !Equals [!Sub '${A}', '']
Resources: {}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		condition string
		values    map[string]string
		want      bool
	}{
		{"NoA", nil, true}, {"NoA", map[string]string{"A": "x"}, false},
		{"IsB", nil, true}, {"IsB", map[string]string{"B": "x"}, false},
		{"Both", nil, true}, {"Both", map[string]string{"A": "x"}, false}, {"Both", map[string]string{"B": ""}, false},
	} {
		if got, err := all.With(c.values).Holds(c.condition); err != nil || got != c.want {
			t.Errorf("%s with %v: %v, %v", c.condition, c.values, got, err)
		}
	}
	for _, name := range []string{"Other", "Lost", "Odd", "None"} {
		if holds, err := all.Holds(name); err == nil {
			t.Errorf("%s is understood: %v", name, holds)
		}
	}
	choice := map[string]any{"Fn::If": []any{"NoA", map[string]any{"Fn::If": []any{"IsB", "inner", 0}}, "outer"}}
	if got, err := all.Resolve(choice); err != nil || got != "inner" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := all.With(map[string]string{"A": "x"}).Resolve(choice); err != nil || got != "outer" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := all.Resolve(map[string]any{"Fn::If": []any{"NoA"}}); err == nil {
		t.Error("a choice of one")
	}
	if all.Parameters["A"].(map[string]any)["Default"] != "" {
		t.Error("With has changed the template itself")
	}
}
