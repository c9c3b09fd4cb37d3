package gitremote

import (
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// mergeDocuments is a document with the changes of both sides since a base: one may have
// changed an environment, the other another one, or a field beside. It is not ok where both have
// changed the same, or where one of them is no document.
func mergeDocuments(base, ours, theirs []byte) (merged []byte, ok bool) {
	var trees [3]*jsontree.Node
	for i, text := range [][]byte{base, ours, theirs} {
		tree, err := jsontree.ParseWithin(text, document.MaxValues)
		if err != nil || tree.Kind != jsontree.Object || tree.Get("key") == nil || tree.Get("type") == nil {
			return nil, false
		}
		trees[i] = tree
	}
	environments := trees[1].Get("environments")
	if trees[1], ok = mergeMembers(trees[0], trees[1], trees[2], "environments"); !ok {
		return nil, false
	}
	list, ok := mergeEnvironments(trees[0].Get("environments"), environments, trees[2].Get("environments"))
	switch {
	case !ok:
		return nil, false
	case list != nil:
		trees[1].Set("environments", list)
	default:
		trees[1].Delete("environments")
	}
	merged, err := jsontree.Rewrite(ours, trees[1])
	return merged, err == nil
}

// mergeOne is the value of the side that has changed it; nil for none. Both may have changed it alike.
func mergeOne(base, ours, theirs *jsontree.Node) (*jsontree.Node, bool) {
	same := func(a, b *jsontree.Node) bool { return (a == nil) == (b == nil) && (a == nil || jsontree.Equal(a, b)) }
	switch {
	case same(ours, theirs), same(theirs, base):
		return ours, true
	case same(ours, base):
		return theirs, true
	}
	return nil, false
}

// mergeMembers merges an object member by member, but for one.
func mergeMembers(base, ours, theirs *jsontree.Node, but string) (*jsontree.Node, bool) {
	merged := ours.Clone()
	for _, side := range []*jsontree.Node{ours, theirs} {
		for _, m := range side.Members {
			if m.Name == but {
				continue
			}
			value, ok := mergeOne(base.Get(m.Name), ours.Get(m.Name), theirs.Get(m.Name))
			switch {
			case !ok:
				return nil, false
			case value == nil:
				merged.Delete(m.Name)
			default:
				merged.Set(m.Name, value.Clone())
			}
		}
	}
	return merged, true
}

// mergeEnvironments merges lists of what environments have of their own; nil is none.
func mergeEnvironments(base, ours, theirs *jsontree.Node) (*jsontree.Node, bool) {
	if list, ok := mergeOne(base, ours, theirs); ok {
		return list, true
	}
	var by [3]map[string]*jsontree.Node
	var order []string
	for i, list := range []*jsontree.Node{base, ours, theirs} {
		by[i] = map[string]*jsontree.Node{}
		if list != nil && list.Kind != jsontree.Array {
			return nil, false
		}
		for _, e := range list.Elements() {
			name := e.Get("id")
			if name == nil {
				return nil, false
			}
			id, named := name.Text()
			if !named || by[i][id] != nil {
				return nil, false
			}
			if i == 1 || i == 2 && by[1][id] == nil {
				order = append(order, id)
			}
			by[i][id] = e
		}
	}
	merged := jsontree.NewArray()
	for _, id := range order {
		e, ok := mergeOne(by[0][id], by[1][id], by[2][id])
		if !ok {
			return nil, false
		}
		if e != nil {
			merged.Items = append(merged.Items, e.Clone())
		}
	}
	return merged, true
}
