package delivery

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
)

// Table is one workspace version in one environment, compiled and encoded: an
// answer to a poll is copied together from it.
type Table struct {
	Version     string
	Environment string
	// Withheld are the values that are never sent, for a warning at load.
	Withheld []Withheld

	snapshot *evaluation.Snapshot // of what is served
	native   encodings            // per answer; none when withheld
	ofrep    encodings            // per answer; none when withheld
	noMatch  [][]byte             // per item: the OFREP answer that leaves the default to the caller
	tails    struct{ native, ofrep []byte }
	size     int // of the largest answer to a whole poll, so that one buffer does
	configs  int // how many of the items are configs
	seed     [sha256.Size]byte
}

// encodings are texts by number, in one row: a poll reads them in order, and
// memory that is read in order is read ahead. Each ends in the comma that
// parts it from the next.
type encodings struct {
	row  []byte
	ends []int
}

func (e *encodings) add(text []byte) {
	if e.row = append(e.row, text...); len(text) > 0 {
		e.row = append(e.row, ',')
	}
	e.ends = append(e.ends, len(e.row))
}

// at returns a text with its comma, or nothing.
func (e *encodings) at(i int) []byte {
	begin := 0
	if i > 0 {
		begin = e.ends[i-1]
	}
	return e.row[begin:e.ends[i]]
}

// Withheld says that an item has values that are not served, and why.
type Withheld struct {
	Type   document.Type
	Key    string
	Values int
	Why    string
}

// NewTable compiles and encodes the documents of a workspace version.
func NewTable(sources []evaluation.Source, environment, version string) *Table {
	t := &Table{Version: version, Environment: environment, seed: seed(environment, version)}
	var content evaluation.Content
	t.snapshot, content = evaluation.Compile(slices.DeleteFunc(slices.Clone(sources), unserved), environment)
	t.tails.native = t.nativeTail()
	t.tails.ofrep = t.ofrepTail()
	for _, item := range content.Items {
		t.noMatch = append(t.noMatch, t.encodeNoMatch(item))
		if item.Document.Type == document.Config {
			t.configs++
		}
	}
	t.encodeAnswers(content)
	return t
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

func (t *Table) encodeAnswers(content evaluation.Content) {
	withheld := map[int]*Withheld{}
	largest := make([]int, len(content.Items))
	for i, answer := range content.Answers {
		item := content.Items[answer.Item]
		var native, ofrep []byte
		if why := withholds(answer.Value); why != "" {
			withhold(withheld, answer.Item, item, why)
		} else {
			value := servedValue(answer.Value)
			native, ofrep = encodeNative(item, answer, value), t.encodeOFREP(item, answer, value)
		}
		t.native.add(native)
		t.ofrep.add(ofrep)
		largest[answer.Item] = max(largest[answer.Item], len(t.native.at(i)), len(t.ofrep.at(i)))
	}
	for i := range content.Items {
		t.size += max(largest[i], len(t.noMatch[i])+1)
		if w := withheld[i]; w != nil {
			t.Withheld = append(t.Withheld, *w)
		}
	}
	t.size += len(evaluationsHead) + len(t.tails.native) + len(t.tails.ofrep)
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

func withhold(withheld map[int]*Withheld, i int, item evaluation.Source, why string) {
	if withheld[i] == nil {
		withheld[i] = &Withheld{Type: item.Document.Type, Key: item.Key, Why: why}
	}
	withheld[i].Values++
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

// encodeNative writes one member of evaluations.
func encodeNative(item evaluation.Source, a evaluation.Answer, value []byte) []byte {
	b := append(quote(nil, item.Key), `:{"value":{"type":`...)
	b = append(quote(b, string(a.Value.Type)), `,"value":`...)
	b = append(append(b, value...), `},"configId":`...)
	id := item.Document.ID
	if id == "" {
		id = item.Key
	}
	b = append(quote(b, id), `,"configType":`...)
	b = append(quote(b, string(item.Document.Type)), `,"valueType":`...)
	b = append(quote(b, string(item.Document.ValueType)), `,"reason":`...)
	b = appendIndexes(quote(b, string(a.Reason)), a)
	return append(b, '}')
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

// encodeOFREP writes one flag of an OFREP answer.
func (t *Table) encodeOFREP(item evaluation.Source, a evaluation.Answer, value []byte) []byte {
	b := append(quote([]byte(`{"key":`), item.Key), `,"value":`...)
	b = append(append(b, value...), `,"reason":`...)
	b = append(quote(b, string(a.Reason)), `,"variant":`...)
	b = quote(b, a.Variant(item.Document))
	b = appendIndexes(t.appendMetadata(b, item), a)
	return append(b, `}}`...)
}

// appendMetadata leaves the metadata object open.
func (t *Table) appendMetadata(b []byte, item evaluation.Source) []byte {
	b = quote(append(b, `,"metadata":{"configType":`...), string(item.Document.Type))
	b = quote(append(b, `,"valueType":`...), string(item.Document.ValueType))
	return quote(append(b, `,"version":`...), t.Version)
}

func (t *Table) encodeNoMatch(item evaluation.Source) []byte {
	b := t.appendMetadata(quote([]byte(`{"key":`), item.Key), item)
	return append(b, `}}`...)
}

func (t *Table) ofrepTail() []byte {
	b := quote([]byte(`],"metadata":{"version":`), t.Version)
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

// appendOFREP writes the answer to an OFREP bulk evaluation. It is not whole
// when the request is over before it is.
func (t *Table) appendOFREP(ctx context.Context, b []byte, f *evaluation.Frame) (_ []byte, whole bool) {
	b = append(b, `{"flags":[`...)
	empty := len(b)
	for item := range t.snapshot.Keys {
		if item%lookUpEvery == 0 && ctx.Err() != nil {
			return b, false
		}
		if a := t.snapshot.Evaluate(item, f); a != evaluation.None {
			b = append(b, t.ofrep.at(a)...)
		} else {
			b = append(append(b, t.noMatch[item]...), ',')
		}
	}
	return append(withoutComma(b, empty), t.tails.ofrep...), true
}

// lookUpEvery is after how many items a bulk evaluation looks whether anybody
// still waits for it.
const lookUpEvery = 64

// one is an item's OFREP answer, or nil when its value is withheld.
func (t *Table) one(item int, f *evaluation.Frame) []byte {
	a := t.snapshot.Evaluate(item, f)
	if a == evaluation.None {
		return t.noMatch[item]
	}
	if text := t.ofrep.at(a); len(text) > 0 {
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
