package document

import (
	"crypto/rand"
	"strconv"

	"svc.example/svc/shared/jsontree"
)

// mark begins what stands for a confidential value in a masked document. It is drawn for
// each process, so that no value that somebody sends is one.
var mark = "confidential " + rand.Text() + " "

// Mask is a document with a mark in the place of each confidential value, and of each
// variant where there are any: it equals that of the same place in the same version, and
// nothing else. So what works on masked documents answers no question about what they
// hide. The values are by their marks; without any the document is the same.
func Mask(tree *jsontree.Node, version func(pointer string, content *jsontree.Node) string) (masked *jsontree.Node, values map[string]*jsontree.Node) {
	values = map[string]*jsontree.Node{}
	masked = tree.Clone()
	hide := func(value *jsontree.Node, pointer string) {
		content := value.Get("value")
		text := mark + version(pointer, content) + " " + pointer
		values[text] = content
		value.Set("value", jsontree.NewString(text))
	}
	EachSecret(masked, hide)
	if len(values) == 0 {
		return tree, nil
	}
	eachValue(masked.Get("variants"), "/variants", true, func(value *jsontree.Node, pointer string, _ bool) {
		if !Masked(value.Get("value")) {
			hide(value, pointer)
		}
	})
	return masked, values
}

// Masked reports whether a value's content is a mark.
func Masked(content *jsontree.Node) bool { return content.BeginsWith(mark) }

// Unmask is a document with the values in the places of their marks.
func Unmask(tree *jsontree.Node, values map[string]*jsontree.Node) *jsontree.Node {
	if tree == nil || len(values) == 0 {
		return tree
	}
	shown := tree.Clone()
	for n := range shown.All() {
		if text, is := n.Text(); is && values[text] != nil {
			*n = *values[text].Clone()
		}
	}
	return shown
}

// EachSecret visits the Value objects of a tree that are confidential, or in what is, by
// their pointers.
func EachSecret(tree *jsontree.Node, visit func(value *jsontree.Node, pointer string)) {
	eachValue(tree, "", false, func(value *jsontree.Node, pointer string, secret bool) {
		if secret {
			visit(value, pointer)
		}
	})
}

// SecretsApart is a document in which each confidential value is another one.
func SecretsApart(tree *jsontree.Node) *jsontree.Node {
	apart := tree.Clone()
	EachSecret(apart, func(value *jsontree.Node, pointer string) { *value.Get("value") = *jsontree.NewString(pointer) })
	return apart
}

// eachValue visits what has a value, but for rollouts, and reports whether it, or what it is
// in, is confidential.
func eachValue(n *jsontree.Node, pointer string, secret bool, visit func(value *jsontree.Node, pointer string, secret bool)) {
	if n == nil {
		return
	}
	own := OwnSecrecy(n).Confidential
	secret = secret || own
	if n.Get("value") != nil && (n.Get("type") != nil || own) && !IsRollout(n) {
		visit(n, pointer, secret)
		return
	}
	for _, m := range n.Members {
		eachValue(m.Value, pointer+jsontree.Pointer(m.Name), secret, visit)
	}
	for i, item := range n.Items {
		eachValue(item, pointer+"/"+strconv.Itoa(i), secret, visit)
	}
}

// Meaning writes what a Value object serves, so that two that serve the same have the
// same meaning: an int stored as "5" means what one stored as 5.0 does.
func Meaning(value *jsontree.Node) string {
	name, _ := value.Get("type").Text()
	v := Value{Type: ValueType(name).Canonical(), Content: value.Get("value")}
	return string(v.Type) + " " + v.Served().Canonical()
}
