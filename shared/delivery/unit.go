package delivery

import (
	"strconv"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
)

// Unit is a document compiled and encoded by itself, without regard to others: it
// is kept for as long as the document stays as it is. It never changes.
type Unit struct {
	rules    *evaluation.Unit // none of a document that is not served
	native   []byte           // the answers that are not withheld, each with a comma
	answers  []unitAnswer
	noMatch  *phrase // what ends the OFREP answer which leaves the default to the caller; none of a segment
	largest  int     // how many bytes the largest of the answers has
	withheld *Withheld
	config   bool
	cut      bool // there was no room for all answers
}

// unitAnswer says where a native answer ends and where key and value stand in it,
// and what ends the OFREP answer: nothing when the value is withheld.
type unitAnswer struct {
	end, key uint32
	value    [2]uint32
	phrase   *phrase
}

// phrase is a part of OFREP answers.
type phrase struct{ text string }

// Units makes units for one environment. What repeats itself from document to
// document they have in common.
type Units struct {
	environment string
	rules       *evaluation.Units
	mu          sync.Mutex
	phrases     map[string]*phrase
	answers     int // of the Builder that was kept
}

// NewUnits makes Units for an environment.
func NewUnits(environment string) *Units {
	return &Units{environment: environment, rules: evaluation.NewUnits(environment), phrases: map[string]*phrase{}}
}

// Keep forgets what only units have in common that a Builder was not given. They
// are not to be given to another one after that.
func (u *Units) Keep(b *Builder) {
	const worth = 1000
	u.rules.Keep(b.compiler)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answers = len(b.table.native)
	if len(u.phrases) < 2*len(b.phraseAt)+worth {
		return
	}
	u.phrases = make(map[string]*phrase, len(b.phraseAt))
	for p := range b.phraseAt {
		u.phrases[p.text] = p
	}
}

func (u *Units) phrase(text []byte) *phrase {
	u.mu.Lock()
	defer u.mu.Unlock()
	p, known := u.phrases[string(text)]
	if !known {
		p = &phrase{string(text)}
		u.phrases[p.text] = p
	}
	return p
}

// Maker makes units one after the other. Their texts lie one after the other in a
// few large pieces of memory: a poll reads them in order, and memory that is read
// in order is read ahead.
type Maker struct {
	*Units
	left  []byte // what is left of the last piece
	piece int    // how large that was
	text  []byte // scratch
	end   []byte // scratch
	most  int64  // how many bytes a unit may come to; 0 is any
}

// Maker makes a Maker. There may be one for each goroutine.
func (u *Units) Maker() *Maker { return &Maker{Units: u} }

// pieceBytes is large enough to be read in order, and small beside what many
// flags take. The first piece has room for the first text alone: mostly there are
// very many or one.
const pieceBytes = 64 << 10

func (m *Maker) keep(text []byte) []byte {
	if len(m.left) < len(text) {
		m.piece = min(2*m.piece, pieceBytes)
		m.left = make([]byte, max(len(text), m.piece))
		m.piece = len(m.left)
	}
	kept := m.left[:len(text):len(text)]
	m.left = m.left[copy(kept, text):]
	return kept
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

// Make compiles and encodes a document.
func (m *Maker) Make(item evaluation.Source) *Unit {
	u := &Unit{config: item.Document.Type == document.Config}
	if unserved(item) {
		return u
	}
	var answers []evaluation.Answer
	if u.rules, answers = m.rules.Make(item); item.Document.Type == document.Segment {
		return u
	}
	m.end = append(appendMetadata(m.end[:0], item), `}},`...)
	u.noMatch = m.phrase(m.end)
	m.text = quote(m.text[:0], item.Key)
	key := uint32(len(m.text))
	u.largest = len(ofrepHead) + len(m.text) + len(m.end)
	variants := evaluation.VariantsOf(item.Document)
	u.answers = make([]unitAnswer, len(answers))
	m.text = m.text[:0]
	phrases := 0
	for i := range answers {
		a, made := &answers[i], &u.answers[i]
		if why := withholds(a.Value); why != "" {
			if u.withheld == nil {
				u.withheld = &Withheld{Type: item.Document.Type, Key: item.Key, Why: why}
			}
			u.withheld.Values++
			made.end = uint32(len(m.text))
			continue
		}
		begin := len(m.text)
		m.text, made.value = appendNative(m.text, item, a)
		made.key, made.end = key, uint32(len(m.text))
		m.end = appendOFREPEnd(m.end[:0], item, a, variants)
		made.phrase = m.phrase(m.end)
		phrases += len(m.end)
		u.largest = max(u.largest, len(m.text)-begin, len(ofrepHead)+int(key)+len(ofrepValue)+int(made.value[1]-made.value[0])+len(m.end))
		if u.cut = m.most > 0 && int64(len(m.text)+phrases) > m.most; u.cut {
			break
		}
	}
	u.native = m.keep(m.text)
	return u
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

func appendServed(b []byte, v document.Value) []byte {
	if n := v.Served(); n != nil {
		return n.AppendCompact(b)
	}
	return append(b, "null"...)
}

// appendNative writes one member of evaluations, with its comma, and says from
// where to where the value reaches in it.
func appendNative(b []byte, item evaluation.Source, a *evaluation.Answer) (_ []byte, value [2]uint32) {
	begin := len(b)
	b = append(quote(b, item.Key), `:{"value":{"type":`...)
	b = append(quote(b, string(a.Value.Type)), `,"value":`...)
	value[0] = uint32(len(b) - begin)
	b = appendServed(b, a.Value)
	value[1] = uint32(len(b) - begin)
	b = append(b, `},"configId":`...)
	id := item.Document.ID
	if id == "" {
		id = item.Key
	}
	b = append(quote(b, id), `,"configType":`...)
	b = append(quote(b, string(item.Document.Type)), `,"valueType":`...)
	b = append(quote(b, string(item.Document.ValueType)), `,"reason":`...)
	b = appendIndexes(quote(b, string(a.Reason)), a)
	return append(b, "},"...), value
}

// appendIndexes writes where the answer comes from, as far as its reason
// leaves a question.
func appendIndexes(b []byte, a *evaluation.Answer) []byte {
	if a.Reason != evaluation.Static {
		b = quote(append(b, `,"ruleSource":`...), string(a.RuleSource))
		b = strconv.AppendInt(append(b, `,"ruleIndex":`...), int64(a.RuleIndex), 10)
	}
	if a.Reason == evaluation.Split {
		b = strconv.AppendInt(append(b, `,"weightedValueIndex":`...), int64(a.ArmIndex), 10)
	}
	return b
}

// appendOFREPEnd writes what comes after the value of a flag in an OFREP answer,
// with its comma.
func appendOFREPEnd(b []byte, item evaluation.Source, a *evaluation.Answer, variants evaluation.Variants) []byte {
	b = quote(append(b, `,"reason":`...), string(a.Reason))
	b = quote(append(b, `,"variant":`...), variants.Of(a))
	b = appendIndexes(appendMetadata(b, item), a)
	return append(b, `}},`...)
}

// appendMetadata leaves the metadata object open.
func appendMetadata(b []byte, item evaluation.Source) []byte {
	b = quote(append(b, `,"metadata":{"configType":`...), string(item.Document.Type))
	b = quote(append(b, `,"valueType":`...), string(item.Document.ValueType))
	return quote(append(b, `,"version":`...), unknown)
}
