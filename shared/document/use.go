package document

// Use is a value that has applications use what lies outside its document: a
// config that holds a decryption key, or their own environment.
type Use struct {
	// Scope is the environment in whose rules it stands, or DefaultScope: for
	// the default rules, and for a variant.
	Scope   string
	Pointer string // to the value
	// Key is the config that holds the decryption key; "" for a provided value.
	Key string
}

// usage tells uses in a scope apart: the same ciphertext under the same key, or
// the same lookup.
type usage struct{ key, content string }

// NewUses finds the uses in a document that were not in it before, in the order
// in which they stand; before is nil for a new document.
//
// A use is new by its scope: what staging's rules decrypt is nothing that
// production's may. But what stands in the default rules or in the variants
// reaches every scope already, and is new in none. Another ciphertext under the
// same key is another use: it may have been taken from another document.
func NewUses(before, after *Document) []Use {
	held := map[string]map[usage]bool{}
	if before != nil {
		before.eachUse(func(use Use, what usage) {
			if held[use.Scope] == nil {
				held[use.Scope] = map[usage]bool{}
			}
			held[use.Scope][what] = true
		})
	}
	var uses []Use
	after.eachUse(func(use Use, what usage) {
		if !held[use.Scope][what] && !held[DefaultScope][what] {
			uses = append(uses, use)
		}
	})
	return uses
}

func (d *Document) eachUse(visit func(Use, usage)) {
	value := func(spot Spot, pointer string, v Value) {
		use := Use{Scope: DefaultScope, Pointer: pointer}
		if spot.Variant < 0 && spot.Environment >= 0 {
			use.Scope = d.Environments[spot.Environment].ID
		}
		if v.Type == ProvidedValue {
			visit(use, usage{"", v.Content.Canonical()})
		}
		if use.Key = v.DecryptWith; use.Key != "" {
			visit(use, usage{use.Key, v.Content.Canonical()})
		}
	}
	for spot, v := range d.Values() {
		value(spot, spot.Pointer(), v)
	}
	for spot, criterion := range d.Criteria() {
		if criterion.ValueToMatch != nil {
			value(spot, spot.Pointer()+"/valueToMatch", *criterion.ValueToMatch)
		}
	}
}
