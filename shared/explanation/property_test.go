package explanation_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/gen"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

const (
	environment = "production"
	now         = 1_700_000_000_000
)

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// told is what both ways of asking tell of an item.
type told struct {
	value, reason, source string
	index, arm            int
}

// TestExplanationsAreWhatIsDelivered over random documents and contexts: what
// delivery answers is what an evaluation says, and an explanation leads there. Some
// documents are overridden.
func TestExplanationsAreWhatIsDelivered(t *testing.T) {
	runs := 500
	if os.Getenv("SVC_TEST_FULL") != "" {
		runs = 100_000
	}
	const contexts = 10 // for each set of documents
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := gen.New(seed)
	matched, served, overridden := 0, 0, 0
	for range runs / contexts {
		ws := d.Workspace(t, environment)
		var sources []evaluation.Source
		overrides := explanation.Overrides{}
		for i := range ws.Items {
			key := ws.Items[i].Key
			for _, rule := range ws.Items[d.IntN(len(ws.Items))].Read().View.Default {
				if d.IntN(3) == 0 && rule.Value.Weighted == nil && len(evaluation.FlagsOf([]document.Rule{rule})) == 0 { // which would make circles
					overrides[key] = append(overrides[key], rule)
				}
			}
			sources = append(sources, evaluation.Source{Key: key, Document: ws.Items[i].Read().View, Overrides: overrides[key]})
		}
		state := must.Get(explanation.Compile(ws, environment, overrides, 0))(t)
		b := delivery.NewBuilder(environment)
		for _, source := range slices.SortedFunc(slices.Values(sources), func(a, b evaluation.Source) int { return strings.Compare(a.Key, b.Key) }) {
			b.Add(source)
		}
		table := b.Table(func(int64) string { return "v1" }, evaluation.Turns{})
		all, content := evaluation.Compile(sources, environment)
		for range contexts {
			text, chance := d.Context(), d.Float64()
			random := func() float64 { return chance }
			want := delivered(t, table, text, random)
			frame := all.NewFrame(now, random)
			q := asked(t, ws, text)
			for _, named := range q.Context.Members {
				for _, p := range named.Value.Members {
					if slot := frame.Slot([]byte(named.Name), []byte(p.Name)); slot >= 0 {
						frame.Put(slot, evaluation.FromNode(p.Value))
					}
				}
			}
			q.Explain, q.Random = true, random
			answer, err := state.Evaluate(context.Background(), q)
			if err != nil || len(answer.Evaluations) != 8 {
				t.Fatal(len(answer.Evaluations), err)
			}
			fail := func(key, format string, args ...any) {
				stored, _ := ws.Item(document.Flag, key)
				if stored == nil {
					stored, _ = ws.Item(document.Config, key)
				}
				t.Fatalf("seed %d: %s: %s\ncontext %s\ndocument %s\nevaluation %s", seed, key, fmt.Sprintf(format, args...), text, stored.Text, encode(answer.Evaluations[key]))
			}
			for key, got := range answer.Evaluations {
				item, _ := all.Find(key)
				if doc := content.Items[item].Document; doc.Type == document.Flag || doc.SendToClientSDK {
					if w, known := want[key]; known != (got.Value != nil && got.RuleSource != nil) || known && w != toldOf(got) {
						fail(key, "delivery answers %+v", w)
					}
				}
				n := all.Evaluate(item, frame)
				if (n == evaluation.None) != (got.RuleSource == nil) {
					fail(key, "evaluated is answer %d", n)
				}
				if n != evaluation.None {
					a := &content.Answers[n]
					if *got.RuleSource != a.RuleSource || indexOf(got) != a.RuleIndex && a.Reason != evaluation.Overridden || got.Reason != a.Reason || got.Confidential != a.Value.Secret() {
						fail(key, "evaluated is %+v", a)
					}
					if served++; a.Reason == evaluation.Overridden {
						overridden++
					}
				}
				if problem := leadsThere(got, q.Context, answer.Evaluations); problem != "" {
					fail(key, "%s", problem)
				}
				if len(got.Explanation) > 0 {
					matched++
				}
			}
			frame.Release()
		}
	}
	t.Logf("%d contexts, %d values served, %d of them overridden, %d explained", runs, served, overridden, matched)
}

// indexOf is where the rule stands; -1 for an override, of which nobody is told.
func indexOf(e *explanation.Evaluation) int {
	if e.RuleIndex == nil {
		return -1
	}
	return *e.RuleIndex
}

func toldOf(e *explanation.Evaluation) told {
	is := told{value: string(e.Value), reason: string(e.Reason)}
	if e.Reason == evaluation.TargetingMatch || e.Reason == evaluation.Split {
		is.source, is.index = string(*e.RuleSource), *e.RuleIndex
	}
	if e.WeightedValueIndex != nil {
		is.arm = *e.WeightedValueIndex
	}
	return is
}

// delivered is what a browser is answered, by key.
func delivered(t *testing.T, table *delivery.Table, context string, random func() float64) map[string]told {
	h := &delivery.Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*delivery.Table, error) { return table, nil },
		Now: func() time.Time { return time.UnixMilli(now) }, Random: random}
	w := httptest.NewRecorder()
	h.Mux().ServeHTTP(w, httptest.NewRequest("GET", "/api/v2/configs/eval-with-context/"+base64.RawURLEncoding.EncodeToString([]byte(context)), nil))
	var answer struct {
		Evaluations map[string]struct {
			Value              struct{ Value json.RawMessage }
			Reason, RuleSource string
			RuleIndex          int
			WeightedValueIndex int
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	all := map[string]told{}
	for key, e := range answer.Evaluations {
		all[key] = told{string(e.Value.Value), e.Reason, e.RuleSource, e.RuleIndex, e.WeightedValueIndex}
	}
	return all
}

// leadsThere says why an explanation does not lead to its evaluation, or "".
func leadsThere(e *explanation.Evaluation, context *jsontree.Node, all map[string]*explanation.Evaluation) string {
	if e.Truncated {
		return "the explanation is not complete"
	}
	if problem := consistent(e.Explanation, context, all); problem != "" {
		return problem
	}
	if len(e.Explanation) == 0 || !e.Explanation[len(e.Explanation)-1].Matched {
		if e.RuleSource != nil {
			return "no rule matched"
		}
		return ""
	}
	last := e.Explanation[len(e.Explanation)-1]
	if e.RuleSource == nil || last.RuleSource != *e.RuleSource || last.Index != indexOf(e) && last.RuleSource != evaluation.OverrideRules {
		return "another rule matched"
	}
	if (last.Split != nil) != (e.WeightedValueIndex != nil) {
		return "a split and no arm, or an arm and no split"
	}
	if last.Split != nil {
		for i, arm := range last.Split.Arms {
			if arm.Chosen != (i == *e.WeightedValueIndex) || arm.Confidential && arm.Value != nil {
				return fmt.Sprintf("arm %d is chosen: %v", i, arm.Chosen)
			}
			if arm.Chosen && last.Split.Hash != nil && arm.To > arm.From && (last.Split.Point < arm.From-1e-9 || last.Split.Point > arm.To+1e-9) {
				return fmt.Sprintf("the point %v lies outside of the arm %v", last.Split.Point, arm)
			}
			if arm.Chosen && (e.Value == nil) != arm.Confidential {
				return "the arm and the value do not agree on what is confidential"
			}
		}
	}
	return ""
}

// consistent says what is wrong with rules that were tried, or "".
func consistent(rules []evaluation.TriedRule, context *jsontree.Node, evaluations map[string]*explanation.Evaluation) string {
	for i, rule := range rules {
		all := true
		for _, c := range rule.Criteria {
			all = all && c.Holds
			if c.Confidential && c.Expected != nil {
				return "a confidential operand is told"
			}
			problem := ""
			if strings.HasPrefix(c.Operator, "FLAG_") {
				problem = asks(c, evaluations)
			} else {
				problem = seen(c, context)
			}
			if problem == "" {
				problem = consistent(c.Flag, context, evaluations)
			}
			if problem == "" {
				problem = consistent(c.Segment, context, nil)
			}
			if problem != "" {
				return problem
			}
			if n := len(c.Segment); c.Segment != nil {
				if member := n > 0 && c.Segment[n-1].Matched && *c.Segment[n-1].Member; c.Holds != (member == (c.Operator == evaluation.InSegment)) {
					return "a segment's rules lead elsewhere: " + encode(c)
				}
			}
		}
		if rule.Split != nil && rule.Split.Arms[len(rule.Split.Arms)-1].To == 0 { // it has no weight
			all = false
		}
		if rule.Matched != all || rule.Matched && i < len(rules)-1 {
			return fmt.Sprintf("rule %d matched: %v", i, rule.Matched)
		}
	}
	return ""
}

// asks says what is wrong with what is told of another flag, or "". There are no
// evaluations for a segment, which may not ask.
func asks(c evaluation.TriedCriterion, evaluations map[string]*explanation.Evaluation) string {
	e := evaluations[c.PropertyName]
	there := e != nil && strings.HasPrefix(c.PropertyName, "flag-")
	if evaluations != nil && (c.Present != (there && e.RuleSource != nil) || c.Flag != nil && c.Present != (len(c.Flag) > 0 && c.Flag[len(c.Flag)-1].Matched)) {
		return fmt.Sprintf("%s is present: %v", c.PropertyName, c.Present)
	}
	var value *jsontree.Node
	if there {
		value, _ = jsontree.Parse(e.Value)
	}
	if evaluations == nil || !there || e.RuleSource == nil || e.Confidential || value == nil || value.Kind == jsontree.Array || value.Kind == jsontree.Object || value.Kind == jsontree.Null {
		if c.Holds {
			return c.Operator + " holds for " + c.PropertyName
		}
		return ""
	}
	if !c.Truncated && !jsontree.Equal(c.Actual, value) {
		return fmt.Sprintf("%s is told as %s, and serves %s", c.PropertyName, encode(c.Actual), e.Value)
	}
	if c.Confidential || c.Truncated {
		return ""
	}
	text := evaluation.FromNode(value).Text
	among := slices.ContainsFunc(append(c.Expected.Elements(), c.Expected), func(n *jsontree.Node) bool {
		return n != nil && n.Kind != jsontree.Array && evaluation.FromNode(n).Text == text
	})
	if c.Expected != nil && c.Holds != (among == (c.Operator == evaluation.FlagIsOneOf)) {
		return fmt.Sprintf("%s of %s holds: %v", c.Operator, e.Value, c.Holds)
	}
	return ""
}

// seen says what is wrong with what is told of a property, or "".
func seen(c evaluation.TriedCriterion, context *jsontree.Node) string {
	name, property, dotted := strings.Cut(c.PropertyName, ".")
	if !dotted {
		name, property = "", c.PropertyName
	}
	want := context.Get(name).Get(property)
	switch {
	case c.PropertyName == evaluation.CurrentTime:
		want = jsontree.NewInt(now)
	case want != nil && want.Kind == jsontree.Null:
		want = nil
	}
	if c.Present != (want != nil) || !c.Present && c.Actual != nil || c.Present && !c.Truncated && !jsontree.Equal(c.Actual, want) {
		return fmt.Sprintf("%s is told as %s (%v), and is %s", c.PropertyName, encode(c.Actual), c.Present, encode(want))
	}
	return ""
}

// TestAnExplanationInFull, as it is told.
func TestAnExplanationInFull(t *testing.T) {
	ws := &workspace.Workspace{}
	add := func(kind document.Type, key, rules string) {
		ws.Items = append(ws.Items, workspace.Stored{Path: workspace.Path(kind, key), Key: key, Text: fmt.Appendf(nil, `{"key":%q,"type":%q,"valueType":"bool","default":{"rules":[%s]}}`, key, kind, rules)})
	}
	in := func(operator string) string {
		return `{"operator":"` + operator + `","valueToMatch":{"type":"string","value":"staff"}}`
	}
	add(document.Flag, "f", `{"criteria":[`+in("NOT_IN_SEG")+`],"value":{"type":"bool","value":false}},
		{"criteria":[`+in("IN_SEG")+`,{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":1}}],"value":{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"value":{"type":"bool","value":true},"weight":10000},{"value":{"type":"bool","value":false},"weight":90000}]}}},
		{"criteria":[],"value":{"type":"bool","value":true}}`)
	add(document.Segment, "staff", `{"criteria":[{"operator":"PROP_ENDS_WITH_ONE_OF","propertyName":"user.email","valueToMatch":{"type":"string_list","value":["@acme.com"]}}],"value":{"type":"bool","value":true}}`)
	state := must.Get(explanation.Compile(ws, environment, nil, 0))(t)
	q := asked(t, ws, `{"user":{"key":"u-1","email":"ada@acme.com"}}`)
	q.Explain = true
	answer := must.Get(state.Evaluate(t.Context(), q))(t)
	const want = `{"environment":"production","commitSha":null,"evaluations":{"f":{"value":false,"valueType":"bool","reason":"SPLIT","ruleSource":"default","ruleIndex":1,"weightedValueIndex":1,"explanation":[
		{"ruleSource":"default","index":0,"matched":false,"criteria":[{"operator":"NOT_IN_SEG","expected":"staff","present":false,"holds":false,"segment":[
			{"ruleSource":"default","index":0,"matched":true,"member":true,"criteria":[{"operator":"PROP_ENDS_WITH_ONE_OF","propertyName":"user.email","expected":["@acme.com"],"actual":"ada@acme.com","present":true,"holds":true}]}]}]},
		{"ruleSource":"default","index":1,"matched":true,"criteria":[{"operator":"IN_SEG","expected":"staff","present":false,"holds":true},
			{"operator":"PROP_AFTER","propertyName":"svc.current-time","expected":1,"actual":1700000000000,"present":true,"holds":true}],
			"split":{"property":"user.key","hash":HASH,"point":POINT,"arms":[{"value":true,"from":0,"to":10,"chosen":false},{"value":false,"from":10,"to":100,"chosen":true}]}}]}},"missing":[]}`
	split := answer.Evaluations["f"].Explanation[1].Split
	text := strings.NewReplacer("HASH", fmt.Sprint(*split.Hash), "POINT", encode(split.Point)).Replace(want)
	var got, wanted any
	if json.Unmarshal([]byte(encode(answer)), &got) != nil || json.Unmarshal([]byte(text), &wanted) != nil || !reflect.DeepEqual(got, wanted) {
		t.Errorf("got %s\nwant %s", encode(answer), text)
	}
	if split.Point != 100*float64(*split.Hash)/4294967295 || split.Point <= 10 {
		t.Errorf("the point is %v", split.Point)
	}
}

// many is a workspace of flags with three targeting rules each.
func many(n int) *workspace.Workspace {
	ws := &workspace.Workspace{}
	for i := range n {
		key := fmt.Sprintf("flag-%05d", i)
		rule := func(operator, property, operand string) string {
			return fmt.Sprintf(`{"criteria":[{"operator":%q,"propertyName":%q,"valueToMatch":%s}],"value":{"type":"string","value":"by %s"}},`, operator, property, operand, property)
		}
		ws.Items = append(ws.Items, workspace.Stored{Path: workspace.Path(document.Flag, key), Key: key, Text: fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"string","default":{"rules":[%s%s%s{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"everyone else"}}]}}`, key,
			rule("PROP_IS_ONE_OF", "user.plan", fmt.Sprintf(`{"type":"string_list","value":["plan-%d","plan-%d"]}`, i%50, i%50+7)),
			rule("PROP_ENDS_WITH_ONE_OF", "user.email", fmt.Sprintf(`{"type":"string_list","value":["@team%d.example"]}`, i%50)),
			rule("PROP_GREATER_THAN", "user.orders", fmt.Sprintf(`{"type":"int","value":%d}`, i%100)))})
	}
	return ws
}

func asked(t testing.TB, ws *workspace.Workspace, context string) explanation.Question {
	tree := must.Get(jsontree.Parse([]byte(context)))(t)
	return explanation.Question{Context: tree, All: true, Now: now, Random: func() float64 { return 0.5 },
		Document: func(t document.Type, key string) *workspace.Stored {
			stored, _ := ws.Item(t, key)
			return stored
		}}
}

const somebody = `{"user":{"key":"user-1","plan":"plan-3","email":"user-1@team7.example","orders":40}}`

// TestTenThousandFlags: all of them are answered, and of explanations as many as
// an answer has room for.
func TestTenThousandFlags(t *testing.T) {
	ws := many(10_000)
	state := must.Get(explanation.Compile(ws, environment, nil, 0))(t)
	q := asked(t, ws, somebody)
	answer, err := state.Evaluate(t.Context(), q)
	if err != nil || len(answer.Evaluations) != 10_000 {
		t.Fatal(len(answer.Evaluations), err)
	}
	t.Logf("%d bytes of values", len(encode(answer)))
	q.Explain = true
	if answer, err = state.Evaluate(t.Context(), q); err != nil || len(answer.Evaluations) != 10_000 {
		t.Fatal(len(answer.Evaluations), err)
	}
	complete := 0
	for _, e := range answer.Evaluations {
		if !e.Truncated {
			complete++
		}
	}
	if bytes := len(encode(answer)); complete < 1000 || complete == 10_000 || bytes > 8<<20 {
		t.Errorf("%d flags are explained in %d bytes", complete, bytes)
	} else {
		t.Logf("%d flags are explained in %d bytes", complete, bytes)
	}
}

// TestTheSizeOfAState is about what it takes.
func TestTheSizeOfAState(t *testing.T) {
	ws := many(5000)
	before := memory.InUse()
	state := must.Get(explanation.Compile(ws, environment, nil, 0))(t)
	took := memory.InUse() - before
	if size := state.Size(); size < took*2/3 || size > took*3/2 {
		t.Errorf("it takes %d bytes and says %d", took, size)
	}
	if _, err := explanation.Compile(ws, environment, nil, 100_000); err == nil {
		t.Error("what is too large is compiled")
	}
}
