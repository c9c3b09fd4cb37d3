package evaluation

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// source decodes a document that a test writes as JSON.
func source(t testing.TB, text string) Source {
	t.Helper()
	tree := must.Get(jsontree.Parse([]byte(text)))(t)
	doc, issues := document.Decode(tree)
	if len(issues) > 0 {
		t.Fatalf("%s: %v", text, issues)
	}
	return Source{Key: doc.Key, Document: doc}
}

// flag is a string flag of default rules, each "operator property operand-JSON => value".
func flag(key, rules string) string {
	return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"string","default":{"rules":[%s]}}`, key, rules)
}

func serve(criteria, value string) string {
	return fmt.Sprintf(`{"criteria":[%s],"value":{"type":"string","value":%q}}`, criteria, value)
}

const always = `{"operator":"ALWAYS_TRUE"}`

func criterion(operator, property, operandType, operand string) string {
	return fmt.Sprintf(`{"operator":%q,"propertyName":%q,"valueToMatch":{"type":%q,"value":%s}}`, operator, property, operandType, operand)
}

// fill puts a context written as JSON into a frame.
func fill(t testing.TB, f *Frame, text string) *Frame {
	t.Helper()
	tree := must.Get(jsontree.Parse([]byte(text)))(t)
	for _, context := range tree.Members {
		for _, property := range context.Value.Members {
			if slot := f.Slot([]byte(context.Name), []byte(property.Name)); slot >= 0 {
				f.Put(slot, FromNode(property.Value))
			}
		}
	}
	return f
}

const testNow = 1_700_000_000_000

// compiled is a snapshot and what its answers mean.
type compiled struct {
	*Snapshot
	Content
}

func compile(environment string, sources ...Source) compiled {
	s, content := Compile(sources, environment)
	return compiled{s, content}
}

func noRandom() float64 { panic("asked for randomness") }

// served evaluates one flag and returns the text it serves, or "-".
func served(t testing.TB, s compiled, key, context string) string {
	t.Helper()
	i, ok := s.Find(key)
	if !ok {
		t.Fatalf("no item %q", key)
	}
	f := fill(t, s.NewFrame(testNow, noRandom), context)
	defer f.Release()
	a := s.Evaluate(i, f)
	if a == None {
		return "-"
	}
	content := s.Answers[a].Value.Content
	if text, ok := content.Text(); ok {
		return text
	}
	return string(content.Compact())
}

func TestOperandLeftOut(t *testing.T) {
	for operator := range operators {
		s := compile("test", source(t, flag("f", serve(`{"operator":"`+operator+`","propertyName":"user.p"}`, "yes"))))
		served(t, s, "f", `{"user":{"p":"x"}}`)
	}
}

func TestPropertyLookup(t *testing.T) {
	for _, tt := range []struct{ property, context, want string }{
		{"user.key", `{"user":{"key":"k"}}`, "yes"},
		{"plan", `{"":{"plan":"k"}}`, "yes"},
		{"user.address.city", `{"user":{"address.city":"k"}}`, "yes"},
		{"user.address.city", `{"user":{"address":{"city":"k"}}}`, "-"},
		{"user.address.city", `{"user.address":{"city":"k"}}`, "-"},
		{"user.key", `{"":{"user.key":"k"}}`, "-"},
		{"user.key", `{"User":{"key":"k"}}`, "-"},
	} {
		s := compile("test", source(t, flag("f", serve(criterion("PROP_IS_ONE_OF", tt.property, "string_list", `["k"]`), "yes"))))
		if got := served(t, s, "f", tt.context); got != tt.want {
			t.Errorf("%s over %s serves %s, want %s", tt.property, tt.context, got, tt.want)
		}
	}
}

func TestFlatNames(t *testing.T) {
	rule := serve(criterion("PROP_IS_ONE_OF", "user.a.b", "string_list", `["k"]`)+","+criterion("PROP_IS_ONE_OF", "plan", "string_list", `["k"]`), "yes")
	s := compile("test", source(t, flag("f", rule)))
	f := s.NewFrame(testNow, noRandom)
	for _, name := range []string{"user.a.b", "plan"} {
		slot := f.FlatSlot([]byte(name))
		if slot < 0 {
			t.Fatalf("no slot for %q", name)
		}
		f.Put(slot, Text("k"))
	}
	if f.FlatSlot([]byte("user.other")) >= 0 {
		t.Error("a slot that no rule reads")
	}
	if got := s.Evaluate(0, f); got != 0 {
		t.Errorf("answer %d", got)
	}
}

func TestEnvironmentThenDefault(t *testing.T) {
	beta := serve(criterion("PROP_IS_ONE_OF", "user.group", "string_list", `["beta"]`), "staging-beta")
	text := `{"key":"f","type":"feature_flag","valueType":"string",
		"default":{"rules":[` + serve(criterion("PROP_IS_ONE_OF", "user.group", "string_list", `["beta","vip"]`), "default-group") + "," + serve(always, "fallback") + `]},
		"environments":[{"id":"staging","rules":[` + beta + `]},{"id":"empty","rules":[]},{"id":"closed","rules":[` + serve(always, "closed") + `]}]}`
	for _, tt := range []struct{ environment, context, want string }{
		{"staging", `{"user":{"group":"beta"}}`, "staging-beta"},
		{"staging", `{"user":{"group":"vip"}}`, "default-group"},
		{"staging", `{}`, "fallback"},
		{"empty", `{}`, "fallback"},
		{"closed", `{"user":{"group":"vip"}}`, "closed"},
		{"production", `{"user":{"group":"beta"}}`, "default-group"},
	} {
		s := compile(tt.environment, source(t, text))
		if got := served(t, s, "f", tt.context); got != tt.want {
			t.Errorf("%s %s serves %s, want %s", tt.environment, tt.context, got, tt.want)
		}
	}
}

func TestReasons(t *testing.T) {
	targeted := serve(criterion("IS_PRESENT", "user.key", "bool", "true"), "x")
	split := `{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"string","value":"s"},"weight":100000}]}}}`
	document := func(own, def string) string {
		return `{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[` + def + `]},"environments":[{"id":"here","rules":[` + own + `]},{"id":"elsewhere","rules":[` + targeted + `]}]}`
	}
	for _, tt := range []struct {
		name, text string
		want       Reason
		rule, arm  int
	}{
		{"static", document(serve(always, "a"), serve(always, "b")), Static, 0, -1},
		{"static through an empty list", document("", serve(always, "b")), Static, 0, -1},
		{"empty criteria match", document(serve("", "a"), ""), Static, 0, -1},
		{"targeting elsewhere in the scope", document(targeted+","+serve(always, "a"), ""), TargetingMatch, 1, -1},
		{"targeting in the default rules only", document(serve(always, "a"), targeted), TargetingMatch, 0, -1},
		{"split", document(targeted+","+split, ""), Split, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compile("here", source(t, tt.text))
			f := s.NewFrame(testNow, func() float64 { return 0.5 })
			if a := s.Answers[s.Evaluate(0, f)]; a.Reason != tt.want || a.RuleIndex != tt.rule || a.ArmIndex != tt.arm {
				t.Errorf("got %s rule %d arm %d, want %s %d %d", a.Reason, a.RuleIndex, a.ArmIndex, tt.want, tt.rule, tt.arm)
			}
		})
	}
}

// TestVariants: a value of a variant with a name is called by it, however it
// came to be served.
func TestVariants(t *testing.T) {
	const variants = `[{"value":{"type":"string","value":"plain"}},{"name":"On","value":{"type":"string","value":"on"}}]`
	for _, tt := range []struct{ name, rules, want string }{
		{"the only value", serve(always, "other"), "static"},
		{"a variant without a name", serve(always, "plain"), "static"},
		{"a variant", serve(always, "on"), "On"},
		{"a targeting rule", serve(always, "other") + "," + serve(criterion("IS_PRESENT", "user.key", "bool", "true"), "x"), "targeting:0"},
		{"a variant of a targeting rule", serve(always, "on") + "," + serve(criterion("IS_PRESENT", "user.key", "bool", "true"), "x"), "On"},
		{"an arm", weighted("", 0, 100_000), "split:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flag := source(t, `{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[`+tt.rules+`]},"variants":`+variants+`}`)
			s := compile("here", flag)
			f := s.NewFrame(testNow, func() float64 { return 0.5 })
			a := s.Answers[s.Evaluate(0, f)]
			if got := VariantsOf(flag.Document).Of(&a); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestVariantsAreLookedUp: the work follows from how many variants and answers
// there are, not from the product of both.
func TestVariantsAreLookedUp(t *testing.T) {
	allocations := func(n int) float64 {
		var variants, rules []string
		for i := range n {
			variants = append(variants, fmt.Sprintf(`{"name":"v%d","value":{"type":"string","value":"a%d"}}`, i, i))
			rules = append(rules, serve(criterion("IS_PRESENT", "user.key", "bool", "true"), fmt.Sprintf("b%d", i)))
		}
		flag := source(t, `{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[`+strings.Join(rules, ",")+`]},"variants":[`+strings.Join(variants, ",")+`]}`)
		_, content := Compile([]Source{flag}, "here")
		return testing.AllocsPerRun(1, func() {
			names := VariantsOf(flag.Document)
			for i := range content.Answers {
				if name := names.Of(&content.Answers[i]); name != "targeting:"+fmt.Sprint(i) {
					t.Errorf("answer %d is called %s", i, name)
				}
			}
		})
	}
	if few, many := allocations(100), allocations(1000); many > 12*few {
		t.Errorf("100 variants and answers take %v allocations, 1000 take %v", few, many)
	}
}

// TestTheFirstVariantOfAValueNamesIt, however the value is written.
func TestTheFirstVariantOfAValueNamesIt(t *testing.T) {
	flag := source(t, `{"key":"f","type":"config","valueType":"json","default":{"rules":[{"criteria":[`+always+`],"value":{"type":"json","value":{"b":[1e0,"x"],"a":null}}}]},
		"variants":[{"value":{"type":"json","value":{"a":null,"b":[1,"x"]}}},{"name":"one","value":{"type":"json","value":{"a":null,"b":[1.0,"x"]}}},{"name":"two","value":{"type":"json","value":{"a":null,"b":[1,"x"]}}}]}`)
	_, content := Compile([]Source{flag}, "here")
	if name := VariantsOf(flag.Document).Of(&content.Answers[0]); name != "one" {
		t.Error(name)
	}
}

func weighted(property string, weights ...int) string {
	var arms []string
	for i, w := range weights {
		arms = append(arms, fmt.Sprintf(`{"value":{"type":"string","value":"arm%d"},"weight":%d}`, i, w))
	}
	return fmt.Sprintf(`{"criteria":[%s],"value":{"type":"weighted_values","value":{"hashByPropertyName":%q,"weightedValues":[%s]}}}`, always, property, strings.Join(arms, ","))
}

func TestSplitPoints(t *testing.T) {
	for _, tt := range []struct {
		key, text string
		hash      uint32
	}{
		{"checkout.redesign", "user-1", 3523881450},
		{"pricing.page", "42", 1333100200},
		{"new-nav", "00000000-0000-0000-0000-000000000001", 1813545381},
		{"a", "", 1009084850},
	} {
		s := compile("test", source(t, flag(tt.key, weighted("user.key", 50000, 50000))))
		f := fill(t, s.NewFrame(testNow, noRandom), `{"user":{"key":"`+tt.text+`"}}`)
		got := s.splits[0].point(f)
		if want := float64(tt.hash) / 4294967295; got != want {
			t.Errorf("point(%q, %q) = %v, want %v", tt.key, tt.text, got, want)
		}
		want := "arm0"
		if got > 0.5 {
			want = "arm1"
		}
		if arm := served(t, s, tt.key, `{"user":{"key":"`+tt.text+`"}}`); arm != want {
			t.Errorf("%s serves %s, want %s", tt.key, arm, want)
		}
	}
}

func TestSplitArms(t *testing.T) {
	for _, tt := range []struct {
		weights []int
		random  float64
		want    int
	}{
		{[]int{50000, 50000}, 0, 0},
		{[]int{50000, 50000}, 0.5, 0},
		{[]int{50000, 50000}, 0.5000001, 1},
		{[]int{50000, 50000}, 0.999999999, 1},
		{[]int{1, 1, 2}, 0.3, 1}, // weights count by their own total
		{[]int{0, 100000}, 0, 1}, // an arm of no weight is not served
		{[]int{100000, 0}, 0.999999999, 0},
	} {
		s := compile("test", source(t, flag("f", weighted("user.key", tt.weights...))))
		f := s.NewFrame(testNow, func() float64 { return tt.random })
		if got := s.Answers[s.Evaluate(0, f)].ArmIndex; got != tt.want {
			t.Errorf("weights %v at %v: arm %d, want %d", tt.weights, tt.random, got, tt.want)
		}
	}
}

// TestASplitWithoutWeightServesNothing: all weights at 0 mean that the rule serves nobody.
func TestASplitWithoutWeightServesNothing(t *testing.T) {
	in := criterion("IN_SEG", "", "string", `"s"`)
	nobody := strings.ReplaceAll(weighted("user.key", 0, 0), `{"type":"string","value":"arm0"}`, `{"type":"bool","value":true}`)
	s := compile("test", source(t, segmentDoc("s", nobody)), source(t, flag("alone", weighted("user.key", 0, 0))),
		source(t, flag("followed", weighted("", 0)+","+serve(always, "next"))), source(t, flag("member", serve(in, "yes"))))
	for key, want := range map[string]string{"alone": "-", "followed": "next", "member": "-"} {
		if got := served(t, s, key, `{"user":{"key":"u1"}}`); got != want {
			t.Errorf("%s serves %s, want %s", key, got, want)
		}
	}
}

func TestOperandProblems(t *testing.T) {
	for _, tt := range []struct{ operator, operandType, operand, words string }{
		{"PROP_MATCHES", "string", `"a(b"`, "does not compile"},
		{"PROP_MATCHES", "int", `5`, "must be a string"},
		{"PROP_SEMVER_EQUAL", "string", `"1"`, "SemVer"},
		{"PROP_GREATER_THAN", "string", `"5"`, "int or a double"},
		{"PROP_BEFORE", "string", `"noon"`, "RFC 3339"},
		{"IN_INT_RANGE", "int_range", `[1,2]`, "start"},
		{"IN_INT_RANGE", "int_range", `{"start":2,"end":2}`, "empty"},
		{"PROP_IS_ONE_OF", "json", `{}`, "string_list"},
		{"IN_SEG", "int", `1`, "the key of a segment"},
		{"IN_SEG", "string", `"anything"`, ""},
		{"PROP_GREATER_THAN", "int", `"5"`, ""},
		{"IS_PRESENT", "json", `{}`, ""},
		{"OF_A_LATER_DAY", "json", `{}`, ""},
	} {
		s := source(t, flag("f", serve(criterion(tt.operator, "user.p", tt.operandType, tt.operand), "x")))
		if got := OperandProblem(s.Document.Default[0].Criteria[0]); tt.words == "" && got != "" || !strings.Contains(got, tt.words) {
			t.Errorf("%s %s: %q, want …%s…", tt.operator, tt.operand, got, tt.words)
		}
	}
}

func TestPhaseTurnsExactlyWhenAnAnswerDoes(t *testing.T) {
	for _, name := range []string{CurrentTime, "prefab.current-time", "reforge.current-time", "quonfig.current-time"} {
		rules := serve(criterion("PROP_BEFORE", name, "int", "1000"), "before") + "," +
			serve(criterion("PROP_GREATER_THAN", CurrentTime, "int", "2000"), "after") + "," + serve(always, "between")
		document := source(t, flag("f", rules))
		s := compile("test", document)
		answer := func(now int64) int {
			f := s.NewFrame(now, noRandom)
			defer f.Release()
			context, property, _ := strings.Cut(name, ".")
			if slot := f.Slot([]byte(context), []byte(property)); slot >= 0 {
				t.Fatal("a context may set the time")
			}
			return s.Evaluate(0, f)
		}
		for now := int64(990); now < 2010; now++ {
			if answer(now) != answer(now+1) && s.Phase(now) == s.Phase(now+1) {
				t.Errorf("%s: the answer turns at %d within a phase", name, now+1)
			}
		}
		if answer(999) != 0 || answer(1000) != 2 || answer(2001) != 1 {
			t.Errorf("%s: the answers are %d, %d and %d", name, answer(999), answer(1000), answer(2001))
		}
		if s.Phase(1200) != s.Phase(1900) {
			t.Error("a phase ends for nothing")
		}
		if turns := TurnsOf(document.Document.Default); turns.Turned(999) == turns.Turned(1000) {
			t.Errorf("%s: the turns %v of the rules leave it out", name, turns)
		}
	}
	if still := compile("test", source(t, flag("f", serve(always, "x")))); still.Phase(1) != still.Phase(1<<40) {
		t.Error("phases without a rule on the time")
	}
}

func TestEvaluationAllocatesNothing(t *testing.T) {
	rules := serve(criterion("PROP_IS_ONE_OF", "user.plan", "string_list", `["free","trial"]`), "a") + "," +
		serve(criterion("PROP_ENDS_WITH_ONE_OF", "user.email", "string_list", `["@x.com"]`), "b") + "," +
		weighted("user.key", 50000, 50000)
	s := compile("test", source(t, flag("f", rules)))
	f := fill(t, s.NewFrame(testNow, noRandom), `{"user":{"plan":"pro","email":"a@y.com","key":"k"}}`)
	if n := testing.AllocsPerRun(100, func() { s.Evaluate(0, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzOperators(f *testing.F) {
	for operator := range operators {
		f.Add(operator, "string_list", `["a","b"]`, `"a"`)
		f.Add(operator, "int", `"12"`, `[1,null,{"a":[]}]`)
		f.Add(operator, "json", `{"start":1,"end":"2"}`, `1e309`)
	}
	f.Add("IN_SEG", "string", `"s"`, `-0`)
	f.Fuzz(func(t *testing.T, operator, operandType, operand, property string) {
		tree, err := jsontree.Parse([]byte(operand))
		if err != nil {
			return
		}
		value, err := jsontree.Parse([]byte(property))
		if err != nil {
			return
		}
		match := &document.Value{Type: document.ValueType(operandType), Content: tree}
		doc := &document.Document{Type: document.Flag, Default: []document.Rule{{Criteria: []document.Criterion{{Operator: operator, PropertyName: "user.p", ValueToMatch: match}}}}}
		sources := []Source{{Key: "f", Document: doc}}
		OperandProblem(doc.Default[0].Criteria[0])
		s := compile("test", sources...)
		frame := s.NewFrame(testNow, noRandom)
		defer frame.Release()
		for round := range 2 {
			if got := s.Evaluate(0, frame); got != None && got != 0 {
				t.Fatalf("answer %d", got)
			}
			if slot := frame.Slot([]byte("user"), []byte("p")); slot >= 0 && round == 0 {
				frame.Put(slot, FromNode(value))
			}
		}
	})
}
