package rows

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// Walk implements telemetry.Store.
func (s *Store) Walk(ctx context.Context, workspace string, w telemetry.Walk, visit func(telemetry.Saved) bool) error {
	k := keys(workspace)
	groups, err := s.groups(ctx, k, telemetry.Query{Environment: w.Environment})
	if err != nil {
		return err
	}
	slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.contextType, b.contextType) })
	visited, more := 0, true
	for _, g := range groups {
		if !more || w.After != nil && g.contextType < w.After.Type {
			continue
		}
		q := table.Query{Partition: k.seen(g.environment, g.contextType)}
		if w.Limit > 0 {
			q.Page = w.Limit - visited + 1 // one may be a row of a context that was visited
		}
		if w.After != nil && g.contextType == w.After.Type {
			q.Low, q.High = "0", k.position(telemetry.Saved{Environment: w.Environment, Type: w.After.Type, Key: w.After.Key}, w.After.LastSeen).Sort
		}
		err := s.eachSeen(ctx, q, func(c telemetry.Saved) bool {
			if q.High != "" && c.Key == w.After.Key {
				return true
			}
			visited++
			more = visit(c) && (w.Limit == 0 || visited < w.Limit)
			return more
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetting is the rows of a person.
type forgetting struct {
	*Store
	keys     keys
	contexts []telemetry.Saved // one for each environment
	pairs    []table.Key
}

// Forget implements telemetry.Store. A context that is reported meanwhile is
// forgotten too, or was reported afterwards.
func (s *Store) Forget(ctx context.Context, workspace string, environments []string, contextType, key string, now time.Time) (found bool, err error) {
	f := forgetting{keys: keys(workspace)}
	groups, err := s.groups(ctx, f.keys, telemetry.Query{Type: contextType})
	if err != nil {
		return false, err
	}
	for _, g := range groups {
		environments = append(environments, g.environment)
	}
	slices.Sort(environments)
	for _, environment := range slices.Compact(environments) {
		f.contexts = append(f.contexts, telemetry.Saved{Environment: environment, Type: contextType, Key: key})
	}
	for _, month := range []time.Time{now.AddDate(0, 0, 1), now, now.AddDate(0, 0, -31)} {
		p := f.keys.pair(telemetry.Pair{Month: telemetry.MonthOf(month), Type: contextType, Key: key})
		if !slices.Contains(f.pairs, p) {
			f.pairs = append(f.pairs, p)
		}
	}
	err = s.together(ctx, func(s *Store) error {
		f.Store = s
		found, err = f.forget(ctx, now)
		return err
	})
	if err == nil && found {
		err = s.table.Wipe(ctx)
	}
	return found, err
}

// forget deletes the rows until there are none left.
func (f *forgetting) forget(ctx context.Context, now time.Time) (found bool, err error) {
	for attempt := 1; ; attempt++ {
		writes, err := f.writes(ctx, now)
		if err != nil || len(writes) == 0 {
			return found, err
		}
		found = true
		err = f.table.Transact(ctx, writes[:min(len(writes), table.MaxWrites)]...)
		switch {
		case err == nil && len(writes) <= table.MaxWrites:
			return true, nil
		case errors.Is(err, table.ErrRefused):
			err = again(ctx, attempt, err)
		}
		if err != nil {
			return true, err
		}
	}
}

// writes delete what there is now.
func (f *forgetting) writes(ctx context.Context, now time.Time) ([]table.Write, error) {
	wanted := slices.Clone(f.pairs)
	for _, c := range f.contexts {
		wanted = append(wanted, f.keys.context(c))
	}
	rows, err := f.rows(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var writes []table.Write
	for _, p := range f.pairs {
		if rows[p] != nil {
			writes = append(writes, table.Write{Key: p, Delete: true})
		}
	}
	for _, c := range f.contexts {
		at := f.keys.context(c)
		place := ""
		if row := rows[at]; row != nil {
			to := f.keys.position(c, versionOf(row).Seen)
			place = to.Sort
			writes = append(writes, table.Write{Key: to, Delete: true},
				table.Write{Key: at, Delete: true, If: []table.Condition{table.Is(attrSeen, row[attrSeen]), table.Is(attrDigest, row[attrDigest])}})
		}
		stale, err := f.stale(ctx, c, place, now)
		if err != nil {
			return nil, err
		}
		writes = append(writes, stale...)
	}
	return writes, nil
}

// stale delete places of a context but its present one, whose own row has expired
// before them. They are among those that have expired themselves.
func (f *forgetting) stale(ctx context.Context, c telemetry.Saved, present string, now time.Time) (writes []table.Write, err error) {
	last := f.keys.position(c, now.Add(24*time.Hour-f.keep))
	ends := last.Sort[strings.IndexByte(last.Sort, '/'):]
	err = f.table.Query(ctx, table.Query{Partition: last.Partition, Low: "0", High: last.Sort, Only: []string{attrExpires}},
		func(row table.Row) (bool, error) {
			if sk := row.Sort; strings.HasSuffix(sk, ends) && sk != present {
				writes = append(writes, table.Write{Key: row.Key, Delete: true})
			}
			return true, nil
		})
	return writes, err
}
