package mcpserver

import (
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// hidden stands for a confidential value.
const hidden = "(confidential)"

// withoutSecrets is a document without its confidential values, and how many there
// are: a conversation with them ends up in somebody else's logs.
func withoutSecrets(tree *jsontree.Node) (told *jsontree.Node, n int) {
	told = tree.Clone()
	document.EachSecret(told, func(holder *jsontree.Node, _ string) {
		holder.Set("value", jsontree.NewString(hidden))
		n++
	})
	if n > 0 && told.Get("variants") != nil { // a plain one may be the secret, and its name may tell it
		told.Set("variants", jsontree.NewString(hidden))
	}
	return told, n
}

// masked are files in which what is confidential answers no question.
func masked(files map[string][]byte) map[string][]byte {
	shown := map[string][]byte{}
	for path, text := range files {
		shown[path] = text
		tree, err := document.Parse(text)
		if err != nil {
			continue
		}
		other, values := document.Mask(tree, func(string, *jsontree.Node) string { return "" })
		if len(values) == 0 {
			continue
		}
		if shown[path], err = jsontree.Rewrite(text, other); err != nil { // with the lines as they are
			shown[path] = document.Encode(other)
		}
	}
	return shown
}

// hiddenAt is where a document that was to be written has the place of a value that was
// hidden, or "".
func hiddenAt(tree *jsontree.Node) (pointer string, found bool) {
	document.EachSecret(tree, func(holder *jsontree.Node, at string) {
		if text(holder, "value") == hidden {
			pointer, found = at+"/value", true
		}
	})
	if text(tree, "variants") == hidden {
		return "/variants", true
	}
	return pointer, found
}
