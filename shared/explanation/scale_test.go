package explanation_test

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

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
