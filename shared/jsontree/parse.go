package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/terminal"
)

// MaxDepth is how deep objects and arrays may nest. No document written by
// hand or by the API comes near it; it bounds the stack of everything that
// walks a tree.
const MaxDepth = 256

// SyntaxError says why a text is not JSON that a tree can hold, and where.
// Line and Column count from 1; Column counts bytes.
type SyntaxError struct {
	Offset       int
	Line, Column int
	Pointer      string
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Parse reads one JSON value that fills the text. The tree keeps parts of the
// text, which must not change afterwards.
func Parse(text []byte) (*Node, error) { return ParseWithin(text, math.MaxInt) }

// ParseWithin is Parse of a text of at most so many values: objects, arrays and
// what they hold. A tree takes some 100 bytes for each, which may be two bytes of
// the text.
func ParseWithin(text []byte, values int) (*Node, error) {
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	p.nodes.piece = make([]Node, 0, min(len(text)/bytesOfNode+1, maxNodes))
	n, err := p.parse(text, values)
	// A tree that is kept should not hold another one's parts.
	p.nodes.piece, p.lists.piece, p.objects.piece = nil, nil, nil
	return n, err
}

// parser reads one text after another: what it works with is kept between them,
// as a workspace is thousands of small texts.
type parser struct {
	text []byte
	in   bytes.Buffer // the text
	dec  *jsontext.Decoder
	// left is how many values there may still be, of most.
	most, left int
	// members and items are of the objects and arrays that are being read.
	members []Member
	items   []*Node
	// Where the parts of the tree lie.
	nodes   memory[Node]
	objects memory[Member]
	lists   memory[*Node]
}

var parsers = sync.Pool{New: func() any { return newParser() }}

func newParser() *parser {
	p := &parser{dec: jsontext.NewDecoder(bytes.NewBuffer(nil))}
	p.nodes.least = maxNodes / 4
	return p
}

const (
	bytesOfNode = 20 // of a document, for each of its nodes
	maxNodes    = 64 // that are made at once
)

// memory is where parts of trees lie, in pieces.
type memory[T any] struct {
	piece []T
	least int // how many a new piece has room for
}

// hold copies some parts to where they lie beside each other.
func (m *memory[T]) hold(some ...T) []T {
	if cap(m.piece)-len(m.piece) < len(some) {
		m.piece = make([]T, 0, max(len(some), m.least))
	}
	from := len(m.piece)
	m.piece = append(m.piece, some...)
	return m.piece[from:len(m.piece):len(m.piece)]
}

// maxScratch is how many parts of a kind are kept for the next text, and cleared
// for it.
const maxScratch = 512

// emptied is a slice to be used again, of which so much was used, if it is not
// too large.
func emptied[T any](used []T) []T {
	if cap(used) > maxScratch {
		return nil
	}
	clear(used)
	return used[:0]
}

func (p *parser) parse(text []byte, values int) (*Node, error) {
	p.text, p.most, p.left = text, values, values
	p.in = *bytes.NewBuffer(text)
	p.dec.Reset(&p.in)
	defer func() {
		p.text, p.in = nil, bytes.Buffer{}
		p.members, p.items = emptied(p.members[:cap(p.members)]), emptied(p.items[:cap(p.items)])
	}()
	n, err := p.value(0)
	if err != nil {
		return nil, p.explain(err)
	}
	if _, err := p.dec.ReadToken(); err != io.EOF {
		if err == nil {
			err = &refusal{int(p.dec.InputOffset()) - 1, "text after the end of the JSON value; a file holds one value"}
		}
		return nil, p.explain(err)
	}
	return n, nil
}

// refusal is a problem this package finds itself, at a byte offset.
type refusal struct {
	offset  int
	message string
}

func (r *refusal) Error() string { return r.message }

func (p *parser) value(depth int) (*Node, error) {
	kind := p.dec.PeekKind()
	offset := p.begin()
	if p.left--; p.left < 0 {
		return nil, &refusal{offset, fmt.Sprintf("more than %d values (objects, arrays and what they hold)", p.most)}
	}
	switch kind {
	case '{', '[':
		if depth == MaxDepth {
			return nil, &refusal{offset, fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
		}
		if kind == '{' {
			return p.object(offset, depth)
		}
		return p.array(offset, depth)
	}
	n := &p.nodes.hold(Node{Kind: scalarKind(kind), Offset: offset})[0]
	var err error
	n.text, err = p.scalar(offset)
	return n, err
}

// scalar is the text of the value about to be read. It is a part of the whole
// text, not a copy: the caller gave the text away to the tree.
func (p *parser) scalar(offset int) ([]byte, error) {
	if _, err := p.dec.ReadValue(); err != nil {
		return nil, err
	}
	end := int(p.dec.InputOffset())
	return p.text[offset:end:end], nil
}

func scalarKind(kind jsontext.Kind) Kind {
	switch kind {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '0':
		return Number
	case '"':
		return String
	}
	return 0
}

// begin is the offset of the value about to be read: past the white space,
// the comma or the colon that the decoder has not consumed yet.
func (p *parser) begin() int {
	offset := int(p.dec.InputOffset())
	for offset < len(p.text) && strings.IndexByte(" \t\r\n,:", p.text[offset]) >= 0 {
		offset++
	}
	return offset
}

func (p *parser) object(offset, depth int) (*Node, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	n := &p.nodes.hold(Node{Kind: Object, Offset: offset})[0]
	begin := len(p.members)
	for p.dec.PeekKind() != '}' {
		text, err := p.scalar(p.begin())
		if err != nil {
			return nil, err
		}
		m := Member{text: text}
		if m.Name, err = unquoted(text); err != nil {
			return nil, err
		}
		if m.Value, err = p.value(depth + 1); err != nil {
			return nil, err
		}
		p.members = append(p.members, m)
	}
	n.Members = p.objects.hold(p.members[begin:]...)
	p.members = p.members[:begin]
	_, err := p.dec.ReadToken()
	return n, err
}

// unquoted decodes a text. Those that nearly all documents have are not made each
// time.
func unquoted(text []byte) (string, error) {
	if len(text) < 2 || text[0] != '"' || bytes.IndexByte(text, '\\') >= 0 {
		name, err := jsontext.AppendUnquote(nil, text)
		return string(name), err
	}
	plain := text[1 : len(text)-1]
	if name, ok := known[string(plain)]; ok {
		return name, nil
	}
	return string(plain), nil
}

// known are names of members, and values, that documents have.
var known = func() map[string]string {
	all := map[string]string{}
	for _, name := range strings.Fields(`$schema id key type valueType name description access tags readyForCleanup
		sendToClientSdk schemaKey default environment environments variants rules criteria value operator propertyName valueToMatch
		confidential decryptWith weightedValues hashByPropertyName weight source lookup start end
		string bool int double string_list weighted_values feature_flag config segment log_level
		ALWAYS_TRUE PROP_IS_ONE_OF PROP_IS_NOT_ONE_OF IN_SEG NOT_IN_SEG user.key`) {
		all[name] = name
	}
	return all
}()

func (p *parser) array(offset, depth int) (*Node, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	n := &p.nodes.hold(Node{Kind: Array, Offset: offset})[0]
	begin := len(p.items)
	for p.dec.PeekKind() != ']' {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, item)
	}
	n.Items = p.lists.hold(p.items[begin:]...)
	p.items = p.items[:begin]
	_, err := p.dec.ReadToken()
	return n, err
}

// explain turns whatever stopped the parser into a SyntaxError in words that
// help the author of the file.
func (p *parser) explain(err error) *SyntaxError {
	e := &SyntaxError{Offset: int(p.dec.InputOffset()), Pointer: string(p.dec.StackPointer())}
	var syntactic *jsontext.SyntacticError
	var own *refusal
	switch {
	case errors.As(err, &own):
		_, _ = p.dec.ReadToken() // the pointer is of what was read last
		e.Offset, e.Pointer, e.Message = own.offset, string(p.dec.StackPointer()), own.message
	case errors.As(err, &syntactic):
		e.Offset = int(syntactic.ByteOffset)
		e.Pointer = string(syntactic.JSONPointer)
		e.Message = p.words(syntactic)
	case err == io.EOF:
		e.Message = "empty: expected a JSON value"
	default:
		e.Message = notJSON
	}
	if within, below := withinValue(e.Pointer); within != "" {
		e.Pointer = within
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName) && below:
			e.Message = "a name stands twice in an object of this value; keep one"
		case strings.HasPrefix(e.Message, notJSON):
			e.Message = notJSON + " in a value, of which nothing is told as it may be confidential"
		}
	}
	e.Line, e.Column = Position(p.text, e.Offset)
	return e
}

// valueOf is the way to what a document's value holds, which is anything, and what is below.
var valueOf = regexp.MustCompile(`(?s)^(.*?/(?:value|valueToMatch)(?:/value/weightedValues/[0-9]+/value)*(?:/(?:value|type|confidential|decryptWith))?)(/.*)?$`)

// withinValue is as much of a pointer into a document's value as may be told, "" for any
// other: what is below may be confidential, and what says so may come after it.
func withinValue(pointer string) (within string, below bool) {
	parts := valueOf.FindStringSubmatch(pointer)
	if parts == nil {
		return "", false
	}
	return parts[1], parts[2] != ""
}

const notJSON = "not valid JSON"

func (p *parser) words(err *jsontext.SyntacticError) string {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		name := string(err.JSONPointer.LastToken())
		return fmt.Sprintf("the name %s stands twice in this object; keep one", terminal.Quote(name))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "ends in the middle of a JSON value"
	}
	inner := withoutQuotation(strings.TrimPrefix(err.Err.Error(), "jsontext: "))
	if !utf8.Valid(p.text) && strings.Contains(inner, "UTF-8") {
		return "not valid UTF-8; save the file as UTF-8"
	}
	return notJSON + ": " + inner
}

// withoutQuotation leaves out what a message quotes of the text: it may be a
// part of something secret, and the position says it as well.
func withoutQuotation(message string) string {
	first, last := strings.IndexByte(message, '`'), strings.LastIndexByte(message, '`')
	if first < 0 || last <= first {
		return message
	}
	return strings.TrimSpace(message[:first]) + message[last+1:]
}

// Position turns a byte offset into a line and a column, both from 1.
func Position(text []byte, offset int) (line, column int) {
	offset = max(0, min(offset, len(text)))
	before := text[:offset]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, offset - (bytes.LastIndexByte(before, '\n') + 1) + 1
}
