package dynamo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// Write is a change of one row, or a condition on one, for Write or Transact.
type Write = types.TransactWriteItem

// MaxWrites is how many writes a transaction holds.
const MaxWrites = 100

// If is a condition on the row that is written. Conditions are made with
// expression.Name and the functions below.
type If = expression.ConditionBuilder

// Is holds of rows in which an attribute has a value.
func Is(name string, value types.AttributeValue) If {
	return expression.Name(name).Equal(expression.Value(value))
}

// Missing holds of rows that have no such attribute; of HashKey, when there is no
// row.
func Missing(name string) If { return expression.Name(name).AttributeNotExists() }

// IsThere holds of rows that exist.
func IsThere() If { return expression.Name(HashKey).AttributeExists() }

// Set gives attributes these values.
func Set(attributes Item) expression.UpdateBuilder {
	var u expression.UpdateBuilder
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		u = u.Set(expression.Name(name), expression.Value(attributes[name]))
	}
	return u
}

// build makes the expressions of a write. That it fails is a mistake of the
// program, and is answered by the table, which refuses a write without them.
func build(update *expression.UpdateBuilder, conditions []If) expression.Expression {
	b := expression.NewBuilder()
	if update != nil {
		b = b.WithUpdate(*update)
	}
	var all If
	for _, c := range conditions {
		if all.IsSet() {
			c = all.And(c)
		}
		all = c
	}
	if all.IsSet() {
		b = b.WithCondition(all)
	} else if update == nil {
		return expression.Expression{}
	}
	built, _ := b.Build()
	return built
}

// Put writes a whole row, on condition of what is there.
func (t *Table) Put(row Item, conditions ...If) Write {
	e := build(nil, conditions)
	return Write{Put: &types.Put{TableName: &t.name, Item: row,
		ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values()}}
}

// Update changes single attributes of a row, and makes the row when there is none.
func (t *Table) Update(key Item, update expression.UpdateBuilder, conditions ...If) Write {
	e := build(&update, conditions)
	return Write{Update: &types.Update{TableName: &t.name, Key: key, UpdateExpression: e.Update(),
		ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values()}}
}

// Delete removes a row, if there is one.
func (t *Table) Delete(key Item, conditions ...If) Write {
	e := build(nil, conditions)
	return Write{Delete: &types.Delete{TableName: &t.name, Key: key,
		ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values()}}
}

// Check is a condition on a row that a transaction does not write.
func (t *Table) Check(key Item, conditions ...If) Write {
	e := build(nil, conditions)
	return Write{ConditionCheck: &types.ConditionCheck{TableName: &t.name, Key: key,
		ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values()}}
}

// Write makes one change by itself, and returns what an update has made of the
// attributes. It may be made twice, when an answer gets lost: use it for what
// does no harm then.
func (t *Table) Write(ctx context.Context, what string, w Write, options ...func(*dynamodb.Options)) (Item, error) {
	var updated Item
	var err error
	switch {
	case w.Put != nil:
		_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: w.Put.TableName, Item: w.Put.Item,
			ConditionExpression: w.Put.ConditionExpression, ExpressionAttributeNames: w.Put.ExpressionAttributeNames, ExpressionAttributeValues: w.Put.ExpressionAttributeValues}, options...)
	case w.Delete != nil:
		_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: w.Delete.TableName, Key: w.Delete.Key,
			ConditionExpression: w.Delete.ConditionExpression, ExpressionAttributeNames: w.Delete.ExpressionAttributeNames, ExpressionAttributeValues: w.Delete.ExpressionAttributeValues}, options...)
	case w.Update != nil:
		var out *dynamodb.UpdateItemOutput
		out, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: w.Update.TableName, Key: w.Update.Key,
			UpdateExpression: w.Update.UpdateExpression, ReturnValues: types.ReturnValueUpdatedNew,
			ConditionExpression: w.Update.ConditionExpression, ExpressionAttributeNames: w.Update.ExpressionAttributeNames, ExpressionAttributeValues: w.Update.ExpressionAttributeValues}, options...)
		if err == nil {
			updated = out.Attributes
		}
	}
	if err != nil {
		return nil, t.failure(ctx, what, err)
	}
	return updated, nil
}

// Transact makes all of these changes or none. An error is ErrRefused when a
// condition does not hold, ErrUnknown when they may have been made all the same,
// and otherwise nothing was changed. A refusal that followed upon an attempt
// whose answer was lost is both.
func (t *Table) Transact(ctx context.Context, what string, writes ...Write) error {
	mayHaveBeenDone := false
	_, err := t.client.TransactWriteItems(context.WithValue(ctx, openKey{}, &mayHaveBeenDone), &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	switch {
	case err == nil:
		return nil
	case mayHaveBeenDone && outcomeOf(err) == refused:
		return fmt.Errorf("%s: %w, and %w: %w", what, ErrRefused, ErrUnknown, err)
	case mayHaveBeenDone:
		return fmt.Errorf("%s: %w: %w", what, ErrUnknown, errors.Join(ctx.Err(), err))
	}
	return t.failure(ctx, what, err)
}

// Refusals says of the writes of a transaction that was refused which of them
// were, and what was there instead where that was asked for.
func Refusals(err error) []types.CancellationReason {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return cancelled.CancellationReasons
	}
	return nil
}

// atOnce bounds the requests that are under way at a time.
const atOnce = 16

// each does something with all parts, several at a time, until one fails.
func each[T any](ctx context.Context, parts iter.Seq[T], do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for part := range parts {
		group.Go(func() error { return do(ctx, part) })
	}
	return group.Wait()
}

// WriteEach makes changes, each by itself and several at a time, until one
// fails. That a condition does not hold is no failure.
func (t *Table) WriteEach(ctx context.Context, what string, writes []Write) error {
	return each(ctx, slices.Values(writes), func(ctx context.Context, w Write) error {
		if _, err := t.Write(ctx, what, w); !errors.Is(err, ErrRefused) {
			return err
		}
		return nil
	})
}

// perBatchWrite is how many rows one request writes.
const perBatchWrite = 25

// PutAll writes rows, in any order and not together. Writing them once more does
// no harm.
func (t *Table) PutAll(ctx context.Context, rows []Item) error {
	return t.writeAll(ctx, rows, func(row Item) types.WriteRequest { return types.WriteRequest{PutRequest: &types.PutRequest{Item: row}} })
}

// DeleteAll removes the rows with the keys of these.
func (t *Table) DeleteAll(ctx context.Context, rows []Item) error {
	return t.writeAll(ctx, rows, func(row Item) types.WriteRequest {
		return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: KeyOf(row)}}
	})
}

func (t *Table) writeAll(ctx context.Context, rows []Item, write func(Item) types.WriteRequest) error {
	const what = "writing rows"
	return each(ctx, slices.Chunk(rows, perBatchWrite), func(ctx context.Context, rows []Item) error {
		var writes []types.WriteRequest
		for _, row := range rows {
			writes = append(writes, write(row))
		}
		for attempt := 1; len(writes) > 0; attempt++ {
			out, err := t.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{t.name: writes}})
			if err != nil {
				return t.failure(ctx, what, err)
			}
			left := out.UnprocessedItems[t.name]
			if len(left) < len(writes) {
				attempt = 0 // it goes on
			}
			if writes = left; len(writes) > 0 {
				if err := t.Again(ctx, what, max(attempt, 1), errUnprocessed); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
