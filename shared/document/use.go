package document

import "slices"

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

// standing is where a use stands: in the rules of a scope, or among the variants,
// which are in service nowhere by themselves.
type standing struct {
	scope   string
	variant bool
}

// NewUses finds the uses in a document that were not in it before, in the order
// in which they stand; before is nil for a new document.
//
// A use is new by its place: what staging's rules decrypt is nothing that
// production's may, and a variant by itself is not served. But what stands in
// the default rules was served already in an environment that these reach, since
// it has no catch-all rule of its own, and may be a variant. Another ciphertext
// under the same key is another use: it may have been taken from another
// document.
func NewUses(before, after *Document) []Use {
	held := map[standing]map[usage]bool{}
	if before != nil {
		before.eachUse(func(_ Use, at standing, what usage) {
			if held[at] == nil {
				held[at] = map[usage]bool{}
			}
			held[at][what] = true
		})
	}
	var uses []Use
	after.eachUse(func(use Use, at standing, what usage) {
		reached := at.variant || before != nil && !before.shutsOffDefault(at.scope)
		if !held[at][what] && !(reached && held[standing{scope: DefaultScope}][what]) {
			uses = append(uses, use)
		}
	})
	return uses
}

// shutsOffDefault reports whether an environment's own rules match everything.
func (d *Document) shutsOffDefault(environment string) bool {
	own, _ := d.Own(environment)
	return slices.ContainsFunc(own, Rule.CatchAll)
}

func (d *Document) eachUse(visit func(Use, standing, usage)) {
	value := func(spot Spot, pointer string, v Value) {
		use := Use{Scope: DefaultScope, Pointer: pointer}
		if spot.Variant < 0 && spot.Environment >= 0 {
			use.Scope = d.Environments[spot.Environment].ID
		}
		at := standing{use.Scope, spot.Variant >= 0}
		if v.Type == ProvidedValue {
			visit(use, at, usage{"", v.Content.Canonical()})
		}
		if use.Key = v.DecryptWith; use.Key != "" {
			visit(use, at, usage{use.Key, v.Content.Canonical()})
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
