// Package brief writes documents down in brief: as much of them as applications are
// served from, in a form that is many times as quick to read as the JSON that they
// are stored as. What people have written about a document (names, descriptions, tags,
// access) is not in it.
//
// A brief is
//
//	marks (1: sent to clients, confidential), type, value type, id
//	variants (count, each: name, value): those that have a name, and none of a
//	document that is confidential
//	the default rules
//	environments (count, each: name, the length of its rules, its rules)
//
// with
//
//	rules      count, each: criteria (count, each), value
//	criterion  operator, property, marks (1: there is an operand), operand
//	value      marks (1: confidential, encrypted, weighted, has content), type,
//	           the key that decrypts it, then either the property to hash by and
//	           arms (count, each: weight, value), or the content as JSON without
//	           white space
//
// Counts and weights are unsigned varints. A text is its place among the words that
// nearly all documents have, from 1; or 0, its length and itself.
//
// What must stay true:
//
//   - What a document serves is what its brief serves, in every byte.
//   - Format tells briefs apart from those that another version of svc has made, and
//     reads in another way.
package brief

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/jsontree"
)

// Format is raised whenever the same bytes would be read in another way: when a word
// is added, for example.
const Format = 1

// words are the texts that nearly all documents have.
var words = strings.Fields(`feature_flag config segment log_level
	bool string int double string_list json duration provided weighted_values
	ALWAYS_TRUE PROP_IS_ONE_OF PROP_IS_NOT_ONE_OF PROP_STARTS_WITH_ONE_OF PROP_ENDS_WITH_ONE_OF PROP_CONTAINS_ONE_OF
	PROP_MATCHES PROP_BEFORE PROP_AFTER IN_SEG NOT_IN_SEG user.key
	development test staging production`)

var wordAt = func() map[string]byte {
	at := map[string]byte{}
	for i, word := range words {
		at[word] = byte(i + 1)
	}
	return at
}()

// marks of a document.
const (
	isSent = 1 << iota
	isConfidential
)

// marks of a value.
const (
	valueConfidential = 1 << iota
	valueEncrypted
	valueWeighted
	valueContent
)

// Append adds a document in brief to b.
func Append(b []byte, d *document.Document) []byte {
	b = append(b, mark(d.SendToClientSDK, isSent)|mark(d.Confidential, isConfidential))
	b = appendText(appendText(appendText(b, string(d.Type)), string(d.ValueType)), d.ID)
	var named []document.Variant
	for _, v := range d.Variants {
		if v.Name != "" && !d.Confidential {
			named = append(named, v)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(named)))
	for _, v := range named {
		b = appendValue(appendText(b, v.Name), v.Value)
	}
	b = appendRules(b, d.Default)
	b = binary.AppendUvarint(b, uint64(len(d.Environments)))
	var rules []byte
	for _, e := range d.Environments {
		rules = appendRules(rules[:0], e.Rules)
		b = encoding.AppendText(appendText(b, e.ID), rules)
	}
	return b
}

func mark(is bool, bit byte) byte {
	if is {
		return bit
	}
	return 0
}

func appendText(b []byte, text string) []byte {
	if at, known := wordAt[text]; known {
		return append(b, at)
	}
	return encoding.AppendText(append(b, 0), text)
}

func appendRules(b []byte, rules []document.Rule) []byte {
	b = binary.AppendUvarint(b, uint64(len(rules)))
	for _, r := range rules {
		b = binary.AppendUvarint(b, uint64(len(r.Criteria)))
		for _, c := range r.Criteria {
			b = appendText(appendText(b, c.Operator), c.PropertyName)
			b = append(b, mark(c.ValueToMatch != nil, 1))
			if c.ValueToMatch != nil {
				b = appendValue(b, *c.ValueToMatch)
			}
		}
		b = appendValue(b, r.Value)
	}
	return b
}

func appendValue(b []byte, v document.Value) []byte {
	content := v.Content != nil && v.Weighted == nil
	b = append(b, mark(v.Confidential, valueConfidential)|mark(v.DecryptWith != "", valueEncrypted)|
		mark(v.Weighted != nil, valueWeighted)|mark(content, valueContent))
	b = appendText(b, string(v.Type))
	if v.DecryptWith != "" {
		b = appendText(b, v.DecryptWith)
	}
	if content {
		b = encoding.AppendText(b, v.Content.Compact())
	}
	if v.Weighted != nil {
		b = binary.AppendUvarint(appendText(b, v.Weighted.HashByProperty), uint64(len(v.Weighted.Arms)))
		for _, arm := range v.Weighted.Arms {
			b = appendValue(binary.AppendUvarint(b, uint64(arm.Weight)), arm.Value)
		}
	}
	return b
}

var errBrief = errors.New("the brief of a document is damaged")

// Reader reads briefs one after the other. Texts and values that repeat themselves
// from document to document are made once. The zero Reader is ready for use, by one
// goroutine.
type Reader struct {
	encoding.Decoder
	texts    map[string]string
	contents map[string]*jsontree.Node
}

// What is made once: short ones, and not very many of them.
const (
	maxShared = 4096
	maxShort  = 100 // bytes
)

// Environments are the names of the environments that a document has entries for,
// each once; none where there is no brief.
func (r *Reader) Environments(brief []byte) []string {
	if brief == nil {
		return nil
	}
	d := r.begin(brief, "")
	names := make([]string, 0, len(d.Environments))
	for _, e := range d.Environments {
		if e.ID != "" && !slices.Contains(names, e.ID) {
			names = append(names, e.ID)
		}
	}
	return names
}

// Read reads what one environment is served of a document: the default rules, and
// the environment's own. It keeps parts of the brief, which must not change
// afterwards.
func (r *Reader) Read(brief []byte, environment string) (*document.Document, error) {
	d := r.begin(brief, environment)
	if r.Bad || len(r.Bytes) > 0 {
		return d, errBrief
	}
	return d, nil
}

func (r *Reader) begin(brief []byte, environment string) *document.Document {
	r.Decoder = encoding.Decoder{Bytes: brief}
	marks := r.Byte()
	d := &document.Document{SendToClientSDK: marks&isSent != 0, Confidential: marks&isConfidential != 0}
	d.Type, d.ValueType, d.ID = document.Type(r.text()), document.ValueType(r.text()), r.text()
	for range r.Count() {
		d.Variants = append(d.Variants, document.Variant{Name: r.text(), Value: r.value(0)})
		if r.Bad {
			return d
		}
	}
	d.Default = r.rules()
	n := r.Count()
	d.Environments = make([]document.Environment, 0, min(n, 64))
	for range n {
		e := document.Environment{ID: r.text()}
		if rules := r.Text(); e.ID == environment && !r.Bad {
			rest := r.Bytes
			r.Bytes = rules
			if e.Rules = r.rules(); len(r.Bytes) > 0 {
				r.Fail()
			}
			if !r.Bad {
				r.Bytes = rest
			}
		}
		if r.Bad {
			return d
		}
		d.Environments = append(d.Environments, e)
	}
	return d
}

func (r *Reader) text() string {
	at := int(r.Byte())
	if at > len(words) {
		r.Fail()
		return ""
	}
	if at > 0 {
		return words[at-1]
	}
	text := r.Text()
	if made, known := r.texts[string(text)]; known {
		return made
	}
	made := string(text)
	if len(made) <= maxShort && len(r.texts) < maxShared {
		if r.texts == nil {
			r.texts = map[string]string{}
		}
		r.texts[made] = made
	}
	return made
}

func (r *Reader) rules() []document.Rule {
	n := r.Count()
	rules := make([]document.Rule, 0, min(n, 1024))
	for range n {
		var rule document.Rule
		if criteria := r.Count(); criteria > 0 {
			rule.Criteria = make([]document.Criterion, 0, min(criteria, 64))
			for range criteria {
				rule.Criteria = append(rule.Criteria, r.criterion())
				if r.Bad {
					return rules
				}
			}
		}
		rule.Value = r.value(1)
		if r.Bad {
			return rules
		}
		rules = append(rules, rule)
	}
	return rules
}

func (r *Reader) criterion() document.Criterion {
	c := document.Criterion{Operator: r.text(), PropertyName: r.text()}
	if r.Byte() != 0 {
		operand := r.value(0)
		c.ValueToMatch = &operand
	}
	return c
}

// value reads a value; one with arms may stand only so many levels deep.
func (r *Reader) value(levels int) document.Value {
	marks := r.Byte()
	v := document.Value{Type: document.ValueType(r.text()), Confidential: marks&valueConfidential != 0}
	if marks&valueEncrypted != 0 {
		v.DecryptWith = r.text()
	}
	if marks&valueContent != 0 {
		v.Content = r.content()
	}
	if marks&valueWeighted == 0 {
		return v
	}
	if levels == 0 {
		r.Fail()
		return v
	}
	v.Weighted = &document.Weighted{HashByProperty: r.text()}
	arms := r.Count()
	v.Weighted.Arms = make([]document.Arm, 0, min(arms, 1024))
	for range arms {
		arm := document.Arm{Weight: r.Integer()}
		arm.Value = r.value(levels - 1)
		if r.Bad {
			return v
		}
		v.Weighted.Arms = append(v.Weighted.Arms, arm)
	}
	return v
}

func (r *Reader) content() *jsontree.Node {
	text := r.Text()
	if made, known := r.contents[string(text)]; known {
		return made
	}
	made, err := document.Parse(text)
	if err != nil {
		r.Fail()
		return nil
	}
	if len(text) <= maxShort && len(r.contents) < maxShared {
		if r.contents == nil {
			r.contents = map[string]*jsontree.Node{}
		}
		r.contents[string(text)] = made
	}
	return made
}
