package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/pack"
)

// merged is the packs that hold the first commits of the history, up to a
// sequence. Every commit after that lies in the pack that its row names.
type merged struct {
	packs   []string
	through int64
	// generation counts the compactions that were taken in. A row says which
	// one placed it, so that one that was held up does not undo a later one's.
	generation int64
	row        item // as it was read; nil: there is none
}

// mostListed is how many packs a row can list: an item holds 400 KB.
const mostListed = 9000

// listable says, before anything is written, when packs are too many for a row.
func listable(packs []string) error {
	if len(packs) > mostListed {
		return fmt.Errorf("%d packs are more than the %d that can be listed: svcadmin compact makes them fewer", len(packs), mostListed)
	}
	return nil
}

// packsUpdate lists the packs, whatever was listed.
func (l *Ledger) packsUpdate(packs []string, through int64) *types.Update {
	u := newUpdate()
	u.setPacks(packs, through)
	return &types.Update{
		TableName: &l.table.name, Key: packsKey(l.workspace), UpdateExpression: u.expression(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
	}
}

func (u *update) setPacks(packs []string, through int64) {
	list, _ := json.Marshal(slices.Sorted(slices.Values(packs))) // strings
	u.set("list", text(string(list)))
	u.set("n", number(through))
}

func (l *Ledger) merged(ctx context.Context) (merged, error) {
	i, err := l.table.get(ctx, "reading the packs", packsKey(l.workspace))
	if err != nil || i == nil {
		return merged{}, err
	}
	m := merged{through: numberOf(i, "n"), generation: numberOf(i, "g"), row: i}
	if err := json.Unmarshal([]byte(textOf(i, "list")), &m.packs); err != nil {
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
	all := map[string]bool{}
	for _, p := range m.packs {
		all[p] = true
	}
	err = l.log(ctx, head, m.through, func(c repository.Commit, _ []repository.Touch, _ int) error {
		if c.Pack != "" {
			all[c.Pack] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(all)), err
}

// log calls for the commits after a sequence, oldest first, each with its
// shifts, without texts.
func (l *Ledger) log(ctx context.Context, head repository.Head, after int64, each func(c repository.Commit, shifts []repository.Touch, parts int) error) error {
	if head.Commit == "" || after >= head.Sequence {
		return ctx.Err()
	}
	q := question{partition: l.rows(head.Index).log(), low: first(after + 1), high: last(head.Sequence), without: true}
	return l.table.query(ctx, "reading the log", q, func(i item) (bool, error) {
		c, err := commitOfLog(i)
		if err != nil {
			return false, err
		}
		shifts, err := l.shifts(ctx, head.Index, &c, i)
		if err != nil {
			return false, err
		}
		return true, each(c, shifts, int(numberOf(i, "n")))
	})
}

// Compaction is a pack that was made of others.
type Compaction struct {
	// Retired are the packs whose objects all lie in Pack now.
	Retired []string
	Pack    string
	// Fence is the head's as it was read before Pack was stored.
	Fence int64
	// Places say where in Pack the objects lie, by id.
	Places map[string]pack.Place
}

// Compacted takes a compaction into the rows, so that old documents are found
// in the new pack. It is asked when the new pack is stored and before the old
// ones go. Asked again, it does the same again. It is ErrMoved when the fence
// was raised meanwhile: the new pack may be gone.
//
// The new pack is named first, if the fence still stands; then rows are told
// where their objects lie now; and only then are the old packs no longer named.
// At every moment all objects lie in packs that are named.
func (l *Ledger) Compacted(ctx context.Context, c Compaction) error {
	generation, err := l.announce(ctx, c)
	if err == nil {
		err = l.relocateAll(ctx, c, generation)
	}
	if err == nil {
		err = l.retire(ctx, c)
	}
	return err
}

// announce names the new pack beside the old ones.
func (l *Ledger) announce(ctx context.Context, c Compaction) (generation int64, err error) {
	err = l.relist(ctx, func(head repository.Head, m merged, u *update) (change bool, err error) {
		if head.Fence != c.Fence {
			return false, fmt.Errorf("what nobody names was swept meanwhile; merge again: %w", repository.ErrMoved)
		}
		packs := m.packs
		if !slices.Contains(packs, c.Pack) {
			packs = append(slices.Clone(packs), c.Pack)
		}
		generation = m.generation + 1
		u.setPacks(packs, m.through)
		u.set("g", number(generation))
		return true, listable(packs)
	})
	return generation, err
}

// retire takes the old packs off the list, which tells from then on all packs
// up to the head. If the new pack is not on it any more, a later compaction has
// merged that as well, or the history was replaced.
func (l *Ledger) retire(ctx context.Context, c Compaction) error {
	return l.relist(ctx, func(head repository.Head, m merged, u *update) (change bool, err error) {
		if !slices.Contains(m.packs, c.Pack) {
			return false, nil
		}
		all := map[string]bool{}
		for _, p := range m.packs {
			all[p] = true
		}
		err = l.log(ctx, head, m.through, func(c repository.Commit, _ []repository.Touch, _ int) error {
			if c.Pack != "" {
				all[c.Pack] = true
			}
			return nil
		})
		for _, p := range c.Retired {
			if p != c.Pack {
				delete(all, p)
			}
		}
		packs := slices.Collect(maps.Keys(all))
		u.setPacks(packs, max(head.Sequence, m.through))
		return true, errors.Join(err, listable(packs))
	})
}

// relist changes the list of packs, if the head still has the fence and the
// index with which it was read, and nobody else changed the list. Else it tries
// again.
func (l *Ledger) relist(ctx context.Context, change func(repository.Head, merged, *update) (bool, error)) error {
	const what = "listing the packs"
	for try := 0; ; try++ {
		head, err := l.Head(ctx)
		if err != nil {
			return err
		}
		m, err := l.merged(ctx)
		if err != nil {
			return err
		}
		u := newUpdate()
		if change, err := change(head, m, &u); err != nil || !change {
			return err
		}
		if m.row == nil {
			u.demands = append(u.demands, "attribute_not_exists(pk)")
		} else {
			u.require("list", m.row["list"])
			u.require("n", m.row["n"])
			u.requireNumber("g", m.generation)
		}
		v, err := l.table.transact(ctx, what, []types.TransactWriteItem{l.headCheck(head), {Update: &types.Update{
			TableName: &l.table.name, Key: packsKey(l.workspace),
			UpdateExpression: u.expression(), ConditionExpression: u.condition(),
			ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		}}})
		switch {
		case v == open && ctx.Err() == nil: // if it was done, it is done again
		case v != refused:
			return err
		}
		if !pause(ctx, try) {
			return gaveUp(ctx, what, repository.ErrMoved)
		}
	}
}

// headCheck is a condition: the head has this fence and this index.
func (l *Ledger) headCheck(head repository.Head) types.TransactWriteItem {
	u := newUpdate()
	u.require("index", text(head.Index))
	u.requireNumber("fence", head.Fence)
	u.requireFormat()
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &l.table.name, Key: headKey(l.workspace), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
	}}
}

// relocation is a row that is to say where something lies now.
type relocation struct {
	key   item
	place *pack.Place // nil for a row of the log
}

// relocateAll changes the rows of everything that lies in the new pack now.
func (l *Ledger) relocateAll(ctx context.Context, c Compaction, generation int64) error {
	head, err := l.Head(ctx)
	if err != nil {
		return err
	}
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
	var moves []relocation
	err = l.log(ctx, head, after, func(commit repository.Commit, shifts []repository.Touch, _ int) error {
		for _, t := range slices.Concat(commit.Touched, shifts) {
			if where, moved := c.Places[t.Blob]; moved && t.Blob != "" {
				moves = append(moves, relocation{keyOf(rows.item(t.Path), place(commit.Sequence, commit.SHA)), &where})
			}
		}
		if retired[commit.Pack] {
			moves = append(moves, relocation{key: keyOf(rows.log(), place(commit.Sequence, commit.SHA))})
		}
		if len(moves) < rowsAtOnce {
			return nil
		}
		err := l.relocate(ctx, c.Pack, generation, moves)
		moves = nil
		return err
	})
	if err != nil {
		return err
	}
	return l.relocate(ctx, c.Pack, generation, moves)
}

func (l *Ledger) relocate(ctx context.Context, name string, generation int64, moves []relocation) error {
	return each(ctx, 2*batchWidth, moves, func(ctx context.Context, r relocation) error {
		u := newUpdate()
		u.set("p", text(name))
		u.set("g", number(generation))
		if r.place != nil {
			u.set("o", number(r.place.Offset))
			u.set("l", number(r.place.Length))
		}
		_, err := asked(ctx, "moving an object's place", func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
			return l.table.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &l.table.name, Key: r.key, UpdateExpression: u.expression(),
				ConditionExpression:      aws.String("attribute_exists(pk) AND (attribute_not_exists(#g) OR #g <= :g)"),
				ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
			})
		})
		if judge(err) == refused {
			return nil // it is not there, or a later compaction has moved it
		}
		return err
	})
}
