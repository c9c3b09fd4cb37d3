package activity

import (
	"maps"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// entry is what a document holds for one environment.
type entry struct {
	nodes []*jsontree.Node // more than one when an id stands twice
	rules []*jsontree.Node // the first one's, which counts
	place int
}

func entriesOf(tree *jsontree.Node) map[string]entry {
	entries := map[string]entry{}
	for i, n := range tree.Get("environments").Elements() {
		id, ok := n.Get("id").Text()
		if !ok {
			continue
		}
		e, known := entries[id]
		if !known {
			e.rules, e.place = document.StoredRules(n), i
		}
		e.nodes = append(e.nodes, n)
		entries[id] = e
	}
	return entries
}

// mergedIDs lists the ids of both: those of a in its order, then the others.
func mergedIDs(a, b map[string]entry) []string {
	byPlace := func(entries map[string]entry) []string {
		return slices.SortedFunc(maps.Keys(entries), func(x, y string) int {
			return entries[x].place - entries[y].place
		})
	}
	ids := byPlace(a)
	for _, id := range byPlace(b) {
		if _, both := a[id]; !both {
			ids = append(ids, id)
		}
	}
	return ids
}

// TouchedScopes says what a write changes, for the question who may do it: the
// scopes whose rules differ, DefaultScope first; it is among them too when metadata
// differs: anything that is no scope's, $schema aside.
// Documents that say the same touch nothing. The order of the entries of
// environments touches nothing either, unless nothing else differs.
func TouchedScopes(before, after *jsontree.Node) (scopes []string) {
	if document.SameDocument(before, after) {
		return nil
	}
	was, is := entriesOf(before), entriesOf(after)
	touched := slices.DeleteFunc(mergedIDs(is, was), func(id string) bool {
		return slices.EqualFunc(was[id].nodes, is[id].nodes, jsontree.Equal)
	})
	scopes = slices.DeleteFunc(slices.Clone(touched), func(id string) bool { return id == document.DefaultScope })
	slices.Sort(scopes)
	if !equalRules(document.StoredRules(before.Get("default")), document.StoredRules(after.Get("default"))) ||
		!jsontree.Equal(metadataOf(before), metadataOf(after)) ||
		len(scopes) < len(touched) || // an entry with the reserved name
		len(scopes) == 0 { // they differ somewhere
		scopes = slices.Insert(scopes, 0, document.DefaultScope)
	}
	return scopes
}

// metadataOf is a document without its scopes' rules. Of environments, what is
// no environment's entry is left.
func metadataOf(tree *jsontree.Node) *jsontree.Node {
	rest := tree.Without("$schema", "default", "environments")
	if !isObject(rest) {
		return rest
	}
	def := tree.Get("default")
	if def.Absent() {
		def = jsontree.NewObject()
	}
	rest.Set("default", def.Without("rules"))
	odd := jsontree.NewArray()
	environments := tree.Get("environments")
	if !environments.Absent() && environments.Kind != jsontree.Array {
		odd.Items = append(odd.Items, environments)
	}
	for _, n := range environments.Elements() {
		if _, ok := n.Get("id").Text(); !ok {
			odd.Items = append(odd.Items, n)
		}
	}
	rest.Set("environments", odd)
	return rest
}

// reordered reports whether the environments that both hold stand in another
// order.
func reordered(was, is map[string]entry) bool {
	common := func(of, other map[string]entry) []string {
		return slices.DeleteFunc(mergedIDs(of, nil), func(id string) bool {
			_, both := other[id]
			return !both
		})
	}
	return !slices.Equal(common(was, is), common(is, was))
}

// tierOf is the access tier as stored, and whatever else stands in its place.
func tierOf(tree *jsontree.Node) string {
	access := tree.Get("access")
	text, ok := access.Text()
	switch {
	case access.Absent(), ok && text == "":
		return "standard"
	case ok:
		return text
	}
	return access.Canonical()
}
