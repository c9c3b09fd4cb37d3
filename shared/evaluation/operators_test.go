package evaluation

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/murmur3"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// timeOperands are, for the operators that can compare the current time, an operand with which
// the answer changes near 1000.
var timeOperands = map[string]struct{ operandType, operand string }{
	"PROP_IS_ONE_OF":                  {"string_list", `["1000"]`},
	"PROP_IS_NOT_ONE_OF":              {"string_list", `["1000"]`},
	"PROP_STARTS_WITH_ONE_OF":         {"string_list", `["100"]`},
	"PROP_DOES_NOT_START_WITH_ONE_OF": {"string_list", `["100"]`},
	"PROP_ENDS_WITH_ONE_OF":           {"string_list", `["00"]`},
	"PROP_DOES_NOT_END_WITH_ONE_OF":   {"string_list", `["00"]`},
	"PROP_CONTAINS_ONE_OF":            {"string_list", `["99"]`},
	"PROP_DOES_NOT_CONTAIN_ONE_OF":    {"string_list", `["99"]`},
	Matches:                           {"string", `"99"`},
	DoesNotMatch:                      {"string", `"99"`},
	"HIERARCHICAL_MATCH":              {"string", `"100"`},
	"IN_INT_RANGE":                    {"int_range", `{"start":999,"end":1001}`},
	"PROP_GREATER_THAN":               {"int", `1000`},
	"PROP_GREATER_THAN_OR_EQUAL":      {"int", `1000`},
	"PROP_LESS_THAN":                  {"int", `1000`},
	"PROP_LESS_THAN_OR_EQUAL":         {"int", `1000`},
	"PROP_BEFORE":                     {"int", `1000`},
	"PROP_AFTER":                      {"int", `1000`},
}

// TestAPhaseEndsWhereAnAnswerChanges for every operator: a poll's answer is reused within
// a phase.
func TestAPhaseEndsWhereAnAnswerChanges(t *testing.T) {
	for operator, of := range operators {
		with, timed := timeOperands[operator]
		if !timed {
			if of.reads != presences && of.reads != texted {
				t.Errorf("%s has no operand for the current time", operator)
			}
			continue
		}
		s := compile("test", source(t, flag("f", serve(criterion(operator, CurrentTime, with.operandType, with.operand), "yes"))))
		answer := func(now int64) int {
			f := s.NewFrame(now, noRandom)
			defer f.Release()
			return s.Evaluate(0, f)
		}
		changed := false
		for now := int64(990); now < 1010; now++ {
			if answer(now) != answer(now+1) {
				if changed = true; s.Phase(now) == s.Phase(now+1) {
					t.Errorf("%s: the answer changes at %d within a phase", operator, now+1)
				}
			}
		}
		if changed == (of.reads == texted) {
			t.Errorf("%s: the answer changes with the time: %v", operator, changed)
		}
	}
}

func segmentDoc(key, rules string) string {
	return fmt.Sprintf(`{"key":%q,"type":"segment","valueType":"bool","default":{"rules":[%s]}}`, key, rules)
}

func member(criteria string, boolean bool) string {
	return fmt.Sprintf(`{"criteria":[%s],"value":{"type":"bool","value":%v}}`, criteria, boolean)
}

func TestASegmentIsNoItem(t *testing.T) {
	s := compile("test", source(t, segmentDoc("staff", member(always, true))), source(t, flag("f", serve(always, "yes"))))
	for _, item := range s.Items {
		if item.Document.Type == document.Segment {
			t.Errorf("the segment %s is an item", item.Key)
		}
	}
}

func TestACircleOfSegmentsHasNoMembers(t *testing.T) {
	in := func(key string) string { return member(criterion("IN_SEG", "", "string", `"`+key+`"`), true) }
	s := compile("test",
		source(t, segmentDoc("a", in("b"))), source(t, segmentDoc("b", in("a"))), source(t, segmentDoc("self", in("self"))),
		source(t, flag("f", serve(criterion("IN_SEG", "", "string", `"a"`), "yes"))),
		source(t, flag("g", serve(criterion("IN_SEG", "", "string", `"self"`), "yes"))),
	)
	for _, key := range []string{"f", "g"} {
		if got := served(t, s, key, `{}`); got != "-" {
			t.Errorf("%s serves %s", key, got)
		}
	}
}

func TestThousandSegmentsReferringToEachOther(t *testing.T) {
	const n = 1000
	var refer []document.Criterion
	for i := range n {
		key := &document.Value{Type: document.StringValue, Content: jsontree.NewString(fmt.Sprintf("s%d", i))}
		refer = append(refer, document.Criterion{Operator: "IN_SEG", ValueToMatch: key})
	}
	yes := document.Value{Type: document.BoolValue, Content: jsontree.NewBool(true)}
	sources := []Source{source(t, flag("f", serve(criterion("IN_SEG", "", "string", `"s0"`), "yes")))}
	for i := range n {
		rules := []document.Rule{{Criteria: refer[i+1:], Value: yes}}
		sources = append(sources, Source{Key: fmt.Sprintf("s%d", i), Document: &document.Document{Type: document.Segment, Default: rules}})
	}
	if got := served(t, compile("test", sources...), "f", `{}`); got != "yes" {
		t.Errorf("the end of the chain has no conditions, so all are members; serves %s", got)
	}
}

// TestEqualListsOfCriteriaAreOne: what flags have in common is decided once, and
// each serves what is its own.
func TestEqualListsOfCriteriaAreOne(t *testing.T) {
	a, b := criterion("PROP_IS_ONE_OF", "user.p", "string_list", `["a","both"]`), criterion("PROP_IS_ONE_OF", "user.q", "string_list", `["b","both"]`)
	both := a + "," + b
	s := compile("test",
		source(t, flag("1-first", serve(a, "1a")+","+serve(b, "1b")+","+serve(always, "1c"))),
		source(t, flag("2-equal", serve(a, "2a")+","+serve(b, "2b")+","+serve(always, "2c"))),
		source(t, flag("3-one-rule", serve(both, "3ab")+","+serve(always, "3c"))),
		source(t, flag("4-turned", serve(b, "4b")+","+serve(a, "4a")+","+serve(always, "4c"))),
		source(t, flag("5-shorter", serve(a, "5a")+","+serve(b, "5b"))),
		source(t, flag("6-split", serve(a, "6a")+","+weighted("user.key", 0, 1)+","+serve(always, "6c"))),
		source(t, flag("7-equal", serve(a, "7a")+","+serve(always, "7b")+","+serve(always, "7c"))),
		source(t, flag("8-none", "")),
	)
	if got := len(s.lists) - 1; got != 6 {
		t.Errorf("%d lists", got)
	}
	for _, tt := range []struct {
		context string
		want    [8]string
	}{
		{`{"user":{"p":"a","key":"u"}}`, [8]string{"1a", "2a", "3c", "4a", "5a", "6a", "7a", "-"}},
		{`{"user":{"q":"b","key":"u"}}`, [8]string{"1b", "2b", "3c", "4b", "5b", "arm1", "7b", "-"}},
		{`{"user":{"p":"both","q":"both"}}`, [8]string{"1a", "2a", "3ab", "4b", "5a", "6a", "7a", "-"}},
		{`{"user":{"key":"u"}}`, [8]string{"1c", "2c", "3c", "4c", "-", "arm1", "7b", "-"}},
	} {
		for i, key := range s.Keys {
			if got := served(t, s, key, tt.context); got != tt.want[i] {
				t.Errorf("%s serves %q to %s, want %q", key, got, tt.context, tt.want[i])
			}
		}
	}
}

// explainer compiles documents for explanations, and finds them again.
func explainer(sources ...Source) (*Explainer, *Account) {
	units, c, docs := NewUnits("test"), NewCompiler(), map[string]*document.Document{}
	for _, s := range sources {
		unit, _ := units.Make(s)
		c.Add(unit)
		docs[s.Key] = s.Document
	}
	return c.Explainer("test"), &Account{Left: 1 << 20, Segment: func(key string) *document.Document { return docs[key] }, Property: func(string) *jsontree.Node { return nil }}
}

// TestTheHashIsExact: it is told from the point that it was made to.
func TestTheHashIsExact(t *testing.T) {
	for range 100_000 {
		hash := rand.Uint32()
		if got := uint32(math.Round(float64(hash) / maxHash * maxHash)); got != hash {
			t.Fatalf("%d is told as %d", hash, got)
		}
	}
	doc := source(t, flag("f", weighted("user.key", 50_000, 50_000)))
	e, account := explainer(doc)
	f := fill(t, e.NewFrame(testNow, noRandom), `{"user":{"key":"u-1"}}`)
	tried, complete := e.Explain(0, doc, f, account)
	if want := murmur3.Sum32([]byte("fu-1")); !complete || *tried[0].Split.Hash != want {
		t.Errorf("%+v, want the hash %d", tried[0].Split, want)
	}
}

// TestChanceDecidesOnce: what is told is what was served, also of a segment that
// chance decides.
func TestChanceDecidesOnce(t *testing.T) {
	by := source(t, flag("f", weighted("", 50_000, 50_000)))
	in := source(t, flag("g", serve(criterion("IN_SEG", "", "string", `"half"`), "yes")))
	half := source(t, segmentDoc("half", `{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"bool","value":true},"weight":1},{"value":{"type":"bool","value":false},"weight":1}]}}}`))
	e, account := explainer(by, in, half)
	for range 100 {
		f := e.NewFrame(testNow, rand.Float64)
		answer, member := e.Evaluate(0, f), e.Evaluate(1, f) != None
		tried, _ := e.Explain(0, by, f, account)
		if !tried[0].Split.Arms[answer].Chosen || tried[0].Split.Hash != nil {
			t.Fatalf("answer %d is told as %+v", answer, tried[0].Split)
		}
		tried, _ = e.Explain(1, in, f, account)
		if got := tried[0].Criteria[0].Segment[0].Member; *got != member || tried[0].Matched != member {
			t.Fatalf("member: %v, told as %v", member, *got)
		}
		account.Left = 1 << 20
	}
}

// TestExplanationsAreBounded, whatever refers to whatever.
func TestExplanationsAreBounded(t *testing.T) {
	const n = 300
	in := func(i int) string { return criterion("IN_SEG", "", "string", fmt.Sprintf(`"s%d"`, i)) }
	asks := source(t, flag("f", serve(in(0), "yes")))
	all := []Source{asks}
	for i := range n {
		var later []string
		for j := i + 1; j < n; j++ {
			later = append(later, in(j))
		}
		all = append(all, source(t, segmentDoc(fmt.Sprint("s", i), member(strings.Join(later, ","), true))))
	}
	e, account := explainer(all...)
	f := e.NewFrame(testNow, noRandom)
	if e.Evaluate(0, f) == None {
		t.Fatal("all are members")
	}
	tried, complete := e.Explain(0, asks, f, account)
	if complete || len(tried) > 0 || account.Left > 0 {
		t.Errorf("%d segments that refer to each other are told in %d bytes", n, 1<<20-account.Left)
	}
	account.Left = 100 << 20
	tried, complete = e.Explain(0, asks, f, account)
	text, err := json.Marshal(tried)
	if err != nil || !complete {
		t.Fatal(complete, err)
	}
	if told := strings.Count(string(text), `"segment":`); told != n {
		t.Errorf("%d segments are told %d times", n, told)
	}
	if took := 100<<20 - account.Left; len(text) > took*3/2 || len(text) < took/3 {
		t.Errorf("%d bytes were counted as %d", len(text), took)
	}
}

// TestAnotherDocument is not explained, and nothing breaks.
func TestAnotherDocument(t *testing.T) {
	doc := source(t, flag("f", serve(criterion("IN_SEG", "", "string", `"s"`), "yes")))
	segment := source(t, segmentDoc("s", member(always, true)))
	e, account := explainer(doc, segment)
	f := e.NewFrame(testNow, noRandom)
	e.Evaluate(0, f)
	if _, complete := e.Explain(0, Source{Document: &document.Document{}}, f, account); complete {
		t.Error("a document without rules is explained by those of another")
	}
	account.Segment = func(string) *document.Document { return &document.Document{} }
	if _, complete := e.Explain(0, doc, f, account); complete {
		t.Error("a segment without rules is explained by those of another")
	}
}

func TestBrief(t *testing.T) {
	long := strings.Repeat("long ", 1000)
	for text, want := range map[string]string{
		`null`: `null`, `1`: `1`, `"a"`: `"a"`, `["a","b"]`: `["a","b"]`, `{"a":[1]}`: `{"a":[1]}`,
		`"` + long + `"`:           "cut",
		`["a","` + long + `"]`:     `["a"]`,
		`["` + long + `"]`:         `[]`,
		`{"a":"` + long + `"}`:     "<nil>",
		`{"` + long + `":1}`:       "<nil>",
		`[[["` + long + `"]],"a"]`: `[]`,
	} {
		tree := must.Get(jsontree.Parse([]byte(text)))(t)
		told, got := brief(tree), "<nil>"
		if told.node != nil {
			got = string(told.node.Compact())
		}
		if want == "cut" && strings.HasSuffix(got, `long…"`) && len(got) <= maxTold {
			got = "cut"
		}
		if got != want || told.cut != (text != want) || len(text) > maxTold && !told.cut {
			t.Errorf("%.20s is told as %.40s (%v), want %s", text, got, told.cut, want)
		}
	}
}
