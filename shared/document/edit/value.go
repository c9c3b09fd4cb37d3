package edit

import (
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// armSecrecy is how secret a value is that takes the place of a rollout: as
// much as the arm that it is, else as the most secret one.
func armSecrecy(stored, typed *jsontree.Node) document.Secrecy {
	var most document.Secrecy
	wanted := meaning(typed)
	for _, arm := range document.StoredArms(stored) {
		of := document.OwnSecrecy(arm.Get("value"))
		if meaning(arm.Get("value")) == wanted {
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
		if meaning(stored) != meaning(typed) {
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

// variantsOf maps the meaning of each variant of a flag to its secrecy.
func variantsOf(tree *jsontree.Node) map[string]document.Secrecy {
	variants := map[string]document.Secrecy{}
	for _, variant := range tree.Get("variants").Elements() {
		value := variant.Get("value")
		key := meaning(value)
		variants[key] = variants[key].Or(document.OwnSecrecy(value))
	}
	return variants
}

// meaning writes what a Value object serves, so that two that serve the same
// have the same meaning: an int stored as "5" means what one stored as 5.0 does.
func meaning(value *jsontree.Node) string {
	name, _ := value.Get("type").Text()
	v := document.Value{Type: document.ValueType(name).Canonical(), Content: value.Get("value")}
	return string(v.Type) + " " + v.Served().Canonical()
}
