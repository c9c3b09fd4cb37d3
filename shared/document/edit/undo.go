package edit

import (
	"bytes"
	"slices"
	"strconv"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Version is a document as it stood at some time. The zero Version is none.
type Version struct {
	Text []byte
	Tree *jsontree.Node
}

func (v Version) same(other Version) bool {
	return (v.Tree == nil) == (other.Tree == nil) && bytes.Equal(v.Text, other.Text)
}

// Restore makes the document what it was, byte for byte.
func Restore(now, then Version) *Edited {
	if now.same(then) {
		return &Edited{Tree: now.Tree, Text: now.Text}
	}
	return &Edited{Tree: then.Tree, Text: then.Text, Changed: true}
}

// Undo takes back what a change did, on top of what stands now. Right after the
// change that is the document before it, byte for byte. Later it is merged, by
// members, environments and the elements of lists, so that what others have done
// elsewhere stays. The pointers lead to what has been changed again, in the
// document as it stands; what is there in the result is as before the change.
func Undo(now, before, after Version) (*Edited, []string) {
	switch {
	case now.same(after), now.same(before), jsontree.Equal(now.Tree, after.Tree) && before.Tree == nil:
		return Restore(now, before), nil
	case now.Tree == nil, before.Tree == nil:
		return Restore(now, before), differing(after.Tree, now.Tree, "")
	case after.Tree == nil && jsontree.Equal(now.Tree, before.Tree):
		return &Edited{Tree: now.Tree, Text: now.Text}, nil
	case after.Tree == nil:
		return Restore(now, before), differing(before.Tree, now.Tree, "")
	}
	var m merging
	tree := m.merge(after.Tree, now.Tree, before.Tree, "")
	m.overlaps = append(m.overlaps, leftHeld(tree, now.Tree)...)
	switch {
	case jsontree.Equal(tree, now.Tree):
		return &Edited{Tree: now.Tree, Text: now.Text}, m.overlaps
	case jsontree.Equal(tree, before.Tree):
		return Restore(now, before), m.overlaps
	}
	return &Edited{Tree: tree, Changed: true}, m.overlaps
}

// leftHeld are the holds, in the document as it stands, of plans of which a merge leaves
// nothing else: it would be served for good what was to be held.
func leftHeld(tree, now *jsontree.Node) (pointers []string) {
	holds := func(tree *jsontree.Node, scope string) (held bool) {
		holder, _, _ := findScope(tree, scope)
		plan := document.PlanOf(document.Schedules(document.StoredRules(holder)))
		return plan.Hold != nil && len(plan.Steps) == 0
	}
	scopes := []string{document.DefaultScope}
	for _, entry := range now.Get("environments").Elements() {
		id, _ := entry.Get("id").Text()
		scopes = append(scopes, id)
	}
	for _, scope := range scopes {
		if holds(tree, scope) && !holds(now, scope) {
			_, pointer, _ := findScope(now, scope)
			pointers = append(pointers, pointer+"/rules")
		}
	}
	return pointers
}

// merging is a merge of three trees.
type merging struct{ overlaps []string }

// merge takes theirs where ours is still the base, and ours where theirs is. A
// nil is what is not there. The pointer leads to ours.
func (m *merging) merge(base, ours, theirs *jsontree.Node, pointer string) *jsontree.Node {
	switch {
	case jsontree.Equal(ours, base):
		return theirs
	case jsontree.Equal(theirs, base), jsontree.Equal(ours, theirs):
		return ours
	case theirs == nil && isList(ours) && isList(base): // which says what an empty one does
		if list := m.merge(base, ours, jsontree.NewArray(), pointer); len(list.Items) > 0 {
			return list
		}
		return nil
	case base == nil && isList(ours) && isList(theirs):
		return m.merge(jsontree.NewArray(), ours, theirs, pointer)
	case ours != nil && base != nil && theirs != nil && ours.Kind == base.Kind && ours.Kind == theirs.Kind:
		if b, o, t := parts(base, pointer), parts(ours, pointer), parts(theirs, pointer); b != nil && o != nil && t != nil {
			return m.parts(b, o, t, ours.Kind, pointer)
		}
		if ours.Kind == jsontree.Array {
			return m.elements(base.Items, ours.Items, theirs.Items, pointer)
		}
	}
	m.overlaps = append(m.overlaps, pointer)
	return theirs
}

func isList(n *jsontree.Node) bool { return n != nil && n.Kind == jsontree.Array }

// part is what a tree holds under a name: a member of an object, an
// environment's entry.
type part struct {
	jsontree.Member
	step string // of its pointer
}

// named are parts in their order, and by their names: there may be very many.
type named struct {
	list []part
	at   map[string]*jsontree.Node
}

// parts are those of an object, or of a document's environments; nil for what
// has none. An entry whose id is not its own alone makes a list like any other.
func parts(tree *jsontree.Node, pointer string) *named {
	all := &named{at: map[string]*jsontree.Node{}}
	add := func(m jsontree.Member, step string) {
		all.list = append(all.list, part{m, step})
		all.at[m.Name] = m.Value
	}
	switch {
	case tree.Kind == jsontree.Object:
		for _, member := range tree.Members {
			add(member, jsontree.Pointer(member.Name))
		}
		return all
	case tree.Kind != jsontree.Array || pointer != "/environments":
		return nil
	}
	for i, entry := range tree.Items {
		id, ok := entry.Get("id").Text()
		if !ok || all.at[id] != nil {
			return nil
		}
		add(jsontree.Field(id, entry), "/"+strconv.Itoa(i))
	}
	return all
}

// parts merges by names. What theirs adds comes after what it follows there.
func (m *merging) parts(base, ours, theirs *named, kind jsontree.Kind, pointer string) *jsontree.Node {
	var kept []jsontree.Member
	names := map[string]bool{}
	for _, p := range ours.list {
		if p.Value = m.merge(base.at[p.Name], p.Value, theirs.at[p.Name], pointer+p.step); p.Value != nil {
			kept = append(kept, p.Member)
			names[p.Name] = true
		}
	}
	var first []jsontree.Member
	after := map[string][]jsontree.Member{}
	last, begun := "", false
	for _, p := range theirs.list {
		if names[p.Name] {
			last, begun = p.Name, true
			continue
		}
		if ours.at[p.Name] != nil {
			continue
		}
		if p.Value = m.merge(base.at[p.Name], nil, p.Value, pointer); p.Value == nil {
			continue
		}
		if begun {
			after[last] = append(after[last], p.Member)
		} else {
			first = append(first, p.Member)
		}
	}
	merged := first
	for _, member := range kept {
		merged = append(append(merged, member), after[member.Name]...)
	}
	if kind == jsontree.Object {
		return jsontree.NewObject(merged...)
	}
	list := jsontree.NewArray()
	for _, member := range merged {
		list.Items = append(list.Items, member.Value)
	}
	return list
}

// elements merges two lists that each differ from the base in one run, of which
// neither holds an element of the other. A run among equal elements may begin at
// several: where that makes a difference, it is not known which was meant.
func (m *merging) elements(base, ours, theirs []*jsontree.Node, pointer string) *jsontree.Node {
	o, t := changed(base, ours), changed(base, theirs)
	merged, apart := spliced(base, ours, theirs, o, t)
	for _, other := range [...][2]run{{o.first(base, ours), t}, {o, t.first(base, theirs)}} {
		if !apart || other == [2]run{o, t} {
			continue
		}
		var same *jsontree.Node
		same, apart = spliced(base, ours, theirs, other[0], other[1])
		apart = apart && jsontree.Equal(same, merged)
	}
	if !apart {
		if o.until > o.from {
			pointer += "/" + strconv.Itoa(o.from)
		}
		m.overlaps = append(m.overlaps, pointer)
		return jsontree.NewArray(theirs...)
	}
	return merged
}

// spliced is the base with both runs in it, where they lie apart.
func spliced(base, ours, theirs []*jsontree.Node, o, t run) (*jsontree.Node, bool) {
	first, second, firstItems, secondItems := o, t, ours, theirs
	if t.from < o.from || t.from == o.from && t.to < o.to {
		first, second, firstItems, secondItems = t, o, theirs, ours
	}
	if first.to > second.from || first.from == second.from && first.to == second.to {
		return nil, false
	}
	return jsontree.NewArray(slices.Concat(
		base[:first.from], firstItems[first.from:first.until],
		base[first.to:second.from], secondItems[second.from:second.until],
		base[second.to:])...), true
}

// run is where a list differs from the base: from an index up to to of the base
// and up to until of the list.
type run struct{ from, to, until int }

// changed is the run that begins last.
func changed(base, list []*jsontree.Node) run {
	r := run{0, len(base), len(list)}
	for r.from < min(r.to, r.until) && jsontree.Equal(base[r.from], list[r.from]) {
		r.from++
	}
	for r.from < min(r.to, r.until) && jsontree.Equal(base[r.to-1], list[r.until-1]) {
		r.to, r.until = r.to-1, r.until-1
	}
	return r
}

// first is the run of the same lists that begins first: one that only inserts or
// removes may stand before each element that is equal to its last.
func (r run) first(base, list []*jsontree.Node) run {
	for r.from > 0 && (r.from == r.to && jsontree.Equal(base[r.from-1], list[r.until-1]) || r.from == r.until && jsontree.Equal(base[r.to-1], list[r.from-1])) {
		r = run{r.from - 1, r.to - 1, r.until - 1}
	}
	return r
}

// differing leads to what is not the same in two trees, as far as merge would
// tell it apart; "" is the whole of it.
func differing(was, is *jsontree.Node, pointer string) []string {
	if jsontree.Equal(was, is) {
		return nil
	}
	if was == nil || is == nil || was.Kind != is.Kind {
		return []string{pointer}
	}
	before, after := parts(was, pointer), parts(is, pointer)
	if before == nil || after == nil {
		return []string{pointer}
	}
	var all []string
	for _, p := range after.list {
		all = append(all, differing(before.at[p.Name], p.Value, pointer+p.step)...)
	}
	if slices.ContainsFunc(before.list, func(p part) bool { return after.at[p.Name] == nil }) {
		all = append(all, pointer)
	}
	return all
}
