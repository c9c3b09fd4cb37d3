package earlier

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
)

// reading is a workspace's bucket on its way into an archive.
type reading struct {
	root *bolt.Bucket
	to   *rows.Import
}

// all reads the counts of months before their pairs, and contexts in the order in which
// they were seen, as archives have them.
func (r *reading) all() error {
	last := r.batches()
	long, err := r.groups(last)
	r.months(long)
	return errors.Join(err, r.shapes(last), r.evaluations())
}

// batches returns when the last one was received.
func (r *reading) batches() (last time.Time) {
	each(r.root.Bucket([]byte("batches")), func(id, at []byte) {
		if received := moment(at); len(id) == 32 {
			r.to.Batch([32]byte(id), received)
			if received.After(last) {
				last = received
			}
		}
	})
	return last
}

// groups reads the saved contexts, and returns the pairs that stand as their SHA-256.
func (r *reading) groups(last time.Time) (long map[string]telemetry.Pair, err error) {
	long = map[string]telemetry.Pair{}
	used := map[string]map[string]uint64{} // by environment and type, the number of the last batch
	each(r.root.Bucket([]byte("groups")), func(name, _ []byte) {
		of := parts(name)
		g := r.root.Bucket([]byte("groups")).Bucket(name)
		if len(of) != 2 || g == nil {
			return
		}
		if used[of[0]] == nil {
			used[of[0]] = map[string]uint64{}
		}
		used[of[0]][of[1]] = uint64(number(g.Get([]byte("lastBatch"))))
		contexts := g.Bucket([]byte("keys"))
		each(g.Bucket([]byte("seen")), func(place, _ []byte) {
			c := telemetry.Saved{Environment: of[0], Type: of[1], Key: string(place[min(8, len(place)):]), LastSeen: moment(place)}
			var stored struct{ Properties []telemetry.Property }
			err = errors.Join(err, json.Unmarshal(contexts.Get([]byte(c.Key)), &stored))
			c.Properties = stored.Properties
			r.to.Context(c)
			sum := sha256.Sum256(join(c.Type, c.Key))
			long["\xff"+string(sum[:])] = telemetry.Pair{Type: c.Type, Key: c.Key}
		})
	})
	for environment, types := range used {
		r.to.Types(environment, byBatch(types), last)
	}
	return long, err
}

// byBatch are types, the one that was longest in no batch first.
func byBatch(types map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(types), func(a, b string) int {
		return cmp.Or(cmp.Compare(types[a], types[b]), strings.Compare(a, b))
	})
}

func (r *reading) months(long map[string]telemetry.Pair) {
	all := r.root.Bucket([]byte("months"))
	each(all, func(name, _ []byte) {
		month, is := telemetry.Month(name), all.Bucket(name)
		each(is.Bucket([]byte("counts")), func(row, n []byte) {
			if of := parts(row); len(of) == 1 {
				r.to.Keys(month, of[0], int(number(n)))
			}
		})
		if n := number(is.Get([]byte("notCounted"))); n > 0 {
			r.to.NotCounted(month, int(n))
		}
	})
	each(all, func(name, _ []byte) {
		each(all.Bucket(name).Bucket([]byte("pairs")), func(row, _ []byte) {
			p, known := long[string(row)]
			if of := parts(row); len(of) == 2 {
				p, known = telemetry.Pair{Type: of[0], Key: of[1]}, true
			}
			if p.Month = telemetry.Month(name); known {
				r.to.Pair(p)
			}
		})
	})
}

func (r *reading) shapes(last time.Time) (err error) {
	all := r.root.Bucket([]byte("shapes"))
	used := map[string]uint64{}
	each(all, func(row, text []byte) {
		if of := parts(row); len(of) == 2 && of[0] == "type" {
			var shape telemetry.KnownShape
			err = errors.Join(err, json.Unmarshal(text, &shape))
			r.to.Shape(shape)
			used[of[1]] = uint64(number(all.Get(join("last", of[1]))))
		}
	})
	if len(used) > 0 {
		r.to.Types("", byBatch(used), last)
	}
	return err
}

func (r *reading) evaluations() (err error) {
	all := r.root.Bucket([]byte("evaluations"))
	each(all, func(name, _ []byte) {
		of, days := parts(name), all.Bucket(name)
		each(days, func(day, _ []byte) {
			counts := map[string]*telemetry.Tally{}
			each(days.Bucket(day), func(key, text []byte) {
				var tally telemetry.Tally
				err = errors.Join(err, json.Unmarshal(text, &tally))
				counts[string(key)] = &tally
			})
			r.to.Tallies(strings.Join(of, ""), telemetry.Day(day), counts)
		})
	})
	e := telemetry.Evaluated{Since: telemetry.Day(r.root.Get([]byte("evaluatedSince"))), Days: map[string]telemetry.Day{}}
	each(r.root.Bucket([]byte("lastEvaluated")), func(row, day []byte) {
		e.Days[strings.Join(parts(row), "")] = telemetry.Day(day)
	})
	if e.Since != "" {
		r.to.Evaluated(&e)
	}
	return err
}

// each visits the rows of a bucket, which may be nil, in order.
func each(b *bolt.Bucket, visit func(key, value []byte)) {
	if b == nil {
		return
	}
	_ = b.ForEach(func(key, value []byte) error { // which has no error of its own
		visit(key, value)
		return nil
	})
}

// join writes a name of several parts.
func join(parts ...string) []byte {
	var b []byte
	for _, part := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	return b
}

// parts takes a name apart; what is none has no parts.
func parts(name []byte) (list []string) {
	for len(name) > 0 {
		n, size := binary.Uvarint(name)
		if size <= 0 || n > uint64(len(name)-size) {
			return nil
		}
		list = append(list, string(name[size:size+int(n)]))
		name = name[size+int(n):]
	}
	return list
}

func number(text []byte) int64 {
	if len(text) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(text))
}

func moment(text []byte) time.Time { return time.UnixMilli(number(text)).UTC() }
