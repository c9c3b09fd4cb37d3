package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Rewrite writes a tree into the place of the one that a text holds, and leaves every
// byte of the text as it is that the difference does not touch: what means the same
// keeps its spelling, and its place among its siblings where it can. What is new is
// written in the text's own manner: its line ends, its indentation.
func Rewrite(text []byte, tree *Node) ([]byte, error) {
	old, err := Parse(text)
	if err != nil {
		return nil, err
	}
	w := rewriter{text: text, eol: "\n", unit: "  "}
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		w.eol = "\r\n"
	}
	begin := w.skip(0)
	root := w.span(old, begin)
	w.spaced = true
	if len(root.children) > 0 {
		first := root.children[0]
		if lead := text[first.lead:first.from]; bytes.IndexByte(lead, '\n') >= 0 {
			w.unit = string(lead[bytes.LastIndexByte(lead, '\n')+1:])
		}
		if between := text[first.from:first.value.from]; first.name != "" {
			w.spaced = bytes.HasSuffix(between, []byte(" "))
		}
	}
	w.out = append(w.out, text[:begin]...)
	w.put(root, tree, !root.multiline(text))
	w.out = append(w.out, text[root.to:]...)
	if written, err := Parse(w.out); err != nil || !Equal(written, tree) {
		return nil, errors.New("the text cannot be rewritten")
	}
	return w.out, nil
}

// span is where a value stands in a text.
type span struct {
	node     *Node
	from, to int
	children []child // of an object or an array
}

// child is a member of an object or an element of an array. Its lead is the white
// space before it.
type child struct {
	name       string
	lead, from int
	value      *span
}

func (s *span) multiline(text []byte) bool {
	return len(s.children) == 0 || bytes.IndexByte(text[s.children[0].lead:s.children[0].from], '\n') >= 0
}

type rewriter struct {
	text      []byte
	eol, unit string
	spaced    bool // there is a space behind colons
	out       []byte
}

func (w *rewriter) skip(at int) int {
	for at < len(w.text) && (w.text[at] == ' ' || w.text[at] == '\t' || w.text[at] == '\n' || w.text[at] == '\r') {
		at++
	}
	return at
}

// scalarEnd is where a scalar ends that begins at a place.
func (w *rewriter) scalarEnd(at int) int {
	if w.text[at] != '"' {
		if n := bytes.IndexAny(w.text[at:], " \t\r\n,]}"); n >= 0 {
			return at + n
		}
		return len(w.text)
	}
	for at++; w.text[at] != '"'; at++ {
		if w.text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// The text is known to be JSON, so that what is looked for is there.
func (w *rewriter) span(n *Node, at int) *span {
	s := &span{node: n, from: at}
	if n.Kind != Object && n.Kind != Array {
		s.to = w.scalarEnd(at)
		return s
	}
	at++
	for i := range len(n.Members) + len(n.Items) {
		if i > 0 {
			at = w.skip(at) + len(",")
		}
		c := child{lead: at, from: w.skip(at)}
		value, from := (*Node)(nil), c.from
		if n.Kind == Object {
			m := n.Members[i]
			c.name, value = m.Name, m.Value
			from = w.skip(w.skip(w.scalarEnd(from)) + len(":"))
		} else {
			value = n.Items[i]
		}
		c.value = w.span(value, from)
		s.children = append(s.children, c)
		at = c.value.to
	}
	s.to = w.skip(at) + len("]")
	return s
}

// put writes a value in the place of an old one. Inline is one within what stands on
// one line.
func (w *rewriter) put(old *span, n *Node, inline bool) {
	switch {
	case Equal(old.node, n):
		w.out = append(w.out, w.text[old.from:old.to]...)
	case n.Kind == old.node.Kind && len(old.children) > 0 && len(n.Members)+len(n.Items) > 0:
		w.container(old, n)
	case n.Kind == old.node.Kind && w.fill(w.text[old.from:old.to], n, inline):
	default:
		w.fresh(n, w.indentation(old.from), inline)
	}
}

// indentation is that of the line of a place.
func (w *rewriter) indentation(at int) string {
	line := w.text[bytes.LastIndexByte(w.text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// placed is a child as it is to be: the number of the old one in whose place it
// stands, -1 for none, and its own number.
type placed struct{ old, now int }

func (w *rewriter) container(old *span, n *Node) {
	first := old.children[0]
	lead := w.text[first.lead:first.from]
	inline := !old.multiline(w.text)
	next := []byte(w.eol + string(lead[bytes.LastIndexByte(lead, '\n')+1:])) // before a child that has no place of its own
	switch {
	case !inline:
	case len(old.children) > 1:
		next = w.text[old.children[1].lead:old.children[1].from]
	case w.spaced:
		next = []byte(" ")
	default:
		next = nil
	}
	w.out = append(w.out, w.text[old.from])
	all := members(old.node, n)
	if n.Kind == Array {
		all = elements(old.node, n)
	}
	for i, p := range all {
		switch {
		case i == 0:
			w.out = append(w.out, lead...)
		case p.old > 0:
			w.out = append(append(w.out, ','), w.text[old.children[p.old].lead:old.children[p.old].from]...)
		default:
			w.out = append(append(w.out, ','), next...)
		}
		value := (*Node)(nil)
		if n.Kind == Array {
			value = n.Items[p.now]
		} else {
			value = n.Members[p.now].Value
		}
		if p.old >= 0 {
			c := &old.children[p.old]
			w.out = append(w.out, w.text[c.from:c.value.from]...)
			w.put(c.value, value, inline)
			if i < len(all)-1 && p.old < len(old.children)-1 {
				w.out = append(w.out, w.text[c.value.to:w.skip(c.value.to)]...)
			}
			continue
		}
		w.child(n, p.now, string(lead[bytes.LastIndexByte(lead, '\n')+1:]), inline)
	}
	last := old.children[len(old.children)-1].value.to
	w.out = append(w.out, w.text[last:old.to]...)
}

// fill writes what is put into an empty object or array, whose text is given, where there
// is white space in it that tells how: that stays around what is put in.
func (w *rewriter) fill(old []byte, n *Node, inline bool) bool {
	count := len(n.Members) + len(n.Items)
	at := bytes.LastIndexByte(old, '\n')
	if count == 0 || at < 0 && (!inline || len(old) <= len("[]")) {
		return false
	}
	head, tail, between, indentation, begin := old[:len(old)-1], old[1:], " ", "", ""
	if at >= 0 {
		head = bytes.TrimSuffix(old[:at], []byte("\r"))
		tail, indentation = old[len(head):], string(old[at+1:len(old)-1])+w.unit
		between, inline = w.eol+indentation, false
		begin = between
	}
	w.out = fmt.Appendf(w.out, "%s%s", head, begin)
	for i := range count {
		if i > 0 {
			w.out = fmt.Appendf(w.out, ",%s", between)
		}
		w.child(n, i, indentation, inline)
	}
	w.out = append(w.out, tail...)
	return true
}

// child writes a member or an element that is new.
func (w *rewriter) child(n *Node, i int, indentation string, inline bool) {
	if n.Kind == Array {
		w.fresh(n.Items[i], indentation, inline)
		return
	}
	colon := ":"
	if w.spaced {
		colon = ": "
	}
	w.out = fmt.Appendf(w.out, "%s%s", n.Members[i].text, colon)
	w.fresh(n.Members[i].Value, indentation, inline)
}

// fresh writes a value that is new.
func (w *rewriter) fresh(n *Node, indentation string, inline bool) {
	if !inline {
		const two = len("  ")
		for i, line := range bytes.Split(n.indented(), []byte("\n")) { // no text has a line break
			if i > 0 {
				w.out = append(append(w.out, w.eol...), indentation...)
				for depth := (len(line) - len(bytes.TrimLeft(line, " "))) / two; depth > 0; depth-- {
					w.out = append(w.out, w.unit...)
				}
			}
			w.out = append(w.out, bytes.TrimLeft(line, " ")...)
		}
		return
	}
	if n.Kind != Object && n.Kind != Array || !w.spaced {
		w.out = n.AppendCompact(w.out)
		return
	}
	brackets := "[]"
	if n.Kind == Object {
		brackets = "{}"
	}
	w.out = append(w.out, brackets[0])
	for i := range len(n.Members) + len(n.Items) {
		if i > 0 {
			w.out = append(w.out, ", "...)
		}
		w.child(n, i, "", true)
	}
	w.out = append(w.out, brackets[1])
}

// maxCompared bounds how many pairs of children are compared.
const maxCompared = 1 << 22

// members are those of an object as they are to be: in their old order, which means
// nothing, and new ones behind those that they follow.
func members(old, n *Node) []placed {
	at := make(map[string]int, len(old.Members))
	for i, m := range old.Members {
		at[m.Name] = i
	}
	now, behind := make(map[int]int, len(n.Members)), map[int][]placed{}
	last := -1
	for i, m := range n.Members {
		if before, kept := at[m.Name]; kept {
			now[before], last = i, before
		} else {
			behind[last] = append(behind[last], placed{-1, i})
		}
	}
	all := behind[-1]
	for i := range old.Members {
		if n, kept := now[i]; kept {
			all = append(append(all, placed{i, n}), behind[i]...)
		}
	}
	return all
}

// elements are those of an array as they are to be: each that is the same in its own
// place, and between them one after the other.
func elements(old, n *Node) []placed {
	olds, news := canonical(old), canonical(n)
	from, oldTo, newTo := 0, len(olds), len(news)
	var all, end []placed
	for from < oldTo && from < newTo && olds[from] == news[from] {
		all = append(all, placed{from, from})
		from++
	}
	for oldTo > from && newTo > from && olds[oldTo-1] == news[newTo-1] {
		oldTo, newTo = oldTo-1, newTo-1
		end = append(end, placed{oldTo, newTo})
	}
	slices.Reverse(end)
	i := from
	gap := func(oldTo, newTo, at int) { // what lies between two that are paired
		for now := at; now < newTo; now++ {
			p := placed{-1, now}
			if i < oldTo {
				p.old = i
				i++
			}
			all = append(all, p)
		}
	}
	at := from
	if (oldTo-from)*(newTo-from) <= maxCompared {
		for _, p := range common(olds[from:oldTo], news[from:newTo]) {
			gap(from+p.old, from+p.now, at)
			all = append(all, placed{from + p.old, from + p.now})
			i, at = from+p.old+1, from+p.now+1
		}
	}
	gap(oldTo, newTo, at)
	return append(all, end...)
}

func canonical(n *Node) []string {
	var all []string
	for _, item := range n.Items {
		all = append(all, item.Canonical())
	}
	return all
}

// common is a longest common subsequence.
func common(a, b []string) []placed {
	longest := make([][]int32, len(a)+1)
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	var all []placed
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			all = append(all, placed{i, j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return all
}
