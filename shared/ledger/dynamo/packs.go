package dynamo

import (
	"context"
	"encoding/json"
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
	row     item // as it was read; nil: there is none
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

func (l *Ledger) packsRow(packs []string, through int64) item {
	i := packsKey(l.workspace)
	list, _ := json.Marshal(slices.Sorted(slices.Values(packs))) // strings
	i["list"], i["n"] = text(string(list)), number(through)
	return i
}

func (l *Ledger) merged(ctx context.Context) (merged, error) {
	i, err := l.table.get(ctx, "reading the packs", packsKey(l.workspace))
	if err != nil || i == nil {
		return merged{}, err
	}
	m := merged{through: numberOf(i, "n"), row: i}
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
	// Places say where in Pack the objects lie, by id.
	Places map[string]pack.Place
}

// Compacted takes a compaction into the rows, so that old documents are found
// in the new pack. It is asked when the new pack is stored and before the old
// ones go. Asked again, it does the same again.
func (l *Ledger) Compacted(ctx context.Context, c Compaction) error {
	for try := 0; ; try++ {
		again, err := l.compacted(ctx, c)
		if err != nil || !again {
			return err
		}
		if !pause(ctx, try) {
			return gaveUp(ctx, "taking in a compaction", repository.ErrMoved)
		}
	}
}

// relocation is a row that is to say where something lies now.
type relocation struct {
	key   item
	place *pack.Place // nil for a row of the log
}

func (l *Ledger) compacted(ctx context.Context, c Compaction) (again bool, err error) {
	head, err := l.Head(ctx)
	if err != nil {
		return false, err
	}
	m, err := l.merged(ctx)
	if err != nil {
		return false, err
	}
	retired := map[string]bool{}
	for _, p := range c.Retired {
		retired[p] = true
	}
	kept := map[string]bool{c.Pack: true}
	after := m.through
	for _, p := range m.packs {
		if retired[p] {
			after = 0 // what was merged once is merged again
		} else {
			kept[p] = true
		}
	}
	through, unbroken := m.through, true
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
		if unbroken = unbroken && (retired[commit.Pack] || kept[commit.Pack] || commit.Sequence <= m.through); unbroken {
			through = max(through, commit.Sequence)
		}
		if len(moves) < rowsAtOnce {
			return nil
		}
		err := l.relocate(ctx, c.Pack, moves)
		moves = nil
		return err
	})
	if err == nil {
		err = l.relocate(ctx, c.Pack, moves)
	}
	if err != nil {
		return false, err
	}
	return l.putMerged(ctx, m, l.packsRow(slices.Collect(maps.Keys(kept)), through))
}

func (l *Ledger) relocate(ctx context.Context, name string, moves []relocation) error {
	return each(ctx, 2*batchWidth, moves, func(ctx context.Context, r relocation) error {
		u := newUpdate()
		u.set("p", text(name))
		if r.place != nil {
			u.set("o", number(r.place.Offset))
			u.set("l", number(r.place.Length))
		}
		_, err := asked(ctx, "moving an object's place", func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
			return l.table.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &l.table.name, Key: r.key, UpdateExpression: u.expression(),
				ConditionExpression:      aws.String("attribute_exists(pk)"),
				ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
			})
		})
		if judge(err) == refused {
			return nil // a row that is not there needs no place
		}
		return err
	})
}

// putMerged replaces the list of packs, unless another one was faster.
func (l *Ledger) putMerged(ctx context.Context, was merged, row item) (again bool, err error) {
	put := &types.Put{TableName: &l.table.name, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if was.row != nil {
		put.ConditionExpression = aws.String("#list = :list AND n = :n")
		put.ExpressionAttributeNames = map[string]string{"#list": "list"}
		put.ExpressionAttributeValues = item{":list": was.row["list"], ":n": was.row["n"]}
	}
	v, err := l.table.transact(ctx, "listing the packs", []types.TransactWriteItem{{Put: put}})
	if v == open && ctx.Err() == nil {
		return true, nil
	}
	return v == refused, err
}
