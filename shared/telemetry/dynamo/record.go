package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/telemetry"
)

// recording is a batch on its way into the table.
type recording struct {
	*Store
	room  room
	batch telemetry.Batch
	found map[address]item
}

// Record implements telemetry.Store.
func (s *Store) Record(ctx context.Context, workspace string, b telemetry.Batch) (done telemetry.Recorded, err error) {
	r := recording{Store: s, room: room(workspace), batch: b}
	if r.found, err = s.rows(ctx, r.addresses()); err != nil {
		return done, err
	}
	if _, known := r.found[r.room.batch(b.ID)]; known {
		return done, nil
	}
	if done.Counted, err = r.count(ctx); err != nil {
		return telemetry.Recorded{}, err
	}
	if done.Unsaved, err = r.save(ctx); err != nil {
		return telemetry.Recorded{}, err
	}
	if err := r.joinShapes(ctx); err != nil {
		return telemetry.Recorded{}, err
	}
	return done, r.remember(ctx)
}

// addresses are all rows that a batch is about.
func (r *recording) addresses() []address {
	list := []address{r.room.batch(r.batch.ID), r.room.before(), r.room.newKeys(r.batch.Hour())}
	for _, p := range r.batch.Pairs {
		list = append(list, r.room.pair(p))
	}
	environments := map[string]bool{}
	for _, c := range r.batch.Contexts {
		list = append(list, r.room.context(c))
		if !environments[c.Environment] {
			environments[c.Environment] = true
			list = append(list, r.room.groupRoster(c.Environment))
		}
	}
	for i, s := range r.batch.Shapes {
		list = append(list, r.room.shape(s.Type))
		if i == 0 {
			list = append(list, r.room.shapeRoster())
		}
	}
	return list
}

func (r *recording) remember(ctx context.Context) error {
	_, err := r.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.table,
		Item: r.room.batch(r.batch.ID).with(item{attrExpires: until(r.batch.Received.Add(telemetry.Remembered + time.Hour))})})
	if err != nil {
		return failure(ctx, "remembering a batch", err)
	}
	return nil
}

// mostItems is how many items a transaction holds.
const mostItems = 100

// count counts the pairs that are new, as many at a time as a transaction holds
// together with their counters.
func (r *recording) count(ctx context.Context) (counted int, err error) {
	var chunk []telemetry.Pair
	counters := map[counter]int{}
	flush := func() error {
		n, err := r.countTogether(ctx, chunk)
		counted += n
		chunk, counters = nil, map[counter]int{}
		return err
	}
	for _, p := range r.batch.Pairs {
		if _, known := r.found[r.room.pair(p)]; known {
			continue
		}
		chunk = append(chunk, p)
		if counters[counter{p.Month, p.Type}]++; len(chunk)+len(counters) >= mostItems-1 {
			if err := flush(); err != nil {
				return counted, err
			}
		}
	}
	return counted, flush()
}

// counter is what a pair is counted in.
type counter struct {
	month       telemetry.Month
	contextType string
}

// countTogether counts pairs in one transaction. Those that others were first
// with are left out of the next try.
func (r *recording) countTogether(ctx context.Context, pairs []telemetry.Pair) (int, error) {
	for try := 0; len(pairs) > 0; try++ {
		_, err := r.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: r.counting(pairs)})
		if err == nil {
			return len(pairs), nil
		}
		refused, ok := refusals(err)
		if !ok {
			return 0, failure(ctx, "counting", err)
		}
		var left []telemetry.Pair
		for i, p := range pairs {
			if i >= len(refused) || !refused[i] {
				left = append(left, p)
			}
		}
		if len(left) == len(pairs) {
			if err := pause(ctx, try); err != nil {
				return 0, err
			}
		}
		pairs = left
	}
	return 0, nil
}

// shards is how many rows a counter has.
const shards = 8

func (r *recording) counting(pairs []telemetry.Pair) []types.TransactWriteItem {
	var writes []types.TransactWriteItem
	counters := map[counter]int64{}
	for _, p := range pairs {
		counters[counter{p.Month, p.Type}]++
		writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &r.table,
			Item:                r.room.pair(p).with(item{attrExpires: until(p.Month.End().AddDate(0, 0, 7))}),
			ConditionExpression: aws.String("attribute_not_exists(pk)")}})
	}
	shard := strconv.Itoa(rand.N(shards))
	for c, n := range counters {
		writes = append(writes, types.TransactWriteItem{Update: &types.Update{TableName: &r.table,
			Key:                       address{r.room.usage(c.month), shard + "/" + c.contextType}.key(),
			UpdateExpression:          aws.String("ADD n :n"),
			ExpressionAttributeValues: item{":n": number(n)}}})
	}
	return writes
}

func (r *recording) joinShapes(ctx context.Context) error {
	if len(r.batch.Shapes) == 0 {
		return nil
	}
	var names []string
	for _, s := range r.batch.Shapes {
		names = append(names, s.Type)
	}
	types, gone, err := r.enroll(ctx, r.room.shapeRoster(), "", names, telemetry.MaxShapeTypes)
	if err != nil {
		return err
	}
	for _, s := range r.batch.Shapes {
		if _, there := types[s.Type]; there {
			if err := r.joinShape(ctx, s); err != nil {
				return err
			}
		}
	}
	return r.dropShapes(ctx, gone)
}

// dropShapes deletes the shapes of types that have made room.
func (r *recording) dropShapes(ctx context.Context, gone []string) error {
	for _, contextType := range gone {
		_, err := r.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &r.table, Key: r.room.shape(contextType).key()})
		if err != nil {
			return failure(ctx, "forgetting a shape", err)
		}
	}
	return nil
}

func (r *recording) joinShape(ctx context.Context, news telemetry.KnownShape) error {
	at := r.room.shape(news.Type)
	row, there := r.found[at]
	for try := 0; ; try++ {
		known := telemetry.KnownShape{Type: news.Type}
		if there {
			if err := json.Unmarshal([]byte(text(row, attrFields)), &known.Fields); err != nil {
				return fmt.Errorf("reading the shape of a context type: %w", err)
			}
		}
		if !known.Join(news) && there {
			return nil
		}
		written, err := r.putShape(ctx, at, known, integer(row, attrVersion))
		if written || err != nil {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
		again, err := r.rows(ctx, []address{at})
		if err != nil {
			return err
		}
		row, there = again[at]
	}
}

// putShape writes a shape in the place of a version; it is false when another
// one is there by now.
func (r *recording) putShape(ctx context.Context, at address, shape telemetry.KnownShape, version int64) (bool, error) {
	fields, err := json.Marshal(shape.Fields)
	if err != nil {
		return false, err
	}
	_, err = r.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.table,
		Item:                      at.with(item{attrFields: str(string(fields)), attrVersion: number(version + 1)}),
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR version = :v"),
		ExpressionAttributeValues: item{":v": number(version)}})
	if isRefused(err) {
		return false, nil
	}
	if err != nil {
		return false, failure(ctx, "noting a shape", err)
	}
	return true, nil
}
