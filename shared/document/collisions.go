package document

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/big"
	"slices"

	"svc.example/svc/shared/jsontree"
)

// fewItems are all compared with one another to find two that are equal; of more,
// the library makes an index by a hash.
const fewItems = 20

// maxCollisions is how many items of one array, or of all those in a schema, may
// be compared without being equal: it takes about 30 ms.
const maxCollisions = 200_000

// collisions is how many pairs of different items the library compares because
// they have the same hash. It hashes neither where an array or a number ends nor
// a number's sign, so that all arrays of as many brackets are the same to it.
func collisions(items []*jsontree.Node) int {
	if len(items) <= fewItems {
		return 0
	}
	pairs := 0
	var h maphash.Hash
	same := map[uint64]int{}
	seen := map[string]bool{}
	for _, item := range items {
		h.Reset()
		hash(&h, plain(item))
		sum := h.Sum64()
		text := item.Canonical()
		if pairs += same[sum]; seen[text] || pairs > maxCollisions {
			break // at two that are equal the library stops, too
		}
		same[sum]++
		seen[text] = true
	}
	return pairs
}

// hash writes a value as the library does to find items that are equal.
func hash(h *maphash.Hash, value any) {
	switch v := value.(type) {
	case map[string]any:
		_ = h.WriteByte(0)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			hash(h, name)
			hash(h, v[name])
		}
	case []any:
		_ = h.WriteByte(1)
		for _, item := range v {
			hash(h, item)
		}
	case string:
		_ = h.WriteByte(4)
		_, _ = h.WriteString(v)
	case fmt.Stringer: // a number
		_ = h.WriteByte(5)
		if number, ok := new(big.Rat).SetString(v.String()); ok {
			_, _ = h.Write(number.Num().Bytes())
			_, _ = h.Write(number.Denom().Bytes())
		}
	default:
		_, _ = fmt.Fprint(h, v)
	}
}

// collisionsIn adds up the collisions of a schema's own lists: the library holds
// them against the schema of schemas, in which many must have unique items. What
// it takes to find them counts as well.
func collisionsIn(n *jsontree.Node) int {
	total := 0
	if len(n.Items) > fewItems {
		total = parts(n, 10*maxCollisions)/10 + collisions(n.Items)
	}
	for _, m := range n.Members {
		if total <= maxCollisions {
			total += collisionsIn(m.Value)
		}
	}
	for _, item := range n.Items {
		if total <= maxCollisions && item.Kind == jsontree.Object {
			total += collisionsIn(item)
		}
	}
	return total
}
