package workspace

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// segments is a workspace of n segments, each referring to those that to says.
func segments(n int, to func(i int) []int) *Workspace {
	ws := &Workspace{}
	for i := range n {
		var keys []string
		for _, j := range to(i) {
			keys = append(keys, name(j))
		}
		ws.Items = append(ws.Items, Stored{Path: Path(document.Segment, name(i)), Key: name(i), Text: []byte(segment(name(i), keys...))})
	}
	return ws
}

func name(i int) string { return fmt.Sprintf("s%04d", i) }

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestThousandSegments(t *testing.T) {
	const n = 1000
	ring := []string{}
	for i := range n + 1 {
		ring = append(ring, name(i%n)) // which is named in full
	}
	const dense = 200 // which are as many references as 40 to each of a thousand
	for _, tt := range []struct {
		name string
		n    int
		to   func(i int) []int
		want []string // messages, cut
	}{
		{"each to all before it", dense, upTo, nil},
		{"each to all", dense, func(int) []int { return upTo(dense) }, []string{"s0000 -> s0000"}},
		{"each to all others", dense, func(i int) []int { return slices.Delete(upTo(dense), i, i+1) }, []string{"s0000 -> s0001 -> s0000"}},
		{"a chain", n, func(i int) []int { return upTo(n)[min(i+1, n-1) : min(i+1, n-1)+min(1, n-1-i)] }, nil},
		{"a ring", n, func(i int) []int { return []int{(i + 1) % n} }, []string{strings.Join(ring, " -> ")}},
		{"pairs", n, func(i int) []int { return []int{i ^ 1} }, slices.Repeat([]string{" -> "}, n/2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ws := segments(tt.n, tt.to)
			found := circles(ws)
			if len(found) != len(tt.want) {
				t.Fatalf("%d circles, want %d", len(found), len(tt.want))
			}
			for i, c := range found {
				if !strings.Contains(c.issue.Message, tt.want[i]) || c.issue.Pointer == "" {
					t.Errorf("%.200s at %s", c.issue.Message, c.issue.Pointer)
				}
			}
			for _, i := range []int{0, tt.n / 2, tt.n - 1} {
				item, _ := ws.Item("segment", name(i))
				if issues := NewVerification(ws).circleThrough(item.Read()); (len(issues) > 0) != (len(tt.want) > 0) {
					t.Errorf("through %s: %d", name(i), len(issues))
				}
			}
		})
	}
}

// Against the plain definition: a segment is in a circle when it reaches
// itself.
func TestCirclesAgainstReachability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "segments")
		to := make([][]int, n)
		for i := range to {
			to[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 3, rapid.ID[int]).Draw(t, "to")
		}
		reaches := make([][]bool, n)
		for i := range reaches {
			reaches[i] = make([]bool, n)
			for queue := slices.Clone(to[i]); len(queue) > 0; queue = queue[1:] {
				if j := queue[0]; !reaches[i][j] {
					reaches[i][j] = true
					queue = append(queue, to[j]...)
				}
			}
		}
		ws := segments(n, func(i int) []int { return to[i] })
		groups := 0
		for i := range n {
			first := true
			for j := range i {
				first = first && !(reaches[i][j] && reaches[j][i])
			}
			if reaches[i][i] && first {
				groups++
			}
			item, _ := ws.Item("segment", name(i))
			if issues := NewVerification(ws).circleThrough(item.Read()); (len(issues) == 1) != reaches[i][i] {
				t.Fatalf("%s reaches itself: %v, found %v", name(i), reaches[i][i], issues)
			}
		}
		if found := circles(ws); len(found) != groups {
			t.Fatalf("%d circles, want %d", len(found), groups)
		}
	})
}

// TestMisspeltNames and others that mean nothing: testdata has documents, and what is said.
func TestMisspeltNames(t *testing.T) {
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/misspelt.txt"))(t))), "\n\n") {
		text, want, _ := strings.Cut(block, "\n")
		tree := must.Get(jsontree.Parse([]byte(text)))(t)
		if got := inLines(misspelt(tree, "", documentShape)); got != strings.ReplaceAll(want, "\n", "|") {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
	}
	tree, _ := jsontree.Parse([]byte(`{"environment":[],"environments":["a",{"name":"b","protectd":true,"team":"x"}]}`))
	if got, want := inLines(misspelt(tree, "", fileShape)), `/environment "environment" means nothing here; did you mean environments?|/environments/1/protectd "protectd" means nothing here; did you mean protected?`; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func inLines(issues []document.Issue) string {
	var lines []string
	for _, i := range issues {
		lines = append(lines, fmt.Sprintf("%s %s", i.Pointer, i.Message))
	}
	return strings.Join(lines, "|")
}

// TestTheNamesAreTheSchemas: what editors propose is what is known here.
func TestTheNamesAreTheSchemas(t *testing.T) {
	tree := must.Get(jsontree.Parse(document.SchemaJSON()))(t)
	for at, known := range map[string]shape{
		"": documentShape, "/$defs/scope": documentShape["default"], "/$defs/rule": ruleShape, "/$defs/criterion": criterionShape,
		"/$defs/variant": documentShape["variants"],
	} {
		var properties []string
		for _, m := range tree.At(at + "/properties").Members {
			properties = append(properties, m.Name)
		}
		if got, want := slices.Sorted(slices.Values(properties)), slices.Sorted(maps.Keys(known)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, and %v is known", at, got, want)
		}
	}
	split := contentShapes[document.WeightedValue]
	for _, known := range []shape{documentShape["environments"], valueShape, split, split["weightedValues"], contentShapes[document.ProvidedValue]} {
		for name := range known {
			if !strings.Contains(string(document.SchemaJSON()), `"`+name+`"`) {
				t.Errorf("the schema does not know %s", name)
			}
		}
	}
}
