package document

import (
	"strings"

	"svc.example/svc/shared/jsontree"
)

// WithOtherSecrets is a document with another value of the same type for each confidential
// one below a pointer that is among the values of a second tree, which a write would put
// there: what compares the two finds them different, and cannot tell that they were not.
// It is the document itself where there are none.
func WithOtherSecrets(tree *jsontree.Node, pointer string, second *jsontree.Node) *jsontree.Node {
	sent := map[string]bool{}
	eachValue(second, false, func(value *jsontree.Node, _ bool) { sent[Meaning(value)] = true })
	other := tree.Clone()
	differs := false
	replace := func(value *jsontree.Node, secret bool) {
		if secret && sent[Meaning(value)] {
			value.Set("value", otherContent(value, sent))
			differs = true
		}
	}
	eachValue(other.At(pointer), false, replace)
	if pointer == "" && HasSecrets(tree) { // variants may be what is confidential elsewhere
		eachValue(other.Get("variants"), true, replace)
	}
	if !differs {
		return tree
	}
	return other
}

// HasSecrets says whether a value in a tree is confidential.
func HasSecrets(tree *jsontree.Node) (has bool) {
	eachValue(tree, false, func(_ *jsontree.Node, secret bool) { has = has || secret })
	return has
}

// eachValue visits the Value objects of a tree that are no rollouts, and says whether they,
// or what they are in, are confidential.
func eachValue(n *jsontree.Node, secret bool, visit func(value *jsontree.Node, secret bool)) {
	if n == nil {
		return
	}
	secret = secret || OwnSecrecy(n).Confidential
	if n.Get("type") != nil && n.Get("value") != nil && !IsRollout(n) {
		visit(n, secret)
		return
	}
	for _, m := range n.Members {
		eachValue(m.Value, secret, visit)
	}
	for _, item := range n.Items {
		eachValue(item, secret, visit)
	}
}

// Meaning writes what a Value object serves, so that two that serve the same have the
// same meaning: an int stored as "5" means what one stored as 5.0 does.
func Meaning(value *jsontree.Node) string {
	name, _ := value.Get("type").Text()
	v := Value{Type: ValueType(name).Canonical(), Content: value.Get("value")}
	return string(v.Type) + " " + v.Served().Canonical()
}

// otherContent is what a Value object could hold as well, and none of some others does.
func otherContent(value *jsontree.Node, others map[string]bool) *jsontree.Node {
	name, _ := value.Get("type").Text()
	if held, is := value.Get("value").Bool(); is && ValueType(name).Canonical() == BoolValue {
		return jsontree.NewBool(!held)
	}
	other := value.Clone()
	for n := 0; ; n++ {
		other.Set("value", contentOf(ValueType(name).Canonical(), n))
		if !others[Meaning(other)] {
			return other.Get("value")
		}
	}
}

// contentOf is one of the contents that a value type can have, by a number.
func contentOf(t ValueType, n int) *jsontree.Node {
	text := strings.Repeat("x", n+1)
	switch t {
	case IntValue, DoubleValue:
		return jsontree.NewInt(int64(n))
	case DurationValue:
		return jsontree.NewString("PT" + jsontree.NewInt(int64(n)).Literal() + "S")
	case JSONValue, StringListValue:
		return jsontree.NewArray(jsontree.NewString(text))
	}
	return jsontree.NewString(text)
}
