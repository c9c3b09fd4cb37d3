package rows

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// typesInUse are the context types that there are rows of, and the hour in which
// each was last in a batch. An hour is enough to tell which is in use, and
// keeps a type that is always in use from being written with every batch.
type typesInUse map[string]int64

// typesOf reads a row of types.
func typesOf(row table.Attributes) (typesInUse, error) {
	r := typesInUse{}
	if doc := row.Text(attrTypes); doc != "" {
		if err := json.Unmarshal([]byte(doc), &r); err != nil {
			return nil, fmt.Errorf("reading which context types there are: %w", err)
		}
	}
	return r, nil
}

// see notes types that are in a batch. Beyond the number that there may be, the
// one that was longest in no batch makes room, those of this batch last. Gone
// are those that were there before.
func (r typesInUse) see(names []string, hour int64, limit int) (gone []string, changed bool) {
	before, late := maps.Clone(r), map[string]bool{}
	for _, name := range names {
		late[name] = true
		if last, known := r[name]; !known || last < hour {
			r[name], changed = hour, true
		}
	}
	if len(r) <= limit {
		return nil, changed
	}
	all := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		switch {
		case late[a] != late[b] && late[b]:
			return -1
		case late[a] != late[b]:
			return 1
		}
		return cmp.Or(cmp.Compare(r[a], r[b]), strings.Compare(a, b))
	})
	for _, name := range all[:len(all)-limit] {
		delete(r, name)
		if _, known := before[name]; known {
			gone = append(gone, name)
		}
	}
	return gone, true
}

// noteTypes notes the types of a batch, and says which of all types there are
// then, and which have made room.
func (r *recording) noteTypes(ctx context.Context, at table.Key, environment string, names []string, limit int) (is typesInUse, gone []string, err error) {
	err = r.replace(ctx, at, func(row table.Attributes) (table.Attributes, error) {
		if is, err = typesOf(row); err != nil {
			return nil, err
		}
		var changed bool
		if gone, changed = is.see(names, r.batch.Hour(), limit); !changed {
			return nil, nil
		}
		doc, err := json.Marshal(is)
		return table.Attributes{attrTypes: table.Text(string(doc)), attrOwner: table.Text(environment)}, err
	})
	return is, gone, err
}

// group is the contexts of an environment and a type, and the hour in which
// they were last in a batch.
type group struct {
	environment, contextType string
	hour                     int64
}

// groups are those that a search may look at, the one in use last first.
func (s *Store) groups(ctx context.Context, k keys, q telemetry.Query) ([]group, error) {
	var list []group
	err := s.each(ctx, k.known(), func(row table.Row) error {
		if row.Sort == k.shapeTypes().Sort {
			return nil
		}
		is, err := typesOf(row.Attributes)
		for contextType, hour := range is {
			if environment := row.Text(attrOwner); q.Group(environment, contextType) {
				list = append(list, group{environment, contextType, hour})
			}
		}
		return err
	})
	slices.SortFunc(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.hour, a.hour), strings.Compare(a.environment, b.environment), strings.Compare(a.contextType, b.contextType))
	})
	return list, err
}
