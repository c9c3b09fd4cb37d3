package control

import (
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// secrets are what a batch has written of an item by now that could tell what a
// confidential value is.
type secrets struct {
	guesses bool // values were set, which may be guesses of it
	// What the requests' own values are: all, or the fallbacks of these scopes.
	all       bool
	fallbacks []string
	stood     []byte // what a dry run takes for the stored document, nil for that itself
}

// pretended are the documents that a dry run compares those with which it leads to, where
// they are not what is stored.
func (b *batch) pretended() map[string][]byte {
	texts := map[string][]byte{}
	for _, a := range b.final {
		switch {
		case a.secrets.guesses && a.existed && a.touched > 1:
			texts[a.path] = document.Encode(a.original())
		case a.secrets.stood != nil:
			texts[a.path] = a.secrets.stood
		}
	}
	return texts
}

// keepSecrets has a dry run not tell whether a confidential value is the one that a write
// sends, or copies: it goes on as if the stored one were another. So does a later write
// of the same item, for which the one before has sent the guess.
func (a *attempt) keepSecrets() {
	if a.previous != nil {
		a.secrets = a.previous.secrets
	}
	guessed, sets := a.secrets.guesses, a.write.sets
	switch {
	case sets == nil:
		a.secrets.all, a.secrets.fallbacks, sets = false, nil, wholeDocument
	case a.write.copies:
	case a.write.scoped:
		a.secrets.fallbacks = append(a.secrets.fallbacks[:len(a.secrets.fallbacks):len(a.secrets.fallbacks)], a.write.scope)
	default:
		a.secrets.all = true
	}
	before := a.before()
	stood := before
	if stood == nil && a.existed {
		stood = a.file.Decode().Tree
	}
	a.secrets.guesses = guessed || a.write.sets != nil && document.HasSecrets(stood)
	if a.write.sets == nil && a.write.checkAll {
		a.secrets.guesses = false // the item is restored as a whole
	}
	if a.problem != nil || before == nil || a.edited.Tree == nil || !guessed && (!a.batch.request.DryRun || a.write.sets == nil) {
		return
	}
	after := a.edited.Tree
	if other := document.WithOtherSecrets(before, sets(before), after.At(sets(after))); other != before {
		a.base, a.edited.Changed = other, true
		if a.batch.request.Impact {
			a.secrets.stood = document.Encode(other)
		}
	}
}

// written are the places of a document whose values the requests hold themselves: their
// confidential values are held against schemas, and no others.
func (a *attempt) written(tree *jsontree.Node) func(pointer string) bool {
	var places []string
	for _, scope := range a.secrets.fallbacks {
		places = append(places, fallbackPointer(tree, scope))
	}
	return func(pointer string) bool {
		for _, place := range places {
			if strings.HasPrefix(pointer, place) {
				return true
			}
		}
		return a.secrets.all
	}
}

func nowhere(string) bool { return false }

// wholeDocument is where a write puts values that writes all of it.
func wholeDocument(*jsontree.Node) string { return "" }
