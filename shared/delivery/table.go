package delivery

import (
	"context"
	"math"
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
	items    []item
	answers  []answer
	values   [][2]uint32            // per answer: from where to where the value reaches in its text
	phrases  []string               // that end answers; few, as they repeat from item to item
	meta     []byte                 // that ends every answer to a whole poll
	size     int                    // of the largest answer to a whole poll, so that one buffer does
	bytes    int                    // of all native answers and phrases
	configs  int                    // how many of the items are configs
	load     func() (*Table, error) // of a table that stands for one which is not in memory
}

// item is what the answers of an item have in common.
type item struct {
	texts   []byte // of all its answers
	key     uint32 // how long the key is, at the beginning of each
	noMatch uint32 // the phrase that ends the OFREP answer which leaves the default to the caller
}

// answer is what a poll copies. A native answer is the text and a phrase. One to
// OFREP has key and value from the text, and another phrase. One that is withheld
// has no text. Answers are as small as they can be: a poll comes by all of them.
type answer struct {
	from, to      uint32 // in the texts of its item
	native, ofrep uint32 // the phrases, with a comma
}

// Withheld says that an item has values that are not served, and why.
type Withheld struct {
	Type   document.Type
	Key    string
	Values int
	Why    string
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
	t := &Table{Environment: u.environment, size: len(evaluationsHead)}
	return &Builder{table: t, compiler: evaluation.NewCompiler(), phraseAt: map[*phrase]uint32{}, maker: u.Maker()}
}

// Add compiles and encodes a document. They come in the order of their keys,
// segments at any time.
func (b *Builder) Add(item evaluation.Source) {
	if !b.Full() {
		b.Put(b.Make(item))
	}
}

// Make makes the unit of a document, to be put. Where that alone is too much for Max
// it is not whole, and putting it makes the Builder full.
func (b *Builder) Make(item evaluation.Source) *Unit {
	if b.Max > 0 {
		b.maker.most = max(1, b.Max-b.Size())
	}
	return b.maker.Make(item)
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
	t.items = append(t.items, item{texts: u.texts, key: u.key, noMatch: b.phrase(u.noMatch)})
	from := uint32(0)
	for i := range u.answers {
		made := &u.answers[i]
		a := answer{from: from, to: made.end}
		if made.native != nil {
			a.native, a.ofrep = b.phrase(made.native), b.phrase(made.ofrep)
		}
		t.answers, t.values = append(t.answers, a), append(t.values, made.value)
		from = made.end
	}
	t.bytes += len(u.texts)
	t.size += int(u.largest)
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
	t := b.table
	t.items, t.answers, t.values = fitted(t.items), fitted(t.answers), fitted(t.values)
	t.snapshot = b.compiler.Snapshot()
	t.name, t.turns, t.turned = version, turns, &atomic.Pointer[Table]{}
	first := t.turn(math.MinInt64)
	first.size += 2 * len(first.meta)
	return first
}

// fitted is a list that is kept, without much room for more.
func fitted[T any](list []T) []T {
	if cap(list)-len(list) <= cap(list)/16 {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
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
	const item, answer, value, phrase = 32, 16, 8, 16
	return int64(t.bytes + item*cap(t.items) + answer*cap(t.answers) + value*cap(t.values) + phrase*cap(t.phrases))
}

func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // cannot fail: what is stored is UTF-8
	return dst
}

const evaluationsHead = `{"evaluations":{`

// An OFREP answer is ofrepHead, the key, ofrepValue, the value, and a phrase
// that ends it; one without a value has only key and phrase.
const (
	ofrepHead  = `{"key":`
	ofrepValue = `,"value":`
)

// appendAll writes the answer to a poll: a native one, or one of OFREP with the member
// that names event streams. It is not whole when the request is over before it is.
func (t *Table) appendAll(ctx context.Context, b []byte, f *evaluation.Frame, native bool, streams string) (_ []byte, whole bool) {
	head, tail := `{"flags":[`, `]`+streams+`,"metadata":`
	if native {
		head, tail = evaluationsHead, `},"meta":`
	}
	b = append(b, head...)
	for item := range t.snapshot.Keys {
		if item%lookUpEvery == 0 && ctx.Err() != nil {
			return b, false
		}
		n := t.snapshot.Evaluate(item, f)
		if !native {
			b = t.appendOne(b, item, n)
		} else if n != evaluation.None {
			if a := &t.answers[n]; a.from < a.to {
				b = append(append(b, t.items[item].texts[a.from:a.to]...), t.phrases[a.native]...)
			}
		}
	}
	if len(b) > len(head) {
		b = b[:len(b)-1] // the comma
	}
	return append(append(b, tail...), t.meta...), true
}

// lookUpEvery is after how many items a bulk evaluation looks whether anybody
// still waits for it.
const lookUpEvery = 64

// appendOne writes an item's OFREP answer and a comma, or nothing when its value
// is withheld.
func (t *Table) appendOne(b []byte, item, n int) []byte {
	if n == evaluation.None {
		b = quote(append(b, ofrepHead...), t.snapshot.Keys[item])
		return append(b, t.phrases[t.items[item].noMatch]...)
	}
	a, text, value := &t.answers[n], t.items[item].texts, &t.values[n]
	if text = text[a.from:a.to]; len(text) == 0 {
		return b
	}
	b = append(append(b, ofrepHead...), text[:t.items[item].key]...)
	b = append(append(b, ofrepValue...), text[value[0]:value[1]]...)
	return append(b, t.phrases[a.ofrep]...)
}

// Count is how many flags and configs are served.
func (t *Table) Count() (flags, configs int) {
	return len(t.snapshot.Keys) - t.configs, t.configs
}
