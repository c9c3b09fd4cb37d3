package edit

import (
	"slices"

	"svc.example/svc/shared/jsontree"
)

// CopyScope gives an environment the rules of another. One that inherits the
// default rules has none, and then neither has the other.
func CopyScope(tree *jsontree.Node, from, to string) (*Edited, error) {
	s, err := openScope(tree, to)
	if err != nil {
		return nil, err
	}
	source, pointer, err := findScope(tree, from)
	if err != nil {
		return nil, err
	}
	rules, err := rulesIn(source, pointer)
	if err != nil {
		return nil, err
	}
	if jsontree.Equal(jsontree.NewArray(rules...), jsontree.NewArray(s.own...)) {
		return &Edited{Tree: tree}, nil
	}
	if len(rules) > 0 {
		s.store(cloneAll(rules))
		return &Edited{Tree: s.tree, Changed: true}, nil
	}
	environments := s.tree.Get("environments")
	environments.Items = slices.DeleteFunc(environments.Items, func(entry *jsontree.Node) bool {
		id, _ := entry.Get("id").Text()
		return id == to
	})
	if len(environments.Items) == 0 {
		s.tree.Delete("environments")
	}
	return &Edited{Tree: s.tree, Changed: true}, nil
}
