package sorting_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/sorting"
)

type entry struct {
	key   string
	place int
}

func byKey(a, b entry) int { return strings.Compare(a.key, b.key) }

// TestByIsAStableSort: it does what the standard library's does.
func TestByIsAStableSort(t *testing.T) {
	for n := range 200 {
		list := make([]entry, n)
		for i := range list {
			list[i] = entry{string(rune('a' + rand.IntN(1+n/3))), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		if got := sorting.By(list, byKey); !slices.Equal(got, want) || !slices.Equal(list, want) {
			t.Fatalf("%v is sorted as %v, want %v", list, got, want)
		}
	}
}

func TestByLeavesASortedListAlone(t *testing.T) {
	list := []entry{{"a", 1}, {"a", 0}, {"b", 2}}
	if allocations := testing.AllocsPerRun(10, func() { sorting.By(list, byKey) }); allocations > 1 {
		t.Errorf("it took %v allocations", allocations)
	}
	if list[0].place != 1 {
		t.Errorf("equal elements have changed places: %v", list)
	}
}
