package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/table"
)

// merged is the packs that hold the first commits of the history, up to a
// sequence. Every commit after that lies in the pack that its row names.
type merged struct {
	packs   []string
	through int64
	// generation counts the compactions that were taken in. A row says which
	// one placed it, so that one that was held up does not undo a later one's.
	generation int64
	row        table.Attributes // as it was read; nil: there is none
}

// maxListed is how many packs a row can list: an item holds 400 KB. Tests list fewer.
var maxListed = 9000

// spare is how many of them are kept for packs that are made of others.
const spare = 50

// listable says, before anything is written, when packs are too many for a row.
func listable(packs []string) error {
	if len(packs) > maxListed {
		return fmt.Errorf("%d packs are more than the %d that can be listed: svcadmin compact makes them fewer", len(packs), maxListed)
	}
	return nil
}

// listing is what names the packs in the row.
func listing(packs []string, through int64) table.Attributes {
	list, _ := json.Marshal(slices.Sorted(slices.Values(packs))) // strings
	return table.Attributes{"list": table.Text(string(list)), "n": table.Number(through)}
}

func (l *Ledger) merged(ctx context.Context) (merged, error) {
	i, _, err := l.table.db.GetOne(ctx, packsKey(l.workspace))
	if err != nil || i == nil {
		return merged{}, err
	}
	m := merged{through: i.Number("n"), generation: i.Number("g"), row: i}
	if err := json.Unmarshal([]byte(i.Text("list")), &m.packs); err != nil {
		return m, fmt.Errorf("%w: the list of packs", errRow)
	}
	return m, nil
}

// Packs lists the packs that hold the objects of the history.
func (l *Ledger) Packs(ctx context.Context) ([]string, error) {
	// The head first: a compaction after it only makes the list longer.
	head, err := l.Head(ctx)
	if err != nil {
		return nil, err
	}
	m, err := l.merged(ctx)
	if err != nil {
		return nil, err
	}
	all, _, err := l.withLater(ctx, head, m, math.MaxInt)
	return slices.Sorted(maps.Keys(all)), err
}

// withLater are the packs of the list and those of the commits after it, up to a
// sequence: as many as there may be.
func (l *Ledger) withLater(ctx context.Context, head repository.Head, m merged, most int) (all map[string]bool, through int64, err error) {
	all, through = map[string]bool{}, m.through
	for _, p := range m.packs {
		all[p] = true
	}
	full := errors.New("as many as there may be")
	err = l.log(ctx, head, m.through, func(c repository.Commit, _ []repository.Touch) error {
		if c.Pack != "" && !all[c.Pack] {
			if len(all) >= most {
				return full
			}
			all[c.Pack] = true
		}
		through = c.Sequence
		return nil
	})
	if errors.Is(err, full) {
		err = nil
	}
	return all, through, err
}

// log calls for the commits after a sequence, oldest first, each with its
// shifts, without texts.
func (l *Ledger) log(ctx context.Context, head repository.Head, after int64, each func(c repository.Commit, shifts []repository.Touch) error) error {
	if head.Commit == "" || after >= head.Sequence {
		return ctx.Err()
	}
	q := table.Query{Partition: l.rows(head.Index).log(), Low: first(after + 1), High: last(head.Sequence), Only: withoutTexts}
	return l.table.db.Query(ctx, q, func(i item) (bool, error) {
		c, shifts, err := l.commit(ctx, head.Index, i)
		if err != nil {
			return false, err
		}
		return true, each(c, shifts)
	})
}

// Compaction is a pack that was made of others.
type Compaction struct {
	// Retired are the packs whose objects all lie in Pack now.
	Retired []string
	Pack    string
	// Fence is the head's as it was read before Pack was stored.
	Fence int64
	// Places say where in Pack the objects lie.
	Places map[object.ID]pack.Place
}

// Compacted takes a compaction into the rows, so that old documents are found
// in the new pack. It is asked when the new pack is stored and before the old
// ones go. Asked again, it does the same again. It is ErrMoved when the fence
// was raised meanwhile, since the new pack may be gone, or the rows were replaced,
// which name the old packs.
//
// The new pack is named first, if the fence still stands; then rows are told
// where their objects lie now; and only then are the old packs no longer named.
// At every moment all objects lie in packs that are named.
func (l *Ledger) Compacted(ctx context.Context, c Compaction) error {
	head, generation, err := l.announce(ctx, c)
	if err == nil {
		err = l.relocateAll(ctx, head, c, generation)
	}
	if err == nil {
		err = l.retire(ctx, head.Index, c)
	}
	return err
}

// announce names the new pack beside the old ones, in the rows that the head it
// returns names.
func (l *Ledger) announce(ctx context.Context, c Compaction) (at repository.Head, generation int64, err error) {
	err = l.relist(ctx, func(head repository.Head, m merged) (table.Attributes, error) {
		at = head
		if head.Fence != c.Fence {
			return nil, fmt.Errorf("what nobody names was swept meanwhile; merge again: %w", repository.ErrMoved)
		}
		packs := m.packs
		if !slices.Contains(packs, c.Pack) {
			packs = append(slices.Clone(packs), c.Pack)
		}
		generation = m.generation + 1
		row := listing(packs, m.through)
		row["g"] = table.Number(generation)
		return row, listable(packs)
	})
	return at, generation, err
}

// retire takes the old packs off the list, which tells from then on all packs up to
// the head, or those of the oldest commits that it has room for. If the new pack is
// not on it any more, a later compaction has merged that as well.
func (l *Ledger) retire(ctx context.Context, index string, c Compaction) error {
	return l.relist(ctx, func(head repository.Head, m merged) (table.Attributes, error) {
		if head.Index != index {
			return nil, fmt.Errorf("the rows were replaced meanwhile; merge again: %w", repository.ErrMoved)
		}
		if !slices.Contains(m.packs, c.Pack) {
			return nil, nil
		}
		m.packs = slices.DeleteFunc(m.packs, func(p string) bool { return p != c.Pack && slices.Contains(c.Retired, p) })
		all, through, err := l.withLater(ctx, head, m, maxListed-spare)
		packs := slices.Collect(maps.Keys(all))
		return listing(packs, through), errors.Join(err, listable(packs))
	})
}

// relist changes the row of the packs, if the head still has the fence and the
// index with which it was read, and nobody else changed the list. Else it tries
// again.
func (l *Ledger) relist(ctx context.Context, change func(repository.Head, merged) (table.Attributes, error)) error {
	const what = "listing the packs"
	for attempt := 1; ; attempt++ {
		head, err := l.Head(ctx)
		if err != nil {
			return err
		}
		m, err := l.merged(ctx)
		if err != nil {
			return err
		}
		row, err := change(head, m)
		if err != nil || row == nil {
			return err
		}
		unchanged := []table.Condition{table.NoRow()}
		if m.row != nil {
			unchanged = []table.Condition{table.Is("list", m.row["list"]), table.Is("n", m.row["n"]), isNumber("g", m.generation)}
		}
		err = l.table.db.Transact(ctx, checked(headKey(l.workspace), table.Is("index", table.Text(head.Index)), isNumber("fence", head.Fence), isKnownFormat()),
			set(packsKey(l.workspace), row, unchanged...))
		if !errors.Is(err, table.ErrRefused) {
			return err
		}
		if err := again(ctx, attempt, repository.ErrMoved); err != nil {
			return err
		}
	}
}

// relocateAll changes the rows of everything that lies in the new pack now: those
// beside which it was announced. Rows that have replaced them may name old packs
// that nothing else does, and know nothing of the new one.
func (l *Ledger) relocateAll(ctx context.Context, head repository.Head, c Compaction, generation int64) error {
	m, err := l.merged(ctx)
	if err != nil {
		return err
	}
	retired := map[string]bool{}
	for _, p := range c.Retired {
		retired[p] = true
	}
	after := m.through
	if slices.ContainsFunc(m.packs, func(p string) bool { return retired[p] }) {
		after = 0 // what was merged once is merged again
	}
	rows := l.rows(head.Index)
	var moves []table.Write
	move := func(partition string, of repository.Commit, to table.Attributes) {
		to["g"] = table.Number(generation)
		// A row is not there any more, or a later compaction has moved it.
		moves = append(moves, set(keyOf(partition, place(of.Sequence, of.SHA)), to, table.ARow(),
			table.Any(table.Lacks("g"), table.Less("g", table.Number(generation+1)))))
	}
	flush := func() error {
		err := l.table.writeEach(ctx, moves)
		moves = nil
		return err
	}
	err = l.log(ctx, head, after, func(commit repository.Commit, shifts []repository.Touch) error {
		for _, t := range slices.Concat(commit.Touched, shifts) {
			if where, moved := c.Places[object.ParseID(t.Blob)]; moved && t.Blob != "" {
				move(rows.item(t.Path), commit, placed(c.Pack, where))
			}
		}
		if retired[commit.Pack] {
			move(rows.log(), commit, table.Attributes{"p": table.Text(c.Pack)})
		}
		if len(moves) < rowsAtOnce {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
