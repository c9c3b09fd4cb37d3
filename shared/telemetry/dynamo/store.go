package dynamo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/telemetry"
)

// Store is the telemetry in a table. It implements telemetry.Store.
type Store struct {
	table    *dynamo.Table
	keep     time.Duration
	counters counters
	last     *lru.Cache[string, lastRead] // by workspace
}

// New is the store in a table that exists. A context is kept for so many days after
// it was last seen; 0 is telemetry.ContextDays.
func New(client *dynamodb.Client, table string, days int) *Store {
	return &Store{table: dynamo.New(client, table, telemetry.ErrBusy), keep: time.Duration(cmp.Or(days, telemetry.ContextDays)) * 24 * time.Hour, last: lru.New[string, lastRead](lastReadBytes)}
}

// Attributes.
const (
	attrExpires  = "expires"
	attrN        = "n"
	attrSeen     = "seen"
	attrDigest   = "digest"
	attrDoc      = "doc"
	attrFields   = "fields"
	attrVersion  = "version"
	attrTypes    = "types"
	attrNewTypes = "newTypes"
	attrOwner    = "environment"
	// Of an earlier version, which kept one row of names that made no keys.
	attrOldGroups = "groupNames"
	attrOldTypes  = "typeNames"
)

// address is a row's primary key.
type address struct{ pk, sk string }

func (a address) key() dynamo.Item { return dynamo.Key(a.pk, a.sk) }

func (a address) with(attributes dynamo.Item) dynamo.Item {
	row := a.key()
	maps.Copy(row, attributes)
	return row
}

// keys makes the keys of the rows of a workspace.
type keys string

func (k keys) pk(parts string) string { return "telemetry/" + string(k) + "/" + parts }

func (k keys) pair(p telemetry.Pair) address {
	return address{k.pk("pair/" + string(p.Month) + "/" + hash(string(p.Month), p.Type, p.Key)), "pair"}
}

func (k keys) usage(month telemetry.Month) string { return k.pk("usage/" + string(month)) }

// notCounted is where the pairs that were too many in a month are counted, among
// the counters of the types, whose rows have a slash.
func (k keys) notCounted(month telemetry.Month) address {
	return address{k.usage(month), "notCounted"}
}

func (k keys) context(c telemetry.Saved) address {
	return address{k.pk("context/" + hash(c.Environment, c.Type, c.Key)), "context"}
}

// position is where a context stands in the order of sightings.
func (k keys) position(c telemetry.Saved, seen time.Time) address {
	return address{k.seen(c.Environment, c.Type), fmt.Sprintf("%015d/%s", seen.UnixMilli(), hash(c.Environment, c.Type, c.Key))}
}

func (k keys) seen(environment, contextType string) string {
	return k.pk("seen/" + hash(environment, contextType))
}

func (k keys) shapes() string { return k.pk("shape") }

func (k keys) shape(contextType string) address { return address{k.shapes(), "type/" + contextType} }

// known is where what has contexts and shapes is noted; the types in use are its rows.
func (k keys) known() string { return k.pk("known") }

func (k keys) contextTypes(environment string) address {
	return address{k.known(), "contexts/" + hash(environment)}
}

func (k keys) shapeTypes() address { return address{k.known(), "shapes"} }

// before is the one row of names of an earlier version.
func (k keys) before() address { return address{k.known(), "known"} }

// newInHour is where the keys and types that are new in an hour are counted.
func (k keys) newInHour(b telemetry.Batch) address {
	if b.Secret {
		return address{k.pk(fmt.Sprintf("new/%d/secret", b.Hour())), "new"}
	}
	return address{k.pk(fmt.Sprintf("new/%d", b.Hour())), "new"}
}

func (k keys) batch(id [32]byte) address {
	return address{k.pk("batch/" + hex.EncodeToString(id[:])), "batch"}
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func until(t time.Time) types.AttributeValue { return dynamo.Number(t.Unix()) }

func set(row dynamo.Item, name string) map[string]bool {
	names := map[string]bool{}
	if v, ok := row[name].(*types.AttributeValueMemberSS); ok {
		for _, n := range v.Value {
			names[n] = true
		}
	}
	return names
}

// sightingOf reads the row of a saved context.
func sightingOf(row dynamo.Item) telemetry.Sighting {
	s := telemetry.Sighting{Seen: time.UnixMilli(dynamo.NumberOf(row, attrSeen)).UTC()}
	copy(s.Digest[:], dynamo.BytesOf(row, attrDigest))
	return s
}

// rows reads rows by their addresses; those that do not exist are not there.
func (s *Store) rows(ctx context.Context, wanted []address) (map[address]dynamo.Item, error) {
	var all []dynamo.Item
	for _, a := range wanted {
		all = append(all, a.key())
	}
	read, _, err := s.table.GetAll(ctx, "reading telemetry", all)
	found := map[address]dynamo.Item{}
	for _, row := range read {
		found[address{dynamo.TextOf(row, dynamo.HashKey), dynamo.TextOf(row, dynamo.RangeKey)}] = row
	}
	return found, err
}

// busy says of a transaction of which it is not known how it ended that it may
// be repeated: pairs and sightings are counted once.
func busy(err error) error {
	if errors.Is(err, dynamo.ErrUnknown) {
		return fmt.Errorf("%w: %w", telemetry.ErrBusy, err)
	}
	return err
}
