package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/telemetry"
)

// perTransaction is how many contexts are saved together: each takes up to
// three items.
const perTransaction = mostItems / 3

// save saves the contexts that supersede what is there, and returns how many
// were too many.
func (r *recording) save(ctx context.Context) (unsaved int, err error) {
	fresh := 0
	for _, c := range r.batch.Contexts {
		if _, there := r.found[r.room.context(c)]; !there {
			fresh++
		}
	}
	admitted, err := r.admitNew(ctx, fresh)
	if err != nil {
		return 0, err
	}
	taken := map[string][]telemetry.Saved{} // by environment
	for _, c := range r.batch.Contexts {
		if _, there := r.found[r.room.context(c)]; !there {
			if admitted == 0 {
				unsaved++
				continue
			}
			admitted--
		}
		taken[c.Environment] = append(taken[c.Environment], c)
	}
	for environment, contexts := range taken {
		if err := r.saveOf(ctx, environment, contexts); err != nil {
			return 0, err
		}
	}
	return unsaved, nil
}

// saveOf saves contexts of one environment, of the types that there is room
// for.
func (r *recording) saveOf(ctx context.Context, environment string, contexts []telemetry.Saved) error {
	names := map[string]bool{}
	for _, c := range contexts {
		names[c.Type] = true
	}
	types, _, err := r.enroll(ctx, r.room.groupRoster(environment), environment, slices.Sorted(maps.Keys(names)), telemetry.MaxGroups)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(contexts, func(c telemetry.Saved) bool {
		_, there := types[c.Type]
		return !there || !r.supersedes(c)
	})
	for chunk := range slices.Chunk(left, perTransaction) {
		if err := r.saveTogether(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (r *recording) supersedes(c telemetry.Saved) bool {
	row, there := r.found[r.room.context(c)]
	return !there || c.Supersedes(sightingOf(row))
}

// saveTogether saves contexts in one transaction. Those that changed meanwhile
// are read again, and saved as far as they still supersede.
func (r *recording) saveTogether(ctx context.Context, contexts []telemetry.Saved) error {
	for try := 0; len(contexts) > 0; try++ {
		writes, err := r.saving(contexts)
		if err != nil {
			return err
		}
		_, err = r.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		if err == nil {
			return nil
		}
		if _, ok := refusals(err); !ok {
			return failure(ctx, "saving contexts", err)
		}
		if err := pause(ctx, try); err != nil {
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
	var addresses []address
	for _, c := range contexts {
		addresses = append(addresses, r.room.context(c))
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

func (r *recording) saving(contexts []telemetry.Saved) ([]types.TransactWriteItem, error) {
	var writes []types.TransactWriteItem
	for _, c := range contexts {
		doc, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		to, expires := r.room.position(c, c.LastSeen), until(c.LastSeen.Add(SavedFor))
		writes = append(writes, r.sighting(c, expires), types.TransactWriteItem{Put: &types.Put{
			TableName: &r.table, Item: to.with(item{attrDoc: str(string(doc)), attrExpires: expires})}})
		row, there := r.found[r.room.context(c)]
		if from := r.room.position(c, sightingOf(row).Seen); there && from != to {
			writes = append(writes, types.TransactWriteItem{Delete: &types.Delete{TableName: &r.table, Key: from.key()}})
		}
	}
	return writes, nil
}

// sighting replaces the sighting that was read, or makes the first.
func (r *recording) sighting(c telemetry.Saved, expires types.AttributeValue) types.TransactWriteItem {
	at, s := r.room.context(c), c.Sighting()
	put := &types.Put{TableName: &r.table, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		Item: at.with(item{attrSeen: number(s.Seen.UnixMilli()), attrDigest: digest(s), attrExpires: expires})}
	if row, there := r.found[at]; there {
		old := sightingOf(row)
		put.ConditionExpression = aws.String("seen = :seen AND digest = :digest")
		put.ExpressionAttributeValues = item{":seen": number(old.Seen.UnixMilli()), ":digest": digest(old)}
	}
	return types.TransactWriteItem{Put: put}
}

func digest(s telemetry.Sighting) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: s.Digest[:]}
}

// Contexts implements telemetry.Store.
func (s *Store) Contexts(ctx context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error) {
	r, m := room(workspace), q.Matcher()
	groups, err := s.groups(ctx, r, m)
	if err != nil {
		return nil, err
	}
	var found []telemetry.Saved
	left := telemetry.MaxSearched
	for _, g := range groups {
		if left <= 0 {
			break
		}
		more, looked, err := s.search(ctx, r.seen(g.environment, g.contextType), m, q, min(left, telemetry.MaxSaved))
		if err != nil {
			return nil, err
		}
		found, left = append(found, more...), left-looked
	}
	return telemetry.Newest(found, q.Limit), nil
}

// pageOf is how many rows a search reads at a time, at most.
const pageOf = 1000

// search reads a group from the context seen last, and says how many it has
// looked at.
func (s *Store) search(ctx context.Context, pk string, m telemetry.Matcher, q telemetry.Query, most int) (found []telemetry.Saved, looked int, err error) {
	before := map[string]bool{} // keys; expiry may leave an earlier place of one behind
	page := pageOf
	if q.Text == "" { // every row is one of the answer's
		page = q.Limit + 1
	}
	query := s.all(pk)
	query.ScanIndexForward, query.Limit = aws.Bool(false), aws.Int32(int32(page))
	for looked < most {
		out, err := s.client.Query(ctx, query)
		if err != nil {
			return nil, looked, failure(ctx, "searching contexts", err)
		}
		for _, row := range out.Items {
			var c telemetry.Saved
			if err := json.Unmarshal([]byte(text(row, attrDoc)), &c); err != nil {
				return nil, looked, fmt.Errorf("reading a saved context: %w", err)
			}
			if enough(found, q.Limit, c.LastSeen) {
				return found, looked, nil
			}
			looked++
			if !before[c.Key] && m.Match(c) {
				found = append(found, c)
			}
			before[c.Key] = true
		}
		if query.ExclusiveStartKey = out.LastEvaluatedKey; query.ExclusiveStartKey == nil {
			break
		}
	}
	return found, looked, nil
}

// enough says whether no later find can come into the answer: of those seen at
// one moment the order is another than the table's.
func enough(found []telemetry.Saved, limit int, next time.Time) bool {
	return len(found) >= limit && found[limit-1].LastSeen.After(next)
}

// all asks for all rows of a partition.
func (s *Store) all(pk string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": str(pk)}}
}

// each visits all rows of a partition.
func (s *Store) each(ctx context.Context, what, pk string, visit func(item) error) error {
	query := s.all(pk)
	for {
		out, err := s.client.Query(ctx, query)
		if err != nil {
			return failure(ctx, what, err)
		}
		for _, row := range out.Items {
			if err := visit(row); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		if query.ExclusiveStartKey = out.LastEvaluatedKey; query.ExclusiveStartKey == nil {
			return nil
		}
	}
}

// Shapes implements telemetry.Store.
func (s *Store) Shapes(ctx context.Context, workspace string) ([]telemetry.KnownShape, error) {
	list := []telemetry.KnownShape{}
	err := s.each(ctx, "reading shapes", room(workspace).shapes(), func(row item) error {
		shape := telemetry.KnownShape{Type: text(row, attrSK)[len("type/"):]}
		err := json.Unmarshal([]byte(text(row, attrFields)), &shape.Fields)
		list = append(list, shape)
		return err
	})
	if err != nil {
		return nil, err
	}
	return telemetry.SortShapes(list), nil
}

// Usage implements telemetry.Store.
func (s *Store) Usage(ctx context.Context, workspace string, month telemetry.Month) (telemetry.Usage, error) {
	counts := map[string]int{}
	err := s.each(ctx, "reading usage", room(workspace).usage(month), func(row item) error {
		counts[text(row, attrSK)[len("0/"):]] += int(integer(row, attrN))
		return nil
	})
	if err != nil {
		return telemetry.Usage{}, err
	}
	return telemetry.NewUsage(month, counts), nil
}
