package delivery

import (
	"cmp"
	"strconv"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
)

// Unit is a document compiled and encoded by itself, without regard to others: it
// is kept for as long as the document stays as it is. It never changes.
type Unit struct {
	rules    *evaluation.Unit // none of a document that is not served
	texts    []byte           // of the answers that are not withheld, up to where they repeat those of others
	key      uint32           // how long the key is, at the beginning of each
	answers  []unitAnswer
	noMatch  *phrase // what ends the OFREP answer which leaves the default to the caller; none of a segment
	largest  uint32  // how many bytes the largest of the answers has
	withheld *Withheld
	config   bool
	cut      bool // there was no room for all answers
}

// Size is about how many bytes a unit takes beside a table that it was put into.
func (u *Unit) Size() int64 {
	const unit, answer = 96, 32
	return unit + answer*int64(cap(u.answers)) + u.rules.Size()
}

// unitAnswer says where the text of an answer ends and where the value stands in
// it, and what ends the native and the OFREP answer: nothing when the value is
// withheld.
type unitAnswer struct {
	end           uint32
	value         [2]uint32
	native, ofrep *phrase
}

// phrase is a part of answers that repeats itself from item to item.
type phrase struct{ text string }

// Units makes units for one environment. What repeats itself from document to
// document they have in common.
type Units struct {
	environment string
	rules       *evaluation.Units
	mu          sync.Mutex
	phrases     map[string]*phrase
}

// NewUnits makes Units for an environment.
func NewUnits(environment string) *Units {
	return &Units{environment: environment, rules: evaluation.NewUnits(environment), phrases: map[string]*phrase{}}
}

// Size is about how many bytes it takes beside the units, and a table of them.
func (u *Units) Size() int64 {
	const phrase = 60 // its place among the others
	u.mu.Lock()
	defer u.mu.Unlock()
	return phrase*int64(len(u.phrases)) + u.rules.Size()
}

// Keep forgets what only units have in common that a Builder was not given. They
// are not to be given to another one after that.
func (u *Units) Keep(b *Builder) {
	const worth = 1000
	u.rules.Keep(b.compiler)
	u.mu.Lock()
	defer u.mu.Unlock()
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
	m.end = append(appendMetadata(append(m.end[:0], noMatch...), item), ofrepEnd...)
	u.noMatch = m.phrase(m.end)
	m.text = quote(m.text[:0], item.Key)
	u.key = uint32(len(m.text))
	u.largest = uint32(len(ofrepHead) + len(m.text) + len(m.end))
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
		m.text, made.value = appendText(m.text, item, a)
		made.end = uint32(len(m.text))
		m.end = appendNativeEnd(m.end[:0], item, a)
		made.native = m.phrase(m.end)
		native := len(m.end)
		m.end = appendOFREPEnd(m.end[:0], item, a, variants)
		made.ofrep = m.phrase(m.end)
		phrases += native + len(m.end)
		u.largest = max(u.largest, uint32(max(len(m.text)-begin+native, len(ofrepHead)+int(u.key)+len(ofrepValue)+int(made.value[1]-made.value[0])+len(m.end))))
		if u.cut = m.most > 0 && int64(len(m.text)+phrases) > m.most; u.cut {
			break
		}
	}
	u.texts = m.keep(m.text)
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

// appendText writes one member of evaluations as far as its item and value go, and
// says from where to where the value reaches in it.
func appendText(b []byte, item evaluation.Source, a *evaluation.Answer) (_ []byte, value [2]uint32) {
	begin := len(b)
	b = append(quote(b, item.Key), `:{"value":{"type":`...)
	b = append(quote(b, string(a.Value.Type)), `,"value":`...)
	value[0] = uint32(len(b) - begin)
	if n := a.Value.Served(); n != nil {
		b = n.AppendCompact(b)
	} else {
		b = append(b, "null"...)
	}
	value[1] = uint32(len(b) - begin)
	b = append(b, `},"configId":`...)
	return quote(b, cmp.Or(item.Document.ID, item.Key)), value
}

// appendNativeEnd writes what comes after that, with a comma.
func appendNativeEnd(b []byte, item evaluation.Source, a *evaluation.Answer) []byte {
	b = quote(append(b, `,"configType":`...), string(item.Document.Type))
	b = quote(append(b, `,"valueType":`...), string(item.Document.ValueType))
	b = quote(append(b, `,"reason":`...), string(a.Reason))
	return append(appendIndexes(b, a), "},"...)
}

// appendIndexes writes where the answer comes from, as far as its reason
// leaves a question.
func appendIndexes(b []byte, a *evaluation.Answer) []byte {
	if a.Reason == evaluation.TargetingMatch || a.Reason == evaluation.Split {
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
	reason := a.Reason
	if reason == evaluation.Overridden { // which the protocol does not have
		reason = evaluation.Static
	}
	b = quote(append(b, `,"reason":`...), string(reason))
	b = quote(append(b, `,"variant":`...), variants.Of(a))
	b = appendIndexes(appendMetadata(b, item), a)
	if a.Reason == evaluation.Overridden {
		b = append(b, `,"override":true`...)
	}
	return append(b, ofrepEnd...)
}

// noMatch is what there is in the place of a value where no rule matches: the
// protocol requires a reason, and several providers a variant too.
const noMatch = `,"reason":"UNKNOWN","variant":"default"`

// ofrepEnd closes the metadata and the answer, with its comma.
const ofrepEnd = `}},`

// appendMetadata leaves the metadata object open.
func appendMetadata(b []byte, item evaluation.Source) []byte {
	b = quote(append(b, `,"metadata":{"configType":`...), string(item.Document.Type))
	return quote(append(b, `,"valueType":`...), string(item.Document.ValueType))
}
