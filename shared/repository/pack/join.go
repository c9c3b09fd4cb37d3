package pack

import (
	"bytes"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/sorting"
)

// Join makes one pack of several that Encode made. An object that several of
// them have is in it once.
func Join(packs []*Pack) (*Pack, error) {
	type object struct {
		id     plumbing.Hash
		offset int64
	}
	objects := make([][]object, len(packs)) // of each pack, in their order, each object once
	count, seen := 0, map[plumbing.Hash]bool{}
	for n, p := range packs {
		index, err := ParseIndex(p.Index)
		if err != nil {
			return nil, err
		}
		for i := range index.Len() {
			objects[n] = append(objects[n], object{index.ID(i), index.Offset(i)})
			if !seen[index.ID(i)] {
				seen[index.ID(i)] = true
				count++
			}
		}
		sorting.By(objects[n], func(a, b object) int { return int(a.offset - b.offset) })
	}
	var b bytes.Buffer
	w, err := newWriter(&b, count)
	if err != nil {
		return nil, err
	}
	joined := &Pack{Places: map[plumbing.Hash]Place{}}
	for n, p := range packs {
		for i, o := range objects[n] {
			end := int64(len(p.Bytes) - TrailerLength)
			if i+1 < len(objects[n]) {
				end = objects[n][i+1].offset
			}
			if !seen[o.id] {
				continue
			}
			seen[o.id] = false
			joined.Places[o.id] = Place{Offset: w.offset, Length: end - o.offset}
			if err := w.entry(o.id, p.Bytes[o.offset:end]); err != nil {
				return nil, err
			}
		}
	}
	joined.Name, joined.Index, err = w.close()
	joined.Bytes = b.Bytes()
	return joined, err
}
