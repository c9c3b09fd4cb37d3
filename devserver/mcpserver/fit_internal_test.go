package mcpserver

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
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
		whole := must.Get(json.Marshal(map[string]any{"other": drawn(t, rapid.SampledFrom([]int{100, 5000, 100_000}).Draw(t, "size")), "rows": list}))(t)
		tree := must.Get(jsontree.Parse(whole))(t)
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

// TestTheGuideNamesEveryTool, and says what it is there for.
func TestTheGuideNamesEveryTool(t *testing.T) {
	guide := guides.Read(t, "devserver/guides/assistants.md")
	there := map[bool]string{true: " yes ", false: " "}
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|([^|]*)\\|([^|]*)\\|").FindAllStringSubmatch(guide, -1) {
		named = append(named, row[1])
		at := slices.IndexFunc(tools, func(t tool) bool { return t.name == row[1] })
		if at < 0 || row[2] != there[tools[at].workspace] || row[3] != there[tools[at].directory] {
			t.Errorf("the guide's row %q", row[0])
		}
	}
	if len(named) != len(tools) {
		t.Errorf("the guide names %d tools of %d: %s", len(named), len(tools), named)
	}
	if !strings.Contains(guide, fmt.Sprintf("the last\n  %d)", maxProposals)) || !strings.Contains(guide, fmt.Sprintf("%d KB", maxResult>>10)) {
		t.Error("the guide's bounds are not these")
	}
}
