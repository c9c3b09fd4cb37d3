package document

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/jsontree"
)

// secrecy is what a Value object says of its content being secret.
type secrecy struct {
	confidential bool
	decryptWith  string
}

// secrecyOf reads what a stored value makes of all that it serves: for a
// rollout, what all of its arms have in common.
func secrecyOf(value *jsontree.Node) secrecy {
	arms := armsOf(value)
	if len(arms) == 0 {
		return ownSecrecy(value)
	}
	common := ownSecrecy(arms[0].Get("value"))
	for _, arm := range arms[1:] {
		of := ownSecrecy(arm.Get("value"))
		common.confidential = common.confidential && of.confidential
		if of.decryptWith != common.decryptWith {
			common.decryptWith = ""
		}
	}
	return ownSecrecy(value).or(common)
}

// armSecrecy is how secret a value is that takes the place of a rollout: as
// much as the arm that it is, else as the most secret one.
func armSecrecy(stored, typed *jsontree.Node) secrecy {
	var most secrecy
	wanted := meaning(typed)
	for _, arm := range armsOf(stored) {
		of := ownSecrecy(arm.Get("value"))
		if meaning(arm.Get("value")) == wanted {
			return of
		}
		most.confidential = most.confidential || of.confidential
	}
	return most
}

// ownSecrecy takes every confidential but false to mean true: a marker that is
// misspelt must not publish what it was meant to hide.
func ownSecrecy(value *jsontree.Node) secrecy {
	marker := value.Get("confidential")
	truth, isBool := marker.Truth()
	key, _ := value.Get("decryptWith").Text()
	return secrecy{!absent(marker) && (truth || !isBool), key}
}

// or fills what s does not say from another's.
func (s secrecy) or(other secrecy) secrecy {
	s.confidential = s.confidential || other.confidential
	if s.decryptWith == "" {
		s.decryptWith = other.decryptWith
	}
	return s
}

// mark writes the secrecy onto a Value object that does not say it yet.
func (s secrecy) mark(value *jsontree.Node) {
	own := ownSecrecy(value)
	if s.confidential && !own.confidential {
		value.Set("confidential", jsontree.NewBool(true))
	}
	if s.decryptWith != "" && own.decryptWith != s.decryptWith {
		value.Set("decryptWith", jsontree.NewString(s.decryptWith))
	}
}

// typed is TypedValue, or the same for ciphertext.
func (s secrecy) typed(valueType ValueType, bare *jsontree.Node) (*jsontree.Node, string) {
	if s.decryptWith == "" {
		return TypedValue(valueType, bare)
	}
	if problem := want(bare, jsontree.String, "the value here is stored encrypted: what is sent is its ciphertext, which"); problem != "" {
		return nil, problem
	}
	return valueObject(valueType, bare.Clone()), ""
}

// servedPlain makes of a stored value one that serves the typed value. What
// the stored one says besides stays, and so does its spelling when it serves
// the same already.
func servedPlain(stored, typed *jsontree.Node, secret secrecy) *jsontree.Node {
	value := typed
	if stored != nil && stored.Kind == jsontree.Object {
		value = stored.Clone()
		if meaning(stored) != meaning(typed) {
			setType(value, typed)
			value.Set("value", typed.Get("value"))
		}
	}
	secret.mark(value)
	return value
}

// plaintext is servedPlain for content that the server itself writes, which is
// never ciphertext.
func plaintext(stored, typed *jsontree.Node) *jsontree.Node {
	secret := secrecyOf(stored).or(armSecrecy(stored, typed))
	secret.decryptWith = ""
	value := servedPlain(stored, typed, secret)
	value.Delete("decryptWith")
	return value
}

// setType leaves a type alone that says the same, however it is escaped.
func setType(value, typed *jsontree.Node) {
	if !jsontree.Equal(value.Get("type"), typed.Get("type")) {
		value.Set("type", typed.Get("type"))
	}
}

// variantsOf maps the meaning of each variant of a flag to its secrecy.
func variantsOf(tree *jsontree.Node) map[string]secrecy {
	variants := map[string]secrecy{}
	for _, variant := range itemsOf(tree.Get("variants")) {
		value := variant.Get("value")
		key := meaning(value)
		variants[key] = variants[key].or(ownSecrecy(value))
	}
	return variants
}

func itemsOf(n *jsontree.Node) []*jsontree.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// meaning writes what a Value object serves, so that two that serve the same
// have the same meaning: an int stored as "5" means what one stored as 5.0 does.
func meaning(value *jsontree.Node) string {
	name, _ := value.Get("type").Text()
	v := Value{Type: canonicalType(ValueType(name)), Content: value.Get("value")}
	return string(v.Type) + " " + canonical(v.Served())
}

// canonical writes a tree so that trees that jsontree.Equal finds the same are
// written the same.
func canonical(n *jsontree.Node) string {
	var b strings.Builder
	writeCanonical(&b, n)
	return b.String()
}

func writeCanonical(b *strings.Builder, n *jsontree.Node) {
	switch {
	case n == nil:
		b.WriteByte('?')
	case n.Kind == jsontree.Object:
		writeMembers(b, n)
	case n.Kind == jsontree.Array:
		b.WriteByte('[')
		for _, item := range n.Items {
			writeCanonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case n.Kind == jsontree.String:
		text, _ := n.Text()
		b.WriteString(strconv.Quote(text))
	case n.Kind == jsontree.Number:
		b.WriteString(jsontree.NumberText(n.Literal()))
	default:
		b.Write(n.Compact())
	}
}

func writeMembers(b *strings.Builder, n *jsontree.Node) {
	members := make(map[string]*jsontree.Node, len(n.Members))
	for _, m := range n.Members {
		members[m.Name] = m.Value
	}
	b.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b.WriteString(strconv.Quote(name) + ":")
		writeCanonical(b, members[name])
		b.WriteByte(',')
	}
	b.WriteByte('}')
}
