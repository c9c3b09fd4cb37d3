package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// perTransaction is how many contexts are saved together: each takes up to
// three items.
const perTransaction = table.MaxWrites / 3

// save saves the contexts that supersede what is there, of the types that there is room for.
func (r *recording) save(ctx context.Context) error {
	taken := map[string][]telemetry.Saved{} // by environment
	for _, c := range r.batch.Contexts {
		taken[c.Environment] = append(taken[c.Environment], c)
	}
	for environment, contexts := range taken {
		names := map[string]bool{}
		for _, c := range contexts {
			names[c.Type] = true
		}
		types, _, err := r.noteTypes(ctx, r.keys.contextTypes(environment), environment, slices.Sorted(maps.Keys(names)), telemetry.MaxGroups)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(contexts, func(c telemetry.Saved) bool {
			_, there := types[c.Type]
			return !there || !r.supersedes(c)
		})
		for chunk := range slices.Chunk(left, perTransaction) {
			if err := r.saveInTransaction(ctx, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recording) supersedes(c telemetry.Saved) bool {
	row, there := r.found[r.keys.context(c)]
	return !there || c.Supersedes(versionOf(row))
}

// saveInTransaction saves contexts in one transaction. Those that changed meanwhile
// are read again, and saved as far as they still supersede.
func (r *recording) saveInTransaction(ctx context.Context, contexts []telemetry.Saved) error {
	for attempt := 1; len(contexts) > 0; attempt++ {
		writes, err := r.saving(contexts)
		if err != nil {
			return err
		}
		err = r.table.Transact(ctx, writes...)
		if !errors.Is(err, table.ErrRefused) {
			return busy(err)
		}
		if err := again(ctx, attempt, err); err != nil {
			return err
		}
		if contexts, err = r.still(ctx, contexts); err != nil {
			return err
		}
	}
	return nil
}

// still reads the rows of contexts again and returns those that supersede.
func (r *recording) still(ctx context.Context, contexts []telemetry.Saved) ([]telemetry.Saved, error) {
	var addresses []table.Key
	for _, c := range contexts {
		addresses = append(addresses, r.keys.context(c))
	}
	again, err := r.rows(ctx, addresses)
	if err != nil {
		return nil, err
	}
	var left []telemetry.Saved
	for i, c := range contexts {
		delete(r.found, addresses[i])
		if row, there := again[addresses[i]]; there {
			r.found[addresses[i]] = row
		}
		if r.supersedes(c) {
			left = append(left, c)
		}
	}
	return left, nil
}

func (r *recording) saving(contexts []telemetry.Saved) ([]table.Write, error) {
	var writes []table.Write
	for _, c := range contexts {
		doc, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		at, s, expires := r.keys.context(c), c.Version(), table.Until(c.LastSeen.Add(r.keep))
		row, there := r.found[at]
		unchanged := table.NoRow()
		if there {
			unchanged = table.All(table.Is(attrSeen, row[attrSeen]), table.Is(attrDigest, row[attrDigest]))
		}
		to := r.keys.position(c, c.LastSeen)
		writes = append(writes,
			table.Write{Key: at, Put: table.Attributes{attrSeen: table.Number(s.Seen.UnixMilli()), attrDigest: table.Bytes(s.Digest[:]), attrExpires: expires}, If: []table.Condition{unchanged}},
			table.Write{Key: to, Put: table.Attributes{attrDoc: table.Text(string(doc)), attrExpires: expires}})
		if from := r.keys.position(c, versionOf(row).Seen); there && from != to {
			writes = append(writes, table.Write{Key: from, Delete: true})
		}
	}
	return writes, nil
}

// Contexts implements telemetry.Store.
func (s *Store) Contexts(ctx context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error) {
	k := keys(workspace)
	groups, err := s.groups(ctx, k, q)
	if err != nil {
		return nil, err
	}
	var found []telemetry.Saved
	if q.Key != "" {
		if found, err = s.withKey(ctx, k, groups, q.Key); err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(c telemetry.Saved) bool { return !q.Match(c) })
		return telemetry.Newest(found, q.Limit), nil
	}
	left := telemetry.MaxSearched
	for _, g := range groups {
		if left <= 0 {
			break
		}
		var of []telemetry.Saved // this group
		seen := table.Query{Partition: k.seen(g.environment, g.contextType), Page: maxPage}
		if q.Text == "" { // every row is one of the answer's
			seen.Page = q.Limit + 1
		}
		last := max(left-telemetry.MaxSaved, 0)
		err := s.eachSeen(ctx, seen, func(c telemetry.Saved) bool {
			if q.Enough(of, c.LastSeen) {
				return false
			}
			if left--; q.Match(c) {
				of = append(of, c)
			}
			return left > last
		})
		if err != nil {
			return nil, err
		}
		found = append(found, of...)
	}
	return telemetry.Newest(found, q.Limit), nil
}

// withKey gets the context with a key of each group: its version, and then what stands
// at its place. One that is seen again between the two is read again.
func (s *Store) withKey(ctx context.Context, k keys, groups []group, key string) ([]telemetry.Saved, error) {
	var left, found []telemetry.Saved
	for _, g := range groups {
		left = append(left, telemetry.Saved{Environment: g.environment, Type: g.contextType, Key: key})
	}
	const tries = 3
	for try := 0; try < tries && len(left) > 0; try++ {
		var wanted []table.Key
		for _, c := range left {
			wanted = append(wanted, k.context(c))
		}
		versions, err := s.rows(ctx, wanted)
		if err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(c telemetry.Saved) bool { return versions[k.context(c)] == nil })
		wanted = nil
		place := func(c telemetry.Saved) table.Key { return k.position(c, versionOf(versions[k.context(c)]).Seen) }
		for _, c := range left {
			wanted = append(wanted, place(c))
		}
		if len(wanted) == 0 {
			break
		}
		rows, err := s.rows(ctx, wanted)
		if err != nil {
			return nil, err
		}
		var again []telemetry.Saved
		for _, c := range left {
			row := rows[place(c)]
			if row == nil {
				again = append(again, c)
				continue
			}
			if c, err = savedOf(row); err != nil {
				return nil, err
			}
			found = append(found, c)
		}
		left = again
	}
	return found, nil
}

// maxPage is how many rows a search reads in a request.
const maxPage = 1000

// eachSeen visits the contexts of a range of the time index, the one seen last first, each
// once: expiry may leave an earlier place of one behind.
func (s *Store) eachSeen(ctx context.Context, q table.Query, visit func(telemetry.Saved) (more bool)) error {
	before := map[string]bool{} // keys
	q.Newest = true
	return s.table.Query(ctx, q, func(row table.Row) (bool, error) {
		c, err := savedOf(row.Attributes)
		if err != nil || before[c.Key] {
			return err == nil, err
		}
		before[c.Key] = true
		return visit(c), nil
	})
}

// savedOf reads the row of a context in its place in the time index.
func savedOf(row table.Attributes) (c telemetry.Saved, err error) {
	if err = c.Decode([]byte(row.Text(attrDoc))); err != nil {
		err = fmt.Errorf("reading a saved context: %w", err)
	}
	return c, err
}

// each visits all rows of a partition.
func (s *Store) each(ctx context.Context, partition string, visit func(table.Row) error) error {
	return s.table.Query(ctx, table.Query{Partition: partition}, func(row table.Row) (bool, error) {
		if err := visit(row); err != nil {
			return false, fmt.Errorf("the row %q: %w", row.Key, err)
		}
		return true, nil
	})
}

// Shapes implements telemetry.Store.
func (s *Store) Shapes(ctx context.Context, workspace string) ([]telemetry.KnownShape, error) {
	list := []telemetry.KnownShape{}
	err := s.each(ctx, keys(workspace).shapes(), func(row table.Row) error {
		shape := telemetry.KnownShape{Type: row.Sort[len("type/"):]}
		err := json.Unmarshal([]byte(row.Text(attrFields)), &shape.Fields)
		list = append(list, shape)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b telemetry.KnownShape) int { return strings.Compare(a.Type, b.Type) })
	return list, nil
}

// Usage implements telemetry.Store.
func (s *Store) Usage(ctx context.Context, workspace string, month telemetry.Month) (telemetry.Usage, error) {
	counts, beyond, k := map[string]int{}, 0, keys(workspace)
	err := s.each(ctx, k.usage(month), func(row table.Row) error {
		if row.Sort == k.notCounted(month).Sort {
			beyond = int(row.Number(attrN))
			return nil
		}
		counts[row.Sort[len("0/"):]] += int(row.Number(attrN))
		return nil
	})
	if err != nil {
		return telemetry.Usage{}, err
	}
	return telemetry.NewUsage(month, counts, beyond), nil
}
