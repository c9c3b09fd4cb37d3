package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/telemetry"
)

// SavedFor is how long a context is kept after it was last seen.
const SavedFor = 90 * 24 * time.Hour

// Store is the telemetry in a table. It implements telemetry.Store.
type Store struct {
	client *dynamodb.Client
	table  string
}

// New is the store in a table that exists.
func New(client *dynamodb.Client, table string) *Store { return &Store{client, table} }

type item = map[string]types.AttributeValue

// Attributes.
const (
	attrPK      = "pk"
	attrSK      = "sk"
	attrExpires = "expires"
	attrN       = "n"
	attrSeen    = "seen"
	attrDigest  = "digest"
	attrDoc     = "doc"
	attrFields  = "fields"
	attrVersion = "version"
	attrRoster  = "types"
	attrOwner   = "environment"
	// Of an earlier version, which kept one row of names that made no room.
	attrGroups = "groupNames"
	attrTypes  = "typeNames"
)

// address is a row's primary key.
type address struct{ pk, sk string }

func (a address) key() item { return item{attrPK: str(a.pk), attrSK: str(a.sk)} }

func (a address) with(attributes item) item {
	row := a.key()
	for name, value := range attributes {
		row[name] = value
	}
	return row
}

// room is the rows of a workspace.
type room string

func (r room) pk(parts string) string { return "telemetry/" + string(r) + "/" + parts }

func (r room) pair(p telemetry.Pair) address {
	return address{r.pk("pair/" + string(p.Month) + "/" + hash(string(p.Month), p.Type, p.Key)), "pair"}
}

func (r room) usage(month telemetry.Month) string { return r.pk("usage/" + string(month)) }

func (r room) context(c telemetry.Saved) address {
	return address{r.pk("context/" + hash(c.Environment, c.Type, c.Key)), "context"}
}

// position is where a context stands in the order of sightings.
func (r room) position(c telemetry.Saved, seen time.Time) address {
	return address{r.seen(c.Environment, c.Type), fmt.Sprintf("%015d/%s", seen.UnixMilli(), hash(c.Environment, c.Type, c.Key))}
}

func (r room) seen(environment, contextType string) string {
	return r.pk("seen/" + hash(environment, contextType))
}

func (r room) shapes() string { return r.pk("shape") }

func (r room) shape(contextType string) address { return address{r.shapes(), "type/" + contextType} }

// known is where what has contexts and shapes is noted; rosters are its rows.
func (r room) known() string { return r.pk("known") }

func (r room) groupRoster(environment string) address {
	return address{r.known(), "contexts/" + hash(environment)}
}

func (r room) shapeRoster() address { return address{r.known(), "shapes"} }

// before is the one row of names of an earlier version.
func (r room) before() address { return address{r.known(), "known"} }

// newKeys is where the keys that are new in an hour are counted.
func (r room) newKeys(hour int64) address {
	return address{r.pk(fmt.Sprintf("new/%d", hour)), "new"}
}

func (r room) batch(id [32]byte) address {
	return address{r.pk("batch/" + hex.EncodeToString(id[:])), "batch"}
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func until(t time.Time) types.AttributeValue { return number(t.Unix()) }

func text(row item, name string) string {
	if v, ok := row[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func integer(row item, name string) int64 {
	if v, ok := row[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64) // the table holds nothing else
		return n
	}
	return 0
}

func set(row item, name string) map[string]bool {
	names := map[string]bool{}
	if v, ok := row[name].(*types.AttributeValueMemberSS); ok {
		for _, n := range v.Value {
			names[n] = true
		}
	}
	return names
}

// sightingOf reads the row of a saved context.
func sightingOf(row item) telemetry.Sighting {
	s := telemetry.Sighting{Seen: time.UnixMilli(integer(row, attrSeen)).UTC()}
	if v, ok := row[attrDigest].(*types.AttributeValueMemberB); ok {
		copy(s.Digest[:], v.Value)
	}
	return s
}

// mostKeys is how many rows a BatchGetItem reads.
const mostKeys = 100

// rows reads rows by their addresses; those that do not exist are not there.
func (s *Store) rows(ctx context.Context, wanted []address) (map[address]item, error) {
	chunks := slices.Collect(slices.Chunk(wanted, mostKeys))
	read := make([]map[address]item, len(chunks))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(16) // requests at a time
	for n := range chunks {
		group.Go(func() (err error) {
			read[n], err = s.some(within, chunks[n])
			return err
		})
	}
	err := group.Wait()
	found := map[address]item{}
	for _, some := range read {
		maps.Copy(found, some)
	}
	return found, err
}

func (s *Store) some(ctx context.Context, wanted []address) (map[address]item, error) {
	found := map[address]item{}
	request := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
	for _, a := range wanted {
		request.Keys = append(request.Keys, a.key())
	}
	for try := 0; ; try++ {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.table: request}})
		if err != nil {
			return nil, failure(ctx, "reading telemetry", err)
		}
		for _, row := range out.Responses[s.table] {
			found[address{text(row, attrPK), text(row, attrSK)}] = row
		}
		left, more := out.UnprocessedKeys[s.table]
		if !more || len(left.Keys) == 0 {
			return found, nil
		}
		request.Keys = left.Keys
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}
