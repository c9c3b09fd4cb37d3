package delivery

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
)

// Table is what one environment serves, compiled and encoded: an answer to a
// poll is copied together from it.
type Table struct {
	edition
	Environment string
	// Withheld are the values that are never sent, for a warning at load.
	Withheld []Withheld

	snapshot *evaluation.Snapshot // of what is served
	native   [][]byte             // per answer, with a comma; none when withheld
	ofrep    []ofrepAnswer        // per answer
	phrases  []string             // of OFREP answers; few, as they repeat from flag to flag
	noMatch  []uint32             // per item: the phrase that ends the OFREP answer which leaves the default to the caller
	tails    struct{ native, ofrep []byte }
	size     int                    // of the largest answer to a whole poll, so that one buffer does
	bytes    int                    // of all native answers and phrases
	configs  int                    // how many of the items are configs
	load     func() (*Table, error) // of a table that stands for one which is not in memory
}

// ofrepAnswer is where the parts of an OFREP answer are found. Key and value
// are those of the native answer, and need not be held twice.
type ofrepAnswer struct {
	key    uint32    // how long it is, at the beginning of the native answer
	value  [2]uint32 // from where to where it reaches in the native answer
	phrase uint32    // what comes after the value, with its comma
}

// Withheld says that an item has values that are not served, and why.
type Withheld struct {
	Type   document.Type
	Key    string
	Values int
	Why    string
}

// NewTable compiles and encodes documents. The version is theirs, before any
// rule on the current time has turned.
func NewTable(sources []evaluation.Source, environment, version string) *Table {
	b := NewBuilder(environment)
	for _, source := range slices.SortedStableFunc(slices.Values(sources), func(a, b evaluation.Source) int { return strings.Compare(a.Key, b.Key) }) {
		b.Add(source)
	}
	name := func(turn int64) string {
		if turn == 0 {
			return version
		}
		return version + "-" + strconv.FormatInt(turn, 10)
	}
	compiled := b.compiler.Snapshot()
	return b.complete(compiled, name, compiled.Turns())
}

// Builder puts a table together.
type Builder struct {
	table    *Table
	compiler evaluation.Compiler
	phraseAt map[*phrase]uint32
	maker    *Maker
	cut      bool
	// Max is how many bytes the Builder may come to; 0 is any. When it has more,
	// nothing is added any more, and the table is not whole.
	Max int64
}

// Full says that the Builder has come to more than Max.
func (b *Builder) Full() bool { return b.cut || b.Max > 0 && b.Size() > b.Max }

// NewBuilder makes a Builder.
func NewBuilder(environment string) *Builder { return NewUnits(environment).Builder() }

// Builder makes a Builder for units of these Units.
func (u *Units) Builder() *Builder {
	t := &Table{Environment: u.environment, edition: edition{Version: unknown}}
	t.tails.native, t.tails.ofrep = t.nativeTail(), t.ofrepTail()
	t.size = len(evaluationsHead) + len(t.tails.native) + len(t.tails.ofrep)
	if room := u.answers + u.answers/16; room > 0 {
		t.native, t.ofrep = make([][]byte, 0, room), make([]ofrepAnswer, 0, room)
	}
	return &Builder{table: t, compiler: u.rules.Compiler(), phraseAt: map[*phrase]uint32{}, maker: u.Maker()}
}

// Add compiles and encodes a document. They come in the order of their keys,
// segments at any time.
func (b *Builder) Add(item evaluation.Source) {
	if b.Full() {
		return
	}
	if b.Max > 0 {
		b.maker.most = b.Max - b.Size()
	}
	b.Put(b.maker.Make(item))
}

// Put is Add for a document that was compiled and encoded before.
func (b *Builder) Put(u *Unit) {
	if u.rules == nil {
		return
	}
	b.cut = b.cut || u.cut
	b.compiler.Add(u.rules)
	if u.noMatch == nil {
		return
	}
	t := b.table
	if u.config {
		t.configs++
	}
	t.noMatch = append(t.noMatch, b.phrase(u.noMatch))
	from := uint32(0)
	for i := range u.answers {
		a := &u.answers[i]
		if a.phrase == nil {
			t.native, t.ofrep = append(t.native, nil), append(t.ofrep, ofrepAnswer{})
			continue
		}
		t.native = append(t.native, u.native[from:a.end:a.end])
		t.ofrep = append(t.ofrep, ofrepAnswer{key: a.key, value: a.value, phrase: b.phrase(a.phrase)})
		from = a.end
	}
	t.bytes += len(u.native)
	t.size += u.largest
	if u.withheld != nil {
		t.Withheld = append(t.Withheld, *u.withheld)
	}
}

// phrase gives a text its number.
func (b *Builder) phrase(p *phrase) uint32 {
	n, known := b.phraseAt[p]
	if !known {
		n = uint32(len(b.table.phrases))
		b.phraseAt[p] = n
		b.table.phrases = append(b.table.phrases, p.text)
		b.table.bytes += len(p.text)
	}
	return n
}

// Table is what was built. It ends the use of the Builder. The version is told
// for the last moment at which a rule has turned, 0 for none.
func (b *Builder) Table(version func(turn int64) string, turns evaluation.Turns) *Table {
	return b.complete(b.compiler.Snapshot(), version, turns)
}

func (b *Builder) complete(compiled *evaluation.Snapshot, version func(turn int64) string, turns evaluation.Turns) *Table {
	t := b.table
	t.snapshot = compiled
	t.name, t.turns, t.turned = version, turns, &atomic.Pointer[Table]{}
	return t.turn(math.MinInt64)
}

// Size is about how many bytes the Builder takes, with what it has built so far.
func (b *Builder) Size() int64 {
	const phrase = 60 // its place among the numbered ones
	return b.table.encoded() + phrase*int64(len(b.phraseAt)) + b.compiler.Size()
}

// Size is about how many bytes a table takes; none when there is none.
func (t *Table) Size() int64 {
	if t == nil {
		return 0
	}
	return t.encoded() + t.snapshot.Size()
}

// encoded is what a table takes beside its snapshot.
func (t *Table) encoded() int64 {
	const text, ofrep, number, phrase = 24, 16, 4, 16
	return int64(t.bytes + text*cap(t.native) + ofrep*cap(t.ofrep) + number*cap(t.noMatch) + phrase*cap(t.phrases))
}

func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // cannot fail: what is stored is UTF-8
	return dst
}

const evaluationsHead = `{"evaluations":{`

func (t *Table) nativeTail() []byte {
	b := quote([]byte(`},"meta":{"version":`), t.Version)
	b = quote(append(b, `,"environment":`...), t.Environment)
	return append(b, `}}`...)
}

// An OFREP answer is ofrepHead, the key, ofrepValue, the value, and a phrase
// that ends it; one without a value has only key and phrase.
const (
	ofrepHead  = `{"key":`
	ofrepValue = `,"value":`
)

func (t *Table) ofrepTail() []byte {
	b := quote([]byte(`,"metadata":{"version":`), t.Version)
	b = quote(append(b, `,"environment":`...), t.Environment)
	return append(b, `}}`...)
}

// appendNative writes the answer to a native poll. It is not whole when the
// request is over before it is.
func (t *Table) appendNative(ctx context.Context, b []byte, f *evaluation.Frame) (_ []byte, whole bool) {
	b = append(b, evaluationsHead...)
	empty := len(b)
	for item := range t.snapshot.Keys {
		if item%lookUpEvery == 0 && ctx.Err() != nil {
			return b, false
		}
		if a := t.snapshot.Evaluate(item, f); a != evaluation.None {
			b = append(b, t.native[a]...)
		}
	}
	return append(withoutComma(b, empty), t.tails.native...), true
}

// appendOFREP writes the answer to an OFREP bulk evaluation, with the member that
// names event streams. It is not whole when the request is over before it is.
func (t *Table) appendOFREP(ctx context.Context, b []byte, f *evaluation.Frame, streams string) (_ []byte, whole bool) {
	b = append(b, `{"flags":[`...)
	empty := len(b)
	for item := range t.snapshot.Keys {
		if item%lookUpEvery == 0 && ctx.Err() != nil {
			return b, false
		}
		b = t.appendOne(b, item, t.snapshot.Evaluate(item, f))
	}
	b = append(append(withoutComma(b, empty), ']'), streams...)
	return append(b, t.tails.ofrep...), true
}

// lookUpEvery is after how many items a bulk evaluation looks whether anybody
// still waits for it.
const lookUpEvery = 64

// appendOne writes an item's OFREP answer and a comma, or nothing when its value
// is withheld.
func (t *Table) appendOne(b []byte, item, a int) []byte {
	if a == evaluation.None {
		b = quote(append(b, ofrepHead...), t.snapshot.Keys[item])
		return append(b, t.phrases[t.noMatch[item]]...)
	}
	native := t.native[a]
	if len(native) == 0 {
		return b
	}
	parts := &t.ofrep[a]
	b = append(append(b, ofrepHead...), native[:parts.key]...)
	b = append(append(b, ofrepValue...), native[parts.value[0]:parts.value[1]]...)
	return append(b, t.phrases[parts.phrase]...)
}

// oneBytes is about how many bytes an answer to OFREP has.
func (t *Table) oneBytes(a int) int {
	if a == evaluation.None {
		return 0
	}
	return len(t.native[a])
}

// one is an item's OFREP answer, or nil when its value is withheld.
func (t *Table) one(item, a int) []byte {
	if text := t.appendOne(make([]byte, 0, 512+t.oneBytes(a)), item, a); len(text) > 0 {
		return text[:len(text)-1]
	}
	return nil
}

func withoutComma(b []byte, empty int) []byte {
	if len(b) > empty {
		return b[:len(b)-1]
	}
	return b
}

// Count is how many flags and configs are served.
func (t *Table) Count() (flags, configs int) {
	return len(t.snapshot.Keys) - t.configs, t.configs
}
