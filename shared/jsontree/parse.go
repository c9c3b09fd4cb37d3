package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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
func Parse(text []byte) (*Node, error) {
	p := parser{text: text, dec: jsontext.NewDecoder(bytes.NewBuffer(text))}
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

type parser struct {
	text []byte
	dec  *jsontext.Decoder
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
	text, err := p.scalar(offset)
	return &Node{Kind: scalarKinds[kind], Offset: offset, text: text}, err
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

var scalarKinds = map[jsontext.Kind]Kind{'n': Null, 't': Bool, 'f': Bool, '0': Number, '"': String}

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
	n := &Node{Kind: Object, Offset: offset}
	for p.dec.PeekKind() != '}' {
		text, err := p.scalar(p.begin())
		if err != nil {
			return nil, err
		}
		name, err := jsontext.AppendUnquote(nil, text)
		if err != nil {
			return nil, err
		}
		m := Member{Name: string(name), text: text}
		if m.Value, err = p.value(depth + 1); err != nil {
			return nil, err
		}
		n.Members = append(n.Members, m)
	}
	_, err := p.dec.ReadToken()
	return n, err
}

func (p *parser) array(offset, depth int) (*Node, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	n := &Node{Kind: Array, Offset: offset}
	for p.dec.PeekKind() != ']' {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
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
		e.Offset, e.Message = own.offset, own.message
	case errors.As(err, &syntactic):
		e.Offset = int(syntactic.ByteOffset)
		e.Pointer = string(syntactic.JSONPointer)
		e.Message = p.words(syntactic)
	case err == io.EOF:
		e.Message = "empty: expected a JSON value"
	default:
		e.Message = "not valid JSON"
	}
	e.Line, e.Column = Position(p.text, e.Offset)
	return e
}

func (p *parser) words(err *jsontext.SyntacticError) string {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		name := string(err.JSONPointer.LastToken())
		return fmt.Sprintf("the name %q stands twice in this object; keep one", name)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "ends in the middle of a JSON value"
	}
	inner := withoutQuotation(strings.TrimPrefix(err.Err.Error(), "jsontext: "))
	if !utf8.Valid(p.text) && strings.Contains(inner, "UTF-8") {
		return "not valid UTF-8; save the file as UTF-8"
	}
	return "not valid JSON: " + inner
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
