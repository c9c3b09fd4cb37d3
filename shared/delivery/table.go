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
	native   encodings            // per answer; none when withheld
	ofrep    []ofrepAnswer        // per answer
	phrases  []string             // of OFREP answers; few, as they repeat from flag to flag
	noMatch  []uint32             // per item: the phrase that ends the OFREP answer which leaves the default to the caller
	tails    struct{ native, ofrep []byte }
	size     int                    // of the largest answer to a whole poll, so that one buffer does
	bytes    int                    // of all phrases
	configs  int                    // how many of the items are configs
	load     func() (*Table, error) // of a table that stands for one which is not in memory
}

// encodings are texts by number. They lie one after the other in a few large
// pieces of memory: a poll reads them in order, and memory that is read in order
// is read ahead. Each ends in the comma that parts it from the next.
type encodings struct {
	texts [][]byte
	left  []byte // what is left of the last piece
	held  int    // bytes of all pieces
}

// pieceBytes is large enough to be read in order, and small beside what many
// flags take.
const pieceBytes = 64 << 10

func (e *encodings) add(text []byte) {
	if len(text) == 0 {
		e.texts = append(e.texts, nil)
		return
	}
	length := len(text) + 1
	if len(e.left) < length {
		e.left = make([]byte, max(length, pieceBytes))
		e.held += len(e.left)
	}
	stored := e.left[:length:length]
	e.left = e.left[length:]
	stored[copy(stored, text)] = ','
	e.texts = append(e.texts, stored)
}

// at returns a text with its comma, or nothing.
func (e *encodings) at(i int) []byte { return e.texts[i] }

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

// Builder is NewTable for a caller that has one document at a time in memory.
type Builder struct {
	table    *Table
	compiler evaluation.Compiler
	phraseAt map[string]uint32
	// Max is how many bytes the Builder may come to; 0 is any. When it has more,
	// nothing is added any more, and the table is not whole.
	Max int64
}

// Full says that the Builder has come to more than Max.
func (b *Builder) Full() bool { return b.Max > 0 && b.Size() > b.Max }

// NewBuilder makes a Builder.
func NewBuilder(environment string) *Builder {
	t := &Table{Environment: environment, edition: edition{Version: unknown}}
	t.tails.native, t.tails.ofrep = t.nativeTail(), t.ofrepTail()
	t.size = len(evaluationsHead) + len(t.tails.native) + len(t.tails.ofrep)
	return &Builder{table: t, compiler: evaluation.NewCompiler(environment), phraseAt: map[string]uint32{}}
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
	return int64(t.native.held + t.bytes + text*cap(t.native.texts) + ofrep*cap(t.ofrep) + number*cap(t.noMatch) + phrase*cap(t.phrases))
}

// unserved is the filter that nothing can switch off. Segments pass it: rules
// refer to them, and evaluation serves none.
func unserved(source evaluation.Source) bool {
	switch source.Document.Type {
	case document.Flag, document.Segment:
		return false
	case document.Config:
		return !source.Document.SendToClientSDK
	}
	return true
}

// Add compiles and encodes a document. They come in the order of their keys,
// segments at any time.
func (b *Builder) Add(item evaluation.Source) {
	if unserved(item) || b.Full() {
		return
	}
	answers := b.compiler.Add(item)
	if item.Document.Type == document.Segment {
		return
	}
	t := b.table
	if item.Document.Type == document.Config {
		t.configs++
	}
	end := string(append(t.appendMetadata(nil, item), `}},`...))
	t.noMatch = append(t.noMatch, b.phrase(end))
	largest := len(ofrepHead) + len(quote(nil, item.Key)) + len(end)
	variants := evaluation.VariantsOf(item.Document)
	var withheld *Withheld
	for _, answer := range answers {
		if b.Full() {
			return
		}
		if why := withholds(answer.Value); why != "" {
			if withheld == nil {
				withheld = &Withheld{Type: item.Document.Type, Key: item.Key, Why: why}
			}
			withheld.Values++
			t.native.add(nil)
			t.ofrep = append(t.ofrep, ofrepAnswer{})
			continue
		}
		native, o := encodeNative(item, answer)
		end := string(t.encodeOFREPEnd(item, answer, variants))
		o.phrase = b.phrase(end)
		t.native.add(native)
		t.ofrep = append(t.ofrep, o)
		largest = max(largest, len(native)+1, len(ofrepHead)+int(o.key)+len(ofrepValue)+int(o.value[1]-o.value[0])+len(end))
	}
	t.size += largest
	if withheld != nil {
		t.Withheld = append(t.Withheld, *withheld)
	}
}

// phrase gives a text its number.
func (b *Builder) phrase(text string) uint32 {
	n, known := b.phraseAt[text]
	if !known {
		n = uint32(len(b.table.phrases))
		b.phraseAt[text] = n
		b.table.phrases = append(b.table.phrases, text)
		b.table.bytes += len(text)
	}
	return n
}

// withholds says why a value is never sent, or "".
func withholds(v document.Value) string {
	switch {
	case v.DecryptWith != "":
		return "encrypted"
	case v.Confidential:
		return "confidential"
	case v.Type == document.ProvidedValue:
		return "provided by the environment of a server"
	}
	return ""
}

func servedValue(v document.Value) []byte {
	if n := v.Served(); n != nil {
		return n.Compact()
	}
	return []byte("null")
}

func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // cannot fail: what is stored is UTF-8
	return dst
}

const evaluationsHead = `{"evaluations":{`

// encodeNative writes one member of evaluations, and says where key and value
// stand in it.
func encodeNative(item evaluation.Source, a evaluation.Answer) (text []byte, parts ofrepAnswer) {
	b := quote(nil, item.Key)
	parts.key = uint32(len(b))
	b = append(b, `:{"value":{"type":`...)
	b = append(quote(b, string(a.Value.Type)), `,"value":`...)
	parts.value[0] = uint32(len(b))
	b = append(b, servedValue(a.Value)...)
	parts.value[1] = uint32(len(b))
	b = append(b, `},"configId":`...)
	id := item.Document.ID
	if id == "" {
		id = item.Key
	}
	b = append(quote(b, id), `,"configType":`...)
	b = append(quote(b, string(item.Document.Type)), `,"valueType":`...)
	b = append(quote(b, string(item.Document.ValueType)), `,"reason":`...)
	b = appendIndexes(quote(b, string(a.Reason)), a)
	return append(b, '}'), parts
}

// appendIndexes writes where the answer comes from, as far as its reason
// leaves a question.
func appendIndexes(b []byte, a evaluation.Answer) []byte {
	if a.Reason != evaluation.Static {
		b = quote(append(b, `,"ruleSource":`...), string(a.RuleSource))
		b = strconv.AppendInt(append(b, `,"ruleIndex":`...), int64(a.RuleIndex), 10)
	}
	if a.Reason == evaluation.Split {
		b = strconv.AppendInt(append(b, `,"weightedValueIndex":`...), int64(a.ArmIndex), 10)
	}
	return b
}

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

// encodeOFREPEnd writes what comes after the value of a flag in an OFREP
// answer, with its comma.
func (t *Table) encodeOFREPEnd(item evaluation.Source, a evaluation.Answer, variants evaluation.Variants) []byte {
	b := quote([]byte(`,"reason":`), string(a.Reason))
	b = quote(append(b, `,"variant":`...), variants.Of(&a))
	b = appendIndexes(t.appendMetadata(b, item), a)
	return append(b, `}},`...)
}

// appendMetadata leaves the metadata object open.
func (t *Table) appendMetadata(b []byte, item evaluation.Source) []byte {
	b = quote(append(b, `,"metadata":{"configType":`...), string(item.Document.Type))
	b = quote(append(b, `,"valueType":`...), string(item.Document.ValueType))
	return quote(append(b, `,"version":`...), t.Version)
}

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
			b = append(b, t.native.at(a)...)
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
	native := t.native.at(a)
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
	return len(t.native.at(a))
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
