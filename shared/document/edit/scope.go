package edit

import (
	"fmt"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// openedScope is a scope of a document while it is edited. It needs no more
// of the document than that the lists on the way to the rules are lists: a
// flag must be possible to switch off whatever else is wrong with it.
type openedScope struct {
	given *jsontree.Node // the document as it came: never written to
	tree  *jsontree.Node // the copy that is edited
	scope string
	// own are the scope's stored rules, in given; none when it inherits.
	own        []*jsontree.Node
	previously []*jsontree.Node
	// rules are what the edit begins with, in tree.
	rules []*jsontree.Node
}

func openScope(given *jsontree.Node, scope string) (*openedScope, error) {
	if given == nil || given.Kind != jsontree.Object {
		return nil, notEditable("", "a document is a JSON object")
	}
	s := &openedScope{given: given, tree: given.Clone(), scope: scope}
	holder, pointer, err := findScope(given, scope)
	if err == nil {
		s.own, err = rulesIn(holder, pointer)
	}
	s.previously = s.own
	if err == nil && len(s.own) == 0 && scope != document.DefaultScope {
		s.previously, err = rulesIn(given.Get("default"), "/default")
	}
	if err != nil {
		return nil, err
	}
	s.rules = cloneAll(s.previously)
	return s, nil
}

func cloneAll(nodes []*jsontree.Node) []*jsontree.Node {
	clones := make([]*jsontree.Node, 0, len(nodes))
	for _, n := range nodes {
		clones = append(clones, n.Clone())
	}
	return clones
}

// findScope returns the object that holds a scope's rules, or nil when the
// document has none, and where it is.
func findScope(tree *jsontree.Node, scope string) (holder *jsontree.Node, pointer string, err error) {
	if list := tree.Get("environments"); scope != document.DefaultScope && !list.Absent() && list.Kind != jsontree.Array {
		return nil, "", notEditable("/environments", "environments is an array, not "+list.Kind.String())
	}
	holder, pointer = document.StoredScope(tree, scope)
	return holder, pointer, nil
}

func rulesIn(holder *jsontree.Node, pointer string) ([]*jsontree.Node, error) {
	if holder.Absent() {
		return nil, nil
	}
	if holder.Kind != jsontree.Object {
		return nil, notEditable(pointer, "a scope is an object with rules, not "+holder.Kind.String())
	}
	rules := holder.Get("rules")
	if rules.Absent() {
		return nil, nil
	}
	if rules.Kind != jsontree.Array {
		return nil, notEditable(pointer+"/rules", "rules is an array, not "+rules.Kind.String())
	}
	return rules.Items, nil
}

// store puts the rules where the scope's rules stand in the tree, or where
// they would have been written.
func (s *openedScope) store(rules []*jsontree.Node) {
	holder, _, _ := findScope(s.tree, s.scope)
	list := jsontree.NewArray(rules...)
	switch {
	case !holder.Absent():
		holder.Set("rules", list)
	case s.scope == document.DefaultScope:
		setInOrder(s.tree, "default", jsontree.NewObject(jsontree.Field("rules", list)))
	default:
		environments := s.tree.Get("environments")
		if environments.Absent() {
			environments = jsontree.NewArray()
			setInOrder(s.tree, "environments", environments)
		}
		environments.Items = append(environments.Items, jsontree.NewObject(jsontree.Field("id", jsontree.NewString(s.scope)), jsontree.Field("rules", list)))
	}
}

// memberOrder is the order of a document's members as this code writes them.
var memberOrder = []string{
	"$schema", "key", "type", "valueType", "name", "description", "owner", "access", "tags",
	"readyForCleanup", "sendToClientSdk", "schemaKey", "default", "environments", "variants",
}

// setInOrder replaces a member of a document in place, or puts it behind the
// last one that comes before it in memberOrder.
func setInOrder(tree *jsontree.Node, name string, value *jsontree.Node) {
	if tree.Get(name) != nil {
		tree.Set(name, value)
		return
	}
	before := memberOrder[:slices.Index(memberOrder, name)]
	place := 0
	for i, m := range tree.Members {
		if slices.Contains(before, m.Name) {
			place = i + 1
		}
	}
	tree.Members = slices.Insert(tree.Members, place, jsontree.Field(name, value))
}

// StorageProblem says why a document, once stored, could not be read again;
// "" when it could. What counts is the size of the file, see document.Encode.
func StorageProblem(tree *jsontree.Node) string {
	if depthOf(tree) > jsontree.MaxDepth {
		return fmt.Sprintf("the document would nest deeper than %d levels; send a flatter value", jsontree.MaxDepth)
	}
	if values := tree.Values(); values > document.MaxValues {
		return fmt.Sprintf("the document would have %d values (objects, arrays and what they hold); at most %d can be stored", values, document.MaxValues)
	}
	if tree.EncodedSize() <= document.MaxSize {
		return ""
	}
	if len(tree.Compact())+len("\n") > document.MaxSize { // by how much would tell how long a confidential value is
		return fmt.Sprintf("the document would be too large: at most %d bytes can be stored, without white space", document.MaxSize)
	}
	return ""
}

func depthOf(n *jsontree.Node) int {
	if n.Kind != jsontree.Object && n.Kind != jsontree.Array {
		return 0
	}
	deepest := 0
	for _, m := range n.Members {
		deepest = max(deepest, depthOf(m.Value))
	}
	for _, item := range n.Items {
		deepest = max(deepest, depthOf(item))
	}
	return deepest + 1
}
