package edit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

func TestPercents(t *testing.T) {
	for literal, want := range map[string]int64{
		"0": 0, "-0": 0, "0.000": 0, "100": 100000, "100.0000": 100000, "1e2": 100000, "25": 25000,
		"33.333": 33333, "0.001": 1, "1e-3": 1, "12.5": 12500, "12.50": 12500, "99.999": 99999,
	} {
		if got, problem := parsePercent(literal); got != want || problem != "" {
			t.Errorf("parsePercent(%s) = %d, %q; want %d", literal, got, problem, want)
		}
	}
	for literal, want := range map[string]string{
		"-1": "0 to 100", "-0.001": "0 to 100", "100.001": "0 to 100", "101": "0 to 100", "1e400": "0 to 100",
		"1e999999999": "0 to 100", "33.3333": "3 decimals", "0.0001": "3 decimals", "1e-400": "3 decimals",
		"100.0001": "0 to 100", "99.99999999999999999999": "3 decimals",
	} {
		if got, problem := parsePercent(literal); !strings.Contains(problem, want) {
			t.Errorf("parsePercent(%s) = %d, %q; want …%s…", literal, got, problem, want)
		}
	}
}

func FuzzPercent(f *testing.F) {
	for _, seed := range []string{"0", "33.333", "100", "1e2", "-0", "99.9999", "1e-400"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		n, err := jsontree.Parse([]byte(literal))
		if err != nil || n.Kind != jsontree.Number {
			return
		}
		weight, problem := parsePercent(n.Literal())
		if problem != "" {
			return
		}
		if weight < 0 || weight > document.FullWeight {
			t.Fatalf("%s: weight %d", literal, weight)
		}
		// What is said of the weight is the number that was sent.
		if said := documents.Tree(t, document.PercentText(weight)); !jsontree.Equal(said, n) {
			t.Fatalf("%s became %s", literal, document.PercentText(weight))
		}
	})
}

func TestRollouts(t *testing.T) {
	const variants = `,"variants":[{"value":{"type":"string","value":"a"}},{"value":{"type":"string","value":"b"}},{"value":{"type":"string","value":"c","confidential":true}}]`
	arm := func(value, weight string) string { return `{"value":` + value + `,"weight":` + weight + `}` }
	const a, b, c = `{"type":"string","value":"a"}`, `{"type":"string","value":"b"}`, `{"type":"string","value":"c","confidential":true}`
	const yes, no = `{"type":"bool","value":true}`, `{"type":"bool","value":false}`
	secret := `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"abc","decryptWith":"k","confidential":true,"note":1.0}}`
	for _, tt := range []struct {
		name, valueType, before, rollout, want, rest string
	}{
		{"a first rollout", "bool", documents.ServesFalse, `[{"value":true,"percent":0.125},{"value":false,"percent":99.875}]`,
			documents.Rollout(arm(yes, "125")+","+arm(no, "99875"), "user.key"), ""},
		{"ramped up: the property and the order stay", "bool", documents.Quarter, `[{"value":false,"percent":50},{"percent":50,"value":true}]`,
			documents.Rollout(arm(yes, "50000")+","+arm(no, "50000"), "team.key"), ""},
		{"other values: the order sent", "string", documents.Rollout(arm(a, "50000")+","+arm(b, "50000"), "x"), `[{"value":"c","percent":10},{"value":"b","percent":40},{"value":"a","percent":50}]`,
			documents.Rollout(arm(c, "10000")+","+arm(b, "40000")+","+arm(a, "50000"), "x"), variants},
		{"an arm's other fields stay", "string", documents.Rollout(`{"note":1e0,"value":{"type":"string","value":"\u0061"},"weight":100000.0},`+arm(b, "0"), "x"), `[{"value":"b","percent":0},{"value":"a","percent":100}]`, "", ""},
		{"no property: it becomes sticky", "bool", documents.Rollout(arm(yes, "1000")+","+arm(no, "99000"), ""), `[{"value":true,"percent":1},{"value":false,"percent":99}]`,
			documents.Rollout(arm(yes, "1000")+","+arm(no, "99000"), "user.key"), ""},
		{"a value that is stored twice", "bool", documents.Rollout(arm(yes, "1000")+","+arm(yes, "2000")+","+arm(no, "97000"), "x"), `[{"value":false,"percent":70},{"value":true,"percent":30}]`,
			documents.Rollout(arm(yes, "30000")+","+arm(no, "70000"), "x"), ""},
		{"a secret that is split", "string", secret, `[{"value":"abc","percent":50},{"value":"def","percent":50}]`,
			`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"weightedValues":[` +
				arm(`{"type":"string","value":"abc","confidential":true,"decryptWith":"k"}`, "50000") + "," +
				arm(`{"type":"string","value":"def","confidential":true,"decryptWith":"k"}`, "50000") + `],"hashByPropertyName":"user.key"},"note":1.0}}`, ""},
		{"no longer split evenly", "bool", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"value":{"splitEvenly":true,"hashByPropertyName":"x","weightedValues":[` + arm(yes, "50000") + "," + arm(no, "50000") + `]},"type":"weighted_values"}}`,
			`[{"value":true,"percent":60},{"value":false,"percent":40}]`,
			`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"value":{"splitEvenly":false,"hashByPropertyName":"x","weightedValues":[` + arm(yes, "60000") + "," + arm(no, "40000") + `]},"type":"weighted_values"}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := documents.Tree(t, documents.Flag(tt.valueType, documents.TargetsPro+","+tt.before, tt.rest))
			edit := ramping(t, "default", tt.rollout)
			e := must.Get(edit(tree))(t)
			want := documents.TargetsPro + "," + tt.want
			if tt.want == "" {
				want = documents.TargetsPro + "," + tt.before
			}
			if got := rulesText(e.Rules); got != want || e.Changed != (tt.want != "") || e.PreservedTargetingRuleCount != 1 {
				t.Errorf("got  %+v %s\nwant %s", e, got, want)
			}
			if again, err := edit(e.Tree); err != nil || again.Changed {
				t.Errorf("the second time: %+v, %v", again, err)
			}
		})
	}
}

func TestServingOneArmOfASecretRollout(t *testing.T) {
	const plain, secret = `{"value":{"type":"string","value":"y"},"weight":50000}`, `{"value":{"type":"string","value":"x","confidential":true},"weight":50000}`
	const encrypted = `{"value":{"type":"string","value":"x","confidential":true,"decryptWith":"k"},"weight":50000}`
	for _, tt := range []struct{ arms, value, want string }{
		{secret + "," + plain, "x", `{"type":"string","value":"x","confidential":true}`},
		{secret + "," + plain, "y", `{"type":"string","value":"y"}`},
		{secret + "," + plain, "z", `{"type":"string","value":"z","confidential":true}`}, // either could be meant: no secret gets out
		{encrypted + "," + encrypted, "y", `{"type":"string","value":"y","confidential":true,"decryptWith":"k"}`},
	} {
		tree := documents.Tree(t, documents.Flag("string", documents.Rollout(tt.arms, "user.key"), ""))
		e, err := SetValue(tree, Place{Scope: "default"}, jsontree.NewString(tt.value))
		if err != nil || string(e.Rules[0].Get("value").Compact()) != tt.want {
			t.Errorf("%s: %+v, %v; want %s", tt.value, e, err, tt.want)
		}
	}
}

func TestRefusedRollouts(t *testing.T) {
	const variants = `,"variants":[{"value":{"type":"string","value":"a"}},{"value":{"type":"string","value":"b"}}]`
	for _, tt := range []struct {
		rollout string
		want    []string // pointer and part of the message
	}{
		{`{}`, []string{"/rollout at least two"}},
		{`[{"value":"a","percent":100}]`, []string{"/rollout at least two"}},
		{`[]`, []string{"/rollout at least two"}},
		{`[{"x":1}` + strings.Repeat(`,{"value":1,"percent":50}`, MaxShares) + `]`, []string{"/rollout at most 1000"}},
		{`[{"value":"a","percent":50},{"value":"b","percent":49.999}]`, []string{"/rollout sum to 99.999"}},
		{`[{"value":"a","percent":50},{"value":"b","percent":50.001}]`, []string{"/rollout sum to 100.001"}},
		{`[{"value":"a","percent":33.3333},{"value":"b","percent":-1}]`, []string{"/rollout/0/percent 3 decimals", "/rollout/1/percent 0 to 100"}},
		{`[{"value":"a","percent":"50"},7,{"percent":50}]`, []string{"/rollout/0/percent number", "/rollout/1 object", "/rollout/2/value missing"}},
		{`[{"value":"a","percent":50,"wieght":1},{"value":"secret","percent":50}]`, []string{`/rollout/0/wieght "wieght"`, "/rollout/1/value variants"}},
		{`[{"value":"a","percent":50},{"value":"b","percent":20},{"value":"\u0061","percent":30}]`, []string{"/rollout/2/value /rollout/0"}},
		{`[{"value":1,"percent":50},{"value":null,"percent":50}]`, []string{"/rollout/0/value a string, not a number", "/rollout/1/value a string, not null"}},
	} {
		tree := documents.Tree(t, documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"a"}}`, variants))
		_, err := SetRollout(tree, Place{Scope: "default"}, documents.Tree(t, tt.rollout))
		var refused *RequestError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", tt.rollout, err)
			continue
		}
		found := 0
		for _, want := range tt.want {
			pointer, words, _ := strings.Cut(want, " ")
			for _, issue := range refused.Issues {
				if issue.Pointer == pointer && strings.Contains(issue.Message, words) {
					found++
				}
			}
		}
		if found != len(tt.want) || len(refused.Issues) != found || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", tt.rollout, err, tt.want)
		}
	}
	if _, err := SetRollout(documents.Tree(t, documents.Flag("bool", documents.ServesTrue, "")), Place{Scope: "default"}, nil); err == nil {
		t.Error("no rollout at all was let in")
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	rollout := documents.Tree(t, "["+strings.Repeat("0,", 5000)+"0]")
	_, err := SetRollout(documents.Tree(t, documents.Flag("bool", documents.ServesTrue, "")), Place{Scope: "default"}, rollout)
	var refused *RequestError
	if !errors.As(err, &refused) || len(refused.Issues) > jsontree.MaxIssues+1 {
		t.Errorf("%d issues", len(refused.Issues))
	}
}

func TestSplitProperty(t *testing.T) {
	const arms = `{"value":{"type":"bool","value":true},"weight":1}`
	entry := func(rules string) string { return `,"environments":[{"id":"staging","rules":[` + rules + `]}]` }
	for _, tt := range []struct{ name, defaults, rest, staging, byDefault string }{
		{"none", documents.ServesTrue, "", "", ""},
		{"inherited", documents.Rollout(arms, "team.key"), "", "team.key", "team.key"},
		{"its own", documents.ServesTrue, entry(documents.Rollout(arms, "org.id")), "org.id", ""},
		{"hidden by its own", documents.Rollout(arms, "team.key"), entry(documents.ServesTrue), "", "team.key"},
		{"its own has no fallback", documents.Rollout(arms, "team.key"), entry(documents.TargetsPro), "team.key", "team.key"},
		{"not the fallback", strings.Replace(documents.Rollout(arms, "x"), "ALWAYS_TRUE", "IS_PRESENT", 1), "", "", ""},
	} {
		tree := documents.Tree(t, documents.Flag("bool", tt.defaults, tt.rest))
		if got := SplitProperty(tree, "staging"); got != tt.staging {
			t.Errorf("%s: staging's is %q, want %q", tt.name, got, tt.staging)
		}
		if got := SplitProperty(tree, document.DefaultScope); got != tt.byDefault {
			t.Errorf("%s: the default rules' is %q, want %q", tt.name, got, tt.byDefault)
		}
	}
}

func TestANewRolloutIsStickyAsTheDefaultRulesAre(t *testing.T) {
	const arms = `{"value":{"type":"bool","value":true},"weight":1}`
	tree := documents.Tree(t, documents.Flag("bool", documents.Rollout(arms, "team.key"), `,"environments":[{"id":"staging","rules":[`+documents.ServesTrue+`]}]`))
	e, err := ramping(t, "staging", `[{"value":true,"percent":1},{"value":false,"percent":99}]`)(tree)
	if err != nil || !e.NewSplit || SplitProperty(e.Tree, "staging") != "team.key" {
		t.Fatalf("%+v, %v", e, err)
	}
	e.StickBy("org.id")
	if SplitProperty(e.Tree, "staging") != "org.id" || e.View[0].Value.Weighted.HashByProperty != "org.id" || SplitProperty(tree, "staging") != "" {
		t.Errorf("%+v", e)
	}
}

// versionOf is a document as a commit holds it, "" for none.
func versionOf(t testing.TB, text string) Version {
	t.Helper()
	if text == "" {
		return Version{}
	}
	return Version{[]byte(text), documents.Tree(t, text)}
}

// flagWith is a flag in short: its members beside the key, and rules by scope.
func flagWith(members, defaults string, environments ...string) string {
	return fmt.Sprintf(`{"key":"f"%s,"default":{"rules":[%s]},"environments":[%s]}`, members, defaults, strings.Join(environments, ","))
}

func entryOf(id, rules string) string { return fmt.Sprintf(`{"id":%q,"rules":[%s]}`, id, rules) }

// TestUndo takes a change back: testdata has a document before it, after it and now, "-" where
// there is none, and what it becomes, or where the change overlaps with what came since.
func TestUndo(t *testing.T) {
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/undo.txt"))(t))), "\n\n") {
		told := strings.Split(block, "\n")
		t.Run(told[0], func(t *testing.T) {
			version := func(n int) Version { return versionOf(t, strings.TrimPrefix(told[n], "-")) }
			got, overlaps := Undo(version(3), version(1), version(2))
			text := "-"
			switch {
			case len(overlaps) > 0:
				text = strings.TrimSpace("overlaps " + strings.Join(overlaps, " "))
			case got.Text != nil:
				text = string(got.Text)
			case got.Tree != nil:
				text = string(got.Tree.Compact())
			}
			if text != told[4] || len(overlaps) == 0 && got.Changed != (text != told[3]) {
				t.Errorf("got %s, changed %t; want %s", text, got.Changed, told[4])
			}
		})
	}
}

// TestUndoTakesBackNothingElse: a change in one scope, then others elsewhere,
// and the first one undone, is as if there had only been the others.
func TestUndoTakesBackNothingElse(t *testing.T) {
	scopes := []string{"default", "development", "production", "staging", "test"}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 4)
		draw := func(name string) string {
			var rules []string
			for _, n := range list.Draw(t, name) {
				rules = append(rules, fmt.Sprint(n))
			}
			return strings.Join(rules, ",")
		}
		make := func(rules map[string]string) Version {
			var entries []string
			for _, scope := range scopes[1:] {
				if list, there := rules[scope]; there {
					entries = append(entries, entryOf(scope, list))
				}
			}
			text := flagWith("", rules["default"], entries...)
			tree := must.Get(jsontree.Parse([]byte(text)))(t)
			return Version{[]byte(text), tree}
		}
		before, first := map[string]string{}, rapid.SampledFrom(scopes).Draw(t, "scope")
		for _, scope := range scopes {
			if scope == "default" || rapid.Bool().Draw(t, scope) {
				before[scope] = draw(scope + " before")
			}
		}
		change := func(rules map[string]string, scope string) map[string]string {
			changed := map[string]string{}
			for name, list := range rules {
				changed[name] = list
			}
			if changed[scope] = draw(scope + " after"); scope != "default" && rapid.Bool().Draw(t, scope+" goes") {
				delete(changed, scope)
			}
			return changed
		}
		after := change(before, first)
		now, want := after, before
		for _, scope := range rapid.SliceOfDistinct(rapid.SampledFrom(scopes), func(s string) string { return s }).Draw(t, "others") {
			if scope == first {
				continue
			}
			now = change(now, scope)
			want = copyScope(want, now, scope)
		}
		got, overlaps := Undo(make(now), make(before), make(after))
		if len(overlaps) > 0 {
			t.Fatalf("overlaps at %q", overlaps)
		}
		if !jsontree.Equal(sorted(got.Tree), sorted(make(want).Tree)) {
			t.Fatalf("got %s, want %s", got.Tree.Compact(), make(want).Text)
		}
		back, overlaps := Undo(make(after), make(before), make(after))
		if len(overlaps) > 0 || string(back.Text) != string(make(before).Text) {
			t.Fatalf("right after: %q %q", back.Text, overlaps)
		}
	})
}

func copyScope(to, from map[string]string, scope string) map[string]string {
	copied := map[string]string{}
	for name, list := range to {
		copied[name] = list
	}
	delete(copied, scope)
	if list, there := from[scope]; there {
		copied[scope] = list
	}
	return copied
}

// sorted has the environments in the order of their ids, which says nothing.
func sorted(tree *jsontree.Node) *jsontree.Node {
	tree = tree.Clone()
	slices.SortFunc(tree.Get("environments").Items, func(a, b *jsontree.Node) int {
		return strings.Compare(string(a.Get("id").Compact()), string(b.Get("id").Compact()))
	})
	return tree
}

// TestUndoOfVeryManyMembers: each is found by its name, not looked for.
func TestUndoOfVeryManyMembers(t *testing.T) {
	object := func(n int, value string) Version {
		members := make([]string, n)
		for i := range members {
			members[i] = fmt.Sprintf(`"m%d":%s`, i, value)
		}
		return versionOf(t, `{"key":"c","type":"config","valueType":"json","extra":{`+strings.Join(members, ",")+`}}`)
	}
	now := object(48_000, "1")
	now.Tree.Get("extra").Set("another", jsontree.NewBool(true))
	now.Text = now.Tree.Encode()
	edited, overlaps := Undo(now, object(49_500, "0"), object(48_000, "1"))
	if members := len(edited.Tree.Get("extra").Members); len(overlaps) > 0 || members != 49_501 {
		t.Errorf("%d members, %d overlaps", members, len(overlaps))
	}
}
