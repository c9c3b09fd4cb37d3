package admin

import (
	"cmp"
	"slices"
	"strings"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
)

// places are packs in the order in which they count for an object that lies in
// several.
type places []*odb.Pack

// placesIn are the packs of a repository: those of the names given, then the
// others; what was merged before its parts.
func placesIn(objects *disk.Objects, first []string) places {
	packs := slices.Clone(objects.Packs())
	rank := map[string]int{}
	for _, name := range first {
		rank[name] = -1
	}
	slices.SortFunc(packs, func(a, b *odb.Pack) int {
		return cmp.Or(rank[a.Name]-rank[b.Name], b.Index.Len()-a.Index.Len(), strings.Compare(a.Name, b.Name))
	})
	return packs
}

func (p places) names() []string {
	var names []string
	for _, one := range p {
		names = append(names, one.Name)
	}
	return names
}

// named is a pack of a name; nil when it is not there.
func (p places) named(name string) *odb.Pack {
	if i := slices.IndexFunc(p, func(one *odb.Pack) bool { return one.Name == name }); i >= 0 {
		return p[i]
	}
	return nil
}

// of says where an object lies.
func (p places) of(id object.ID) (name string, where pack.Place, ok bool) {
	for _, one := range p {
		if where, ok = one.Place(id); ok {
			return one.Name, where, true
		}
	}
	return "", pack.Place{}, false
}
