package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
)

// drawn is JSON of any shape within about so many bytes.
func drawn(t *rapid.T, bytes int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if bytes < 100 && kind > 3 {
		kind -= 4
	}
	times := func(of int) int { return rapid.IntRange(0, max(1, bytes/of)).Draw(t, "times") }
	switch kind {
	case 0:
		return rapid.Bool().Draw(t, "bool")
	case 1:
		return json.Number("1" + strings.Repeat("7", times(1)))
	case 2:
		return strings.Repeat(rapid.SampledFrom([]string{"x", "é", "\"", "<", "\x00", "𝄞"}).Draw(t, "text"), times(6))
	case 3:
		return nil
	case 4: // many alike
		list := make([]any, times(20))
		one := drawn(t, bytes/(len(list)+1))
		for i := range list {
			list[i] = one
		}
		return list
	case 5:
		return []any{drawn(t, bytes/2), []any{drawn(t, bytes/2)}}
	}
	object := map[string]any{strings.Repeat("n", times(2)): drawn(t, bytes/3)}
	n := times(50)
	for i := range n {
		object[fmt.Sprint("member ", i)] = drawn(t, 0)
	}
	object["last"] = drawn(t, bytes/3)
	return object
}

// TestEveryAnswerFits: whatever it tells of, it is JSON within the bound; what fits is
// left as it is; and of a list rows and omitted are as many as there are.
func TestEveryAnswerFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SampledFrom([]int{0, 1, 7, 400}).Draw(t, "rows")
		row := drawn(t, 60_000/(rows+1))
		list := make([]any, rows)
		for i := range list {
			list[i] = row
		}
		whole, err := json.Marshal(map[string]any{"other": drawn(t, rapid.SampledFrom([]int{100, 5000, 100_000}).Draw(t, "size")), "rows": list})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := jsontree.Parse(whole)
		if err != nil {
			t.Fatal(err)
		}
		before := string(tree.Compact())
		told := answer{tree: tree, list: "rows"}.text()
		escaped, err := json.Marshal(told)
		if err != nil || len(escaped) > maxResult-envelope || !json.Valid([]byte(told)) {
			t.Fatalf("%d bytes of %d, %v", len(escaped), len(before), err)
		}
		if string(tree.Compact()) != before {
			t.Fatal("the answer was changed")
		}
		if _, fits := compact(tree); fits && told != before {
			t.Fatal("it would have fitted")
		}
		var got struct {
			Rows        []any
			Omitted     int
			RowsOmitted int
		}
		if err := json.Unmarshal([]byte(told), &got); err == nil && got.Rows != nil && len(got.Rows)+got.Omitted+got.RowsOmitted != rows {
			t.Fatalf("%d rows and %d, %d left out of %d", len(got.Rows), got.Omitted, got.RowsOmitted, rows)
		}
	})
}
