package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/table"
)

// Table is a table. It implements table.Table.
type Table struct{ db *dynamo.Table }

var _ table.Table = (*Table)(nil)

// New is about a table of a name. How often a request is tried is decided here, whatever
// the client says. A table that is lost may be restored, so that callers are told to come
// again.
func New(client *dynamodb.Client, name string) *Table {
	return &Table{dynamo.New(client, name, table.ErrBusy).WhenLost(table.ErrBusy)}
}

// Create makes the table, unless it is there, and waits until it can be used.
func (t *Table) Create(ctx context.Context) error { return t.db.Create(ctx) }

const reading, writing = "reading rows", "writing rows"

// Get implements table.Table.
func (t *Table) Get(ctx context.Context, keys []table.Key, only ...string) ([]table.Row, error) {
	found, _, err := t.GetAt(ctx, keys, only...)
	return found, err
}

// GetAt implements table.Table. The time is that of the answer's Date.
func (t *Table) GetAt(ctx context.Context, keys []table.Key, only ...string) ([]table.Row, time.Time, error) {
	var wanted []dynamo.Item
	for _, k := range keys {
		wanted = append(wanted, keyOf(k))
	}
	items, now, err := t.db.GetAll(ctx, reading, wanted, withKey(only)...)
	if err != nil {
		return nil, now, err
	}
	found := make([]table.Row, len(items))
	for i, item := range items {
		found[i] = rowOf(item)
	}
	return found, now, nil
}

// GetOne implements table.Table.
func (t *Table) GetOne(ctx context.Context, key table.Key, only ...string) (table.Attributes, time.Time, error) {
	item, now, err := t.db.Get(ctx, reading, keyOf(key), withKey(only)...)
	if err != nil || item == nil {
		return nil, now, err
	}
	return rowOf(item).Attributes, now, nil
}

// withKey adds the key to the attributes that are asked for; none is all.
func withKey(only []string) []string {
	if len(only) == 0 {
		return nil
	}
	return append([]string{dynamo.HashKey, dynamo.RangeKey}, only...)
}

// Query implements table.Table.
func (t *Table) Query(ctx context.Context, q table.Query, each func(table.Row) (bool, error)) error {
	return t.db.Query(ctx, reading, dynamo.Query{Partition: q.Partition, Low: q.Low, High: q.High, Newest: q.Newest, Limit: q.Page, Attributes: withKey(q.Only)},
		func(item dynamo.Item) (bool, error) { return each(rowOf(item)) })
}

// Scan implements table.Table.
func (t *Table) Scan(ctx context.Context, prefix string, each func(table.Row) error) error {
	return t.db.Scan(ctx, reading, prefix, func(item dynamo.Item) error { return each(rowOf(item)) })
}

// Transact implements table.Table.
func (t *Table) Transact(ctx context.Context, writes ...table.Write) error {
	if err := table.CheckWrites(writes, table.MaxWrites); err != nil {
		return err
	}
	made := make([]dynamo.Write, len(writes))
	for i, w := range writes {
		made[i] = t.writeOf(w)
	}
	return failure(t.db.Transact(ctx, writing, made...), writes...)
}

// failure is an error in the table's words.
func failure(err error, writes ...table.Write) error {
	if errors.Is(err, dynamo.ErrUnknown) {
		err = fmt.Errorf("%w: %w", table.ErrUnknown, err)
	}
	if !errors.Is(err, dynamo.ErrRefused) {
		return err
	}
	refused := &table.Refused{}
	for i, reason := range dynamo.Refusals(err) {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
			var found table.Attributes
			if reason.Item != nil {
				found = rowOf(reason.Item).Attributes
			}
			refused.Add(i, writes[i], found)
		}
	}
	return fmt.Errorf("%w: %w", refused, err)
}

// Update implements table.Table.
func (t *Table) Update(ctx context.Context, w table.Write) (table.Attributes, error) {
	if err := table.CheckWrites([]table.Write{w}, 1); err != nil {
		return nil, err
	}
	item, err := t.db.Write(ctx, writing, t.writeOf(w))
	if err != nil {
		return nil, failure(err)
	}
	return rowOf(item).Attributes, nil
}

// Batch implements table.Table.
func (t *Table) Batch(ctx context.Context, writes []table.Write) error {
	if err := table.CheckWrites(writes, len(writes)); err != nil {
		return err
	}
	var put, gone []dynamo.Item
	for _, w := range writes {
		if w.Put != nil {
			put = append(put, itemOf(table.Row{Key: w.Key, Attributes: w.Put}))
		} else {
			gone = append(gone, keyOf(w.Key))
		}
	}
	return errors.Join(t.db.PutAll(ctx, put), t.db.DeleteAll(ctx, gone))
}

// Together implements table.Table. DynamoDB has no transactions that large.
func (t *Table) Together(_ context.Context, work func(table.Table) error) error { return work(t) }

// Wipe implements table.Table. DynamoDB's files are its own.
func (t *Table) Wipe(context.Context) error { return nil }

func (t *Table) writeOf(w table.Write) dynamo.Write {
	made := t.changeOf(w)
	if w.Tell {
		const all = types.ReturnValuesOnConditionCheckFailureAllOld
		switch {
		case made.Put != nil:
			made.Put.ReturnValuesOnConditionCheckFailure = all
		case made.Delete != nil:
			made.Delete.ReturnValuesOnConditionCheckFailure = all
		case made.ConditionCheck != nil:
			made.ConditionCheck.ReturnValuesOnConditionCheckFailure = all
		default:
			made.Update.ReturnValuesOnConditionCheckFailure = all
		}
	}
	return made
}

func (t *Table) changeOf(w table.Write) dynamo.Write {
	var conditions []dynamo.If
	for _, c := range w.If {
		conditions = append(conditions, conditionOf(c))
	}
	switch {
	case w.Put != nil:
		return t.db.Put(itemOf(table.Row{Key: w.Key, Attributes: w.Put}), conditions...)
	case w.Delete:
		return t.db.Delete(keyOf(w.Key), conditions...)
	case w.Check:
		return t.db.Check(keyOf(w.Key), conditions...)
	}
	var u expression.UpdateBuilder
	for _, name := range slices.Sorted(maps.Keys(w.Set)) {
		u = u.Set(expression.Name(name), expression.Value(valueOf(w.Set[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Add)) {
		u = u.Add(expression.Name(name), expression.Value(w.Add[name]))
	}
	for _, name := range w.Unset {
		u = u.Remove(expression.Name(name))
	}
	return t.db.Update(keyOf(w.Key), u, conditions...)
}

func conditionOf(c table.Condition) dynamo.If {
	switch c.Kind {
	case table.IsAbsent:
		return dynamo.Missing(dynamo.HashKey)
	case table.IsEqual:
		return dynamo.Is(c.Name, valueOf(c.Value))
	case table.IsLacking:
		return dynamo.Missing(c.Name)
	case table.IsPresent:
		return expression.Name(cmp.Or(c.Name, dynamo.HashKey)).AttributeExists()
	case table.IsLess:
		return expression.Name(c.Name).LessThan(expression.Value(valueOf(c.Value)))
	}
	var all dynamo.If
	for _, part := range c.Of {
		switch made := conditionOf(part); {
		case !all.IsSet():
			all = made
		case c.Kind == table.AllOf:
			all = all.And(made)
		default:
			all = all.Or(made)
		}
	}
	return all
}

func keyOf(k table.Key) dynamo.Item { return dynamo.Key(k.Partition, k.Sort) }

func itemOf(r table.Row) dynamo.Item {
	item := keyOf(r.Key)
	for name, value := range r.Attributes {
		item[name] = valueOf(value)
	}
	return item
}

func valueOf(v table.Value) types.AttributeValue {
	switch v := v.(type) {
	case table.Text:
		return dynamo.Text(string(v))
	case table.Number:
		return dynamo.Number(int64(v))
	case table.Bytes:
		return dynamo.Bytes(v)
	case table.Truth:
		return dynamo.Bool(bool(v))
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

func rowOf(item dynamo.Item) table.Row {
	row := table.Row{Key: table.Key{Partition: dynamo.TextOf(item, dynamo.HashKey), Sort: dynamo.TextOf(item, dynamo.RangeKey)}, Attributes: table.Attributes{}}
	for name, value := range item {
		if name != dynamo.HashKey && name != dynamo.RangeKey {
			row.Attributes[name] = readValue(value)
		}
	}
	return row
}

func readValue(value types.AttributeValue) table.Value {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return table.Text(v.Value)
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			return table.Foreign(v.Value) // a fraction, for example
		}
		return table.Number(n)
	case *types.AttributeValueMemberB:
		return table.Bytes(v.Value)
	case *types.AttributeValueMemberBOOL:
		return table.Truth(v.Value)
	}
	return table.Foreign(fmt.Sprintf("%T", value))
}
