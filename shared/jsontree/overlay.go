package jsontree

import "encoding/json"

// Overlay writes a value over the stored text of an earlier one and keeps what
// the text holds beyond it: members that a newer version of the program has
// written and that this one does not know. Was is the value as it was read from
// the text, now the value as it is to be; both are encoded by encoding/json. A
// member that was known and is gone is removed. Objects within objects are
// treated alike, and so are objects within lists that have the same text as
// their id; anything else is replaced as a whole.
func Overlay(stored []byte, was, now any) (*Node, error) {
	var trees [2]*Node
	for i, v := range []any{was, now} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if trees[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	tree, err := Parse(stored)
	if err != nil {
		return nil, err
	}
	return overlay(tree, trees[0], trees[1]), nil
}

func overlay(stored, was, now *Node) *Node {
	switch {
	case stored == nil || stored.Kind != now.Kind:
		return now
	case now.Kind == Array:
		for i, item := range now.Items {
			now.Items[i] = overlay(stored.identified(item), was.identified(item), item)
		}
		return now
	case now.Kind != Object:
		return now
	}
	if was != nil {
		for _, m := range was.Members {
			if now.Get(m.Name) == nil {
				stored.Delete(m.Name)
			}
		}
	}
	for _, m := range now.Members {
		stored.Set(m.Name, overlay(stored.Get(m.Name), was.Get(m.Name), m.Value))
	}
	return stored
}

// identified is the item of a list that has the same id as another.
func (n *Node) identified(other *Node) *Node {
	id, known := other.Get("id").Text()
	if n == nil || !known {
		return nil
	}
	for _, item := range n.Items {
		if found, ok := item.Get("id").Text(); ok && found == id {
			return item
		}
	}
	return nil
}
