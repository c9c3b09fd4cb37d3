package edit

import (
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// armSecrecy is how secret a value is that takes the place of a rollout: as
// much as the arm that it is, else as the most secret one.
func armSecrecy(stored, typed *jsontree.Node) document.Secrecy {
	var most document.Secrecy
	wanted := document.Meaning(typed)
	for _, arm := range document.StoredArms(stored) {
		of := document.OwnSecrecy(arm.Get("value"))
		if document.Meaning(arm.Get("value")) == wanted {
			return of
		}
		most.Confidential = most.Confidential || of.Confidential
	}
	return most
}

// mark writes the secrecy onto a Value object that does not say it yet.
func mark(value *jsontree.Node, s document.Secrecy) {
	own := document.OwnSecrecy(value)
	if s.Confidential && !own.Confidential {
		value.Set("confidential", jsontree.NewBool(true))
	}
	if s.DecryptWith != "" && own.DecryptWith != s.DecryptWith {
		value.Set("decryptWith", jsontree.NewString(s.DecryptWith))
	}
}

// typedSecret is TypedValue, or the same for ciphertext.
func typedSecret(s document.Secrecy, valueType document.ValueType, bare *jsontree.Node) (*jsontree.Node, string) {
	if s.DecryptWith == "" {
		return TypedValue(valueType, bare)
	}
	if problem := document.Want(bare, jsontree.String, "the value here is stored encrypted: what is sent is its ciphertext, which"); problem != "" {
		return nil, problem
	}
	return valueObject(valueType, bare), ""
}

// servedPlain makes of a stored value one that serves the typed value. What
// the stored one says besides stays, and so does its spelling when it serves
// the same already.
func servedPlain(stored, typed *jsontree.Node, secret document.Secrecy) *jsontree.Node {
	value := typed
	if stored != nil && stored.Kind == jsontree.Object {
		value = stored.Clone()
		if document.Meaning(stored) != document.Meaning(typed) {
			setType(value, typed)
			value.Set("value", typed.Get("value"))
		}
	}
	mark(value, secret)
	return value
}

// plaintext is servedPlain for content that the server itself writes, which is
// never ciphertext.
func plaintext(stored, typed *jsontree.Node) *jsontree.Node {
	secret := document.SecrecyOf(stored).Or(armSecrecy(stored, typed))
	secret.DecryptWith = ""
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

// variants are those of a flag: the secrecy of each, by its meaning.
type variants struct {
	all    map[string]document.Secrecy
	most   document.Secrecy // of all
	masked bool
}

func variantsOf(tree *jsontree.Node) variants {
	v := variants{all: map[string]document.Secrecy{}}
	for _, variant := range tree.Get("variants").Elements() {
		value := variant.Get("value")
		key, own := document.Meaning(value), document.OwnSecrecy(value)
		v.all[key] = v.all[key].Or(own)
		v.most.Confidential = v.most.Confidential || own.Confidential
		v.masked = v.masked || document.Masked(value.Get("value"))
	}
	return v
}

// secrecyOf is how secret a value is by the variants: as much as the one that it is, else
// as the most secret one, so that the answer does not tell whether it is that. A rollout is refused one
// that is none of them, unless that would tell it.
func (v variants) secrecyOf(value *jsontree.Node) (s document.Secrecy, refused bool) {
	own, known := v.all[document.Meaning(value)]
	if known {
		return own, false
	}
	return v.most, len(v.all) > 0 && !v.most.Confidential && !v.masked
}
