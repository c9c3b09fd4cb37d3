// Package sorting sorts lists of structs.
//
// slices.SortFunc is compiled anew for each type of element, which takes some 8 KB of the
// binary, and there are thirty. Here the places of the elements are sorted, by one code
// for all of them, and the elements are moved once.
package sorting

import (
	"cmp"
	"slices"
)

// By sorts a list in its place, and returns it. Elements that are equal stay in their
// order.
func By[E any](list []E, compare func(a, b E) int) []E {
	places := make([]int, len(list))
	sorted := true
	for i := range places {
		places[i] = i
		sorted = sorted && (i == 0 || compare(list[i-1], list[i]) <= 0)
	}
	if sorted {
		return list
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Or(compare(list[a], list[b]), a-b) })
	before := slices.Clone(list)
	for i, place := range places {
		list[i] = before[place]
	}
	return list
}
