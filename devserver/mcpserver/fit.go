package mcpserver

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"unicode/utf8"

	"svc.example/svc/shared/jsontree"
)

// maxResult is how many bytes a result has at most, as JSON: of its text, what JSON
// escapes counts as it is escaped.
const (
	maxResult = 16 << 10
	envelope  = 256 // what surrounds the text
)

// answer is what a tool tells.
type answer struct {
	tree *jsontree.Node // an object
	// list names the member that ends early where not everything fits, and "omitted"
	// counts the rest. next may say how to go on after so many rows; a member without a
	// value is taken out.
	list string
	next func(shown int) []jsontree.Member
}

// text is the answer as JSON that is no longer than a result may be.
func (a answer) text() string {
	if text, fits := compact(a.tree); fits {
		return text
	}
	tree := a.tree
	if rows := tree.Get(a.list).Elements(); a.list != "" && len(rows) > 0 {
		for _, b := range []bound{{20, 1000, 8}, {10, 200, 6}, {3, 60, 4}} {
			var short []*jsontree.Node
			for _, row := range rows {
				short = append(short, b.shorten(row, 1))
			}
			whole := b.shorten(tree.Without(a.list), 0)
			before, _ := strconv.Atoi(tree.Get("omitted").Literal()) // what was not even listed
			with := func(n int) *jsontree.Node {
				made := whole.Clone()
				made.Set(a.list, jsontree.NewArray(short[:n]...))
				if n < len(short) {
					made.Set("omitted", jsontree.NewInt(int64(before+len(short)-n)))
				}
				if a.next != nil && n > 0 && n < len(short) {
					for _, m := range a.next(n) {
						if made.Delete(m.Name); m.Value != nil {
							made.Set(m.Name, m.Value)
						}
					}
				}
				return made
			}
			n := sort.Search(len(short)+1, func(n int) bool { _, fits := compact(with(n)); return !fits }) - 1
			if n > 0 {
				text, _ := compact(with(n))
				return text
			}
		}
	}
	for _, b := range []bound{{500, 4000, 40}, {200, 1000, 30}, {100, 500, 20}, {50, 300, 20}, {20, 200, 15}, {10, 100, 12}, {5, 100, 10}, {3, 60, 8}, {2, 40, 6}, {1, 40, 4}} {
		if text, fits := compact(b.shorten(tree, 0)); fits {
			return text
		}
	}
	return `{"omitted":"everything: it is too large to be told; ask for less"}`
}

func compact(tree *jsontree.Node) (text string, fits bool) {
	text = string(tree.Compact())
	if len(text) > maxResult {
		return "", false
	}
	escaped, err := json.Marshal(text)
	return text, err == nil && len(escaped) <= maxResult-envelope
}

// bound is how much of an answer is told: entries of a list and members of an object,
// bytes of a text, and levels.
type bound struct{ entries, bytes, depth int }

// shorten is a copy within the bound. What is left out is counted where it was: of a
// list that is a member, in a member beside it.
func (b bound) shorten(n *jsontree.Node, depth int) *jsontree.Node {
	switch n.Kind {
	case jsontree.String:
		if text, _ := n.Text(); len(text) > b.bytes {
			return jsontree.NewString(b.cut(text))
		}
		return n
	case jsontree.Array:
		if depth >= b.depth && len(n.Items) > 0 {
			return leftOut(len(n.Items), "entries")
		}
		short := jsontree.NewArray()
		for _, item := range n.Items[:min(len(n.Items), b.entries)] {
			entry := b.shorten(item, depth+1)
			if rest := len(item.Items) - b.entries; entry.Kind == jsontree.Array && rest > 0 {
				entry.Items = append(entry.Items, leftOut(rest, "more entries"))
			}
			short.Items = append(short.Items, entry)
		}
		return short
	case jsontree.Object:
		if depth >= b.depth && len(n.Members) > 0 {
			return leftOut(len(n.Members), "members")
		}
		most := max(b.entries, 12) // an answer's own members are few
		short := jsontree.NewObject()
		for i, m := range n.Members {
			if i == most {
				short.Set("…", leftOut(len(n.Members)-most, "more members"))
				break
			}
			name, value := b.cut(m.Name), b.shorten(m.Value, depth+1)
			short.Members = append(short.Members, jsontree.Field(name, value))
			if rest := len(m.Value.Items) - b.entries; value.Kind == jsontree.Array && rest > 0 {
				short.Set(name+"Omitted", jsontree.NewInt(int64(rest)))
			}
		}
		return short
	}
	if literal := n.Literal(); len(literal) > b.bytes {
		return leftOut(len(literal), "digits")
	}
	return n
}

// cut is a text of no more bytes, and how many it lacks.
func (b bound) cut(text string) string {
	if len(text) <= b.bytes {
		return text
	}
	end := b.bytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d more bytes)", text[:end], len(text)-end)
}

func leftOut(n int, what string) *jsontree.Node {
	return jsontree.NewString(fmt.Sprintf("(left out: %d %s)", n, what))
}
