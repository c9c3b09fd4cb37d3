package change

import (
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// A dry run works on documents whose confidential values are masked, from the moment that
// they are read: nothing of its answer tells whether a guess is right, whether a schema
// fits, or whether two of them are the same. It is told the bright side of what only
// they decide: that a value changes, that it has not been changed again.

// currentVersion is the version of what is stored now.
func currentVersion(string, *jsontree.Node) string { return "now" }

// stored is the file at a path, as a request may look at it.
func (b *batch) stored(path string) (file repository.File, found bool) {
	if file, found = b.head.Snapshot.File(path); !found || !b.dryRun {
		return file, found
	}
	known, seen := b.files[path]
	if !seen {
		known = file
		if file.Err == nil {
			known.Text = b.mask(path, edit.Version{Text: file.Text, Tree: file.Decode().Tree}, currentVersion).Text
		}
		b.files[path] = known
	}
	return known, true
}

// mask is a version without its confidential values.
func (b *batch) mask(path string, v edit.Version, version func(string, *jsontree.Node) string) edit.Version {
	if v.Tree == nil {
		return v
	}
	tree, values := document.Mask(v.Tree, version)
	if len(values) == 0 {
		return v
	}
	for mark, value := range values {
		if b.plan.masked[mark] == nil { // what stands now was there first
			b.plan.masked[mark] = value
		}
	}
	text := document.Encode(tree)
	return edit.Version{Text: text, Tree: workspace.Decode(path, text).Tree}
}

// compared are the documents that a dry run changes, as they are before and after it, for
// its impact: their confidential values are masked. What rules compare with is not: whom it
// matches can be asked of every context.
func (p *plan) compared() (before, after map[string][]byte) {
	before, after = map[string][]byte{}, map[string][]byte{}
	operands := maps.Clone(p.masked)
	maps.DeleteFunc(operands, func(mark string, _ *jsontree.Node) bool { return !strings.HasSuffix(mark, "/valueToMatch") })
	shown := func(path string, text []byte) []byte {
		if len(operands) == 0 || text == nil {
			return text
		}
		return document.Encode(document.Unmask(workspace.Decode(path, text).Tree, operands))
	}
	for _, a := range p.final {
		after[a.path] = shown(a.path, a.text())
		if file, found := p.head.Snapshot.File(a.path); found && string(file.Text) != string(a.file.Text) {
			before[a.path] = shown(a.path, a.file.Text)
		}
	}
	return before, after
}

// shown is a document as a dry run tells it.
func (p *plan) shown(tree *jsontree.Node) *jsontree.Node {
	return document.Unmask(tree, p.masked)
}

// withoutSecrets is a document without its confidential values, whoever has sent them, and without
// variants where it has any: an answer that has two versions of it would tell whether a
// guess is right.
func withoutSecrets(tree *jsontree.Node) *jsontree.Node {
	if tree == nil {
		return nil
	}
	shown, secret := tree.Clone(), false
	document.EachSecret(shown, func(value *jsontree.Node, _ string) { secret = value.Delete("value") })
	for n := range shown.All() {
		if document.Masked(n) { // what is confidential no more
			*n, secret = jsontree.Node{Kind: jsontree.Null}, true
		}
	}
	if secret {
		shown.Delete("variants")
	}
	return shown
}

// noteSecrets notes whether the item has confidential values.
func (a *attempt) noteSecrets() {
	trees := []*jsontree.Node{a.base}
	if a.edited != nil {
		trees = append(trees, a.edited.Tree)
	}
	for _, tree := range trees {
		if tree != nil && !a.batch.plan.secret[a.path] {
			document.EachSecret(tree, func(*jsontree.Node, string) { a.batch.plan.secret[a.path] = true })
		}
	}
	a.batch.plan.guesses = a.batch.plan.guesses || a.batch.plan.secret[a.path] && !a.write.restores && !a.write.copies
}

// blinded is a plan of which whether it is refused, and has to be reviewed, is told as the
// dry run tells it: what may change something, if only a confidential value decides that,
// counts as a change. Nothing lands of what is refused, so that a guess would be free.
func (p *plan) blinded(masked *plan) *plan {
	if p.guesses && len(masked.refusals) > 0 {
		return masked
	}
	stale := slices.DeleteFunc(slices.Clone(p.refusals), func(r refused) bool { return fault.Of(r.err).Details["code"] != refusal.CodeStale })
	if p.guesses && len(stale) > 0 { // where only confidential values have changed, which rests on no guess
		p.refusals = stale
	}
	if len(p.refusals) == 0 && len(masked.reviewed) > 0 {
		p.reviewed, p.exempt = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.reviewed, masked.reviewed)))), nil
	}
	return p
}

// ownValues are what a batch has written of an item by now that the requests hold
// themselves: all values, or the fallbacks of these scopes.
type ownValues struct {
	all       bool
	fallbacks []string
}

// noteValues notes which values a write sets.
func (a *attempt) noteValues() {
	if a.previous != nil {
		a.own = a.previous.own
	}
	switch {
	case a.write.restores:
		a.own = ownValues{}
	case a.write.copies:
		a.own.fallbacks = slices.DeleteFunc(slices.Clone(a.own.fallbacks), func(scope string) bool { return scope == a.write.scope })
	case a.write.scoped:
		a.own.fallbacks = append(a.own.fallbacks[:len(a.own.fallbacks):len(a.own.fallbacks)], a.write.scope)
	default:
		a.own.all = true
	}
}

// written are the places of a document whose values the requests hold themselves: their
// confidential values are held against schemas, and no others.
func (a *attempt) written(tree *jsontree.Node) func(pointer string) bool {
	if a.batch.dryRun { // where all others are masked
		return func(string) bool { return true }
	}
	var places []string
	for _, scope := range a.own.fallbacks {
		places = append(places, fallbackPointer(tree, scope))
	}
	return func(pointer string) bool {
		return a.own.all || slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(pointer, place) })
	}
}

func nowhere(string) bool { return false }
