package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// Trim removes the contexts of each environment and type but for so many seen last, and the
// batches but for so many received last, for tables that lie on a disk, which has an end.
func (s *Store) Trim(ctx context.Context, workspace string, contexts, batches int) error {
	return cmp.Or(s.trimBatches(ctx, keys(workspace), batches), s.trimContexts(ctx, keys(workspace), contexts))
}

func (s *Store) trimBatches(ctx context.Context, k keys, kept int) error {
	var all []table.Row
	err := s.table.Scan(ctx, k.pk("batch/"), func(row table.Row) error {
		all = append(all, row)
		return nil
	})
	if err != nil || len(all) <= kept {
		return err
	}
	slices.SortFunc(all, func(a, b table.Row) int { return cmp.Compare(a.Number(attrExpires), b.Number(attrExpires)) })
	for chunk := range slices.Chunk(all[:len(all)-kept], restoredAtOnce) {
		var writes []table.Write
		for _, row := range chunk {
			writes = append(writes, table.Write{Key: row.Key, Delete: true})
		}
		if err := s.table.Batch(ctx, writes); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) trimContexts(ctx context.Context, k keys, kept int) error {
	groups, err := s.groups(ctx, k, telemetry.Query{})
	for _, g := range groups {
		if err != nil {
			break
		}
		n := 0
		var over []string
		err = s.table.Query(ctx, table.Query{Partition: k.seen(g.environment, g.contextType), Newest: true, Only: []string{attrExpires}}, func(row table.Row) (bool, error) {
			if n++; n > kept {
				over = append(over, row.Sort)
			}
			return true, nil
		})
		for chunk := range slices.Chunk(over, restoredAtOnce) {
			if err == nil {
				err = s.together(ctx, func(s *Store) error { return s.removePlaces(ctx, k, k.seen(g.environment, g.contextType), chunk) })
			}
		}
	}
	return err
}

// removePlaces removes places in the time index, and the contexts that are there
// still.
func (s *Store) removePlaces(ctx context.Context, k keys, partition string, places []string) error {
	for _, place := range places {
		seen, name, _ := strings.Cut(place, "/")
		millis, err := strconv.ParseInt(seen, 10, 64)
		if err != nil {
			return fmt.Errorf("the row %q of %q: %w", place, partition, err)
		}
		err = s.table.Transact(ctx, table.Write{Key: keyOf(partition, place), Delete: true},
			table.Write{Key: k.contextNamed(name), Delete: true, If: []table.Condition{table.Is(attrSeen, table.Number(millis))}})
		if errors.Is(err, table.ErrRefused) { // the context is elsewhere, or gone
			err = s.update(ctx, table.Write{Key: keyOf(partition, place), Delete: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
