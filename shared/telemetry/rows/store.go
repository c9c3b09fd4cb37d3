package rows

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// Store is the telemetry in a table. It implements telemetry.Store.
type Store struct {
	table    table.Table
	keep     time.Duration
	counters *counters
	last     *lru.Cache[string, lastRead] // by workspace
}

// New is the store in a table that exists. A context is kept for so many days after
// it was last seen; 0 is telemetry.ContextDays.
func New(in table.Table, days int) *Store {
	return &Store{table: in, keep: time.Duration(cmp.Or(days, telemetry.ContextDays)) * 24 * time.Hour, counters: &counters{all: map[[2]string]*counting{}}, last: lru.New[string, lastRead](lastReadBytes)}
}

// together runs work on the store, in one transaction of its table where that has such.
func (s *Store) together(ctx context.Context, work func(*Store) error) error {
	return busy(s.table.Together(ctx, func(t table.Table) error {
		in := *s
		in.table = t
		return work(&in)
	}))
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
)

func keyOf(partition, sort string) table.Key { return table.Key{Partition: partition, Sort: sort} }

// keys makes the keys of the rows of a workspace.
type keys string

func (k keys) pk(parts string) string { return "telemetry/" + string(k) + "/" + parts }

func (k keys) pair(p telemetry.Pair) table.Key {
	return keyOf(k.pk("pair/"+string(p.Month)+"/"+hash(string(p.Month), p.Type, p.Key)), "pair")
}

func (k keys) usage(month telemetry.Month) string { return k.pk("usage/" + string(month)) }

// notCounted is where the pairs that were too many in a month are counted, among
// the counters of the types, whose rows have a slash.
func (k keys) notCounted(month telemetry.Month) table.Key {
	return keyOf(k.usage(month), "notCounted")
}

func (k keys) context(c telemetry.Saved) table.Key {
	return k.contextNamed(hash(c.Environment, c.Type, c.Key))
}

func (k keys) contextNamed(name string) table.Key { return keyOf(k.pk(contextFolder+name), "context") }

// position is where a context stands in the time index.
func (k keys) position(c telemetry.Saved, seen time.Time) table.Key {
	return keyOf(k.seen(c.Environment, c.Type), fmt.Sprintf("%015d/%s", seen.UnixMilli(), hash(c.Environment, c.Type, c.Key)))
}

func (k keys) seen(environment, contextType string) string {
	return k.pk("seen/" + hash(environment, contextType))
}

func (k keys) shapes() string { return k.pk("shape") }

func (k keys) shape(contextType string) table.Key { return keyOf(k.shapes(), "type/"+contextType) }

// known is where what has contexts and shapes is noted; the types in use are its rows.
func (k keys) known() string { return k.pk("known") }

func (k keys) contextTypes(environment string) table.Key {
	return keyOf(k.known(), "contexts/"+hash(environment))
}

func (k keys) shapeTypes() table.Key { return keyOf(k.known(), "shapes") }

// newInHour is where the keys and types that are new in an hour are counted.
func (k keys) newInHour(b telemetry.Batch) table.Key {
	if b.Secret {
		return keyOf(k.pk(fmt.Sprintf("new/%d/secret", b.Hour())), "new")
	}
	return keyOf(k.pk(fmt.Sprintf("new/%d", b.Hour())), "new")
}

func (k keys) batch(id [32]byte) table.Key {
	return keyOf(k.pk("batch/"+hex.EncodeToString(id[:])), "batch")
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// versionOf reads the row of a saved context.
func versionOf(row table.Attributes) telemetry.ContextVersion {
	s := telemetry.ContextVersion{Seen: time.UnixMilli(row.Number(attrSeen)).UTC()}
	copy(s.Digest[:], row.Bytes(attrDigest))
	return s
}

// rows reads rows by their keys; those that do not exist are not there.
func (s *Store) rows(ctx context.Context, wanted []table.Key) (map[table.Key]table.Attributes, error) {
	read, err := s.table.Get(ctx, wanted)
	found := map[table.Key]table.Attributes{}
	for _, row := range read {
		found[row.Key] = row.Attributes
	}
	return found, err
}

// update makes a change by itself.
func (s *Store) update(ctx context.Context, w table.Write) error {
	_, err := s.table.Update(ctx, w)
	return err
}

// busy says of a transaction of which it is not known how it ended that it may
// be repeated: pairs and contexts are counted once.
func busy(err error) error {
	if errors.Is(err, table.ErrUnknown) {
		return fmt.Errorf("%w: %w", telemetry.ErrBusy, err)
	}
	return err
}

// maxRounds is how often something is tried in which others may be faster.
const maxRounds = 10

// again waits before something is tried again that did not succeed because of why. It
// fails when that was often enough: attempts are counted from 1.
func again(ctx context.Context, attempt int, why error) error {
	waits := backoff.Backoff{First: 25 * time.Millisecond, Max: time.Second}
	if attempt < maxRounds && waits.Wait(ctx, attempt-1) == nil {
		return nil
	}
	return errors.Join(telemetry.ErrBusy, ctx.Err(), why)
}
