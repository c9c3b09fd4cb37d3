package mcpserver

import (
	"strconv"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// hidden stands for a confidential value.
const hidden = "(confidential)"

// withoutSecrets is a document without its confidential values, and how many there
// are. Who sees them at work in a conversation has them in somebody else's logs.
func withoutSecrets(tree *jsontree.Node) (told *jsontree.Node, n int) {
	told = tree.Clone()
	eachSecret(told, "", func(holder *jsontree.Node, _ string) {
		holder.Set("value", jsontree.NewString(hidden))
		n++
	})
	if n > 0 && told.Get("variants") != nil { // a plain one may be the secret, and its name may tell it
		told.Set("variants", jsontree.NewString(hidden))
	}
	return told, n
}

// eachSecret visits what holds a confidential value, by pointers.
func eachSecret(n *jsontree.Node, pointer string, visit func(holder *jsontree.Node, pointer string)) {
	if document.OwnSecrecy(n).Confidential && n.Get("value") != nil {
		visit(n, pointer)
		return
	}
	for _, m := range n.Members {
		eachSecret(m.Value, pointer+jsontree.Pointer(m.Name), visit)
	}
	for i, item := range n.Items {
		eachSecret(item, pointer+"/"+strconv.Itoa(i), visit)
	}
}

// hiddenAt is where a document that was to be written has the place of a value that was
// hidden, or "".
func hiddenAt(tree *jsontree.Node) (pointer string, found bool) {
	eachSecret(tree, "", func(holder *jsontree.Node, at string) {
		if text(holder, "value") == hidden {
			pointer, found = at+"/value", true
		}
	})
	if text(tree, "variants") == hidden {
		return "/variants", true
	}
	return pointer, found
}
