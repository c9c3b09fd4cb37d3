package delivery

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
)

// MaxToken is the longest token that is looked at, less percent escapes.
const MaxToken = 64 << 10

const tokenForm = `the token is base64 of a JSON object such as {"user":{"key":"u-1","plan":"pro"}}`

// decodeToken takes a token back to JSON.
func decodeToken(token string) ([]byte, error) {
	if token == "" {
		return nil, fault.New(fault.BadRequest, "the token is missing; %s", tokenForm)
	}
	token = strings.TrimRight(token, "=")
	if strings.ContainsAny(token, "-_") {
		token = alphabets.Replace(token)
	}
	text, err := base64.RawStdEncoding.DecodeString(token)
	if err != nil {
		return nil, fault.New(fault.BadRequest, "the token is not base64; %s", tokenForm)
	}
	if !utf8.Valid(text) {
		return nil, fault.New(fault.BadRequest, "the decoded token is not UTF-8; %s", tokenForm)
	}
	return text, nil
}

// alphabets turns the URL alphabet of base64 into the standard one.
var alphabets = strings.NewReplacer("-", "+", "_", "/")

// contextReader walks a JSON context and fills a frame. It decodes only the
// properties that some rule reads.
type contextReader struct {
	text    bytes.Buffer
	dec     jsontext.Decoder
	inner   jsontext.Decoder // of a property that is an array or an object
	scratch []byte
}

var contextReaders = sync.Pool{New: func() any { return new(contextReader) }}

func newContextReader(text []byte) *contextReader {
	r := contextReaders.Get().(*contextReader)
	r.text = *bytes.NewBuffer(text)
	r.dec.Reset(&r.text, lenient)
	return r
}

func (r *contextReader) release() {
	r.text = bytes.Buffer{}
	contextReaders.Put(r)
}

// shapeError is a context of the wrong shape, as opposed to broken JSON.
type shapeError string

func (e shapeError) Error() string { return string(e) }

// object calls visit for each member of the object that comes next; visit
// reads or skips the member's value. The name is good until the next read.
func (r *contextReader) object(visit func(name []byte) error) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.dec.PeekKind() != '}' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		name, err := r.unquote(raw)
		if err != nil {
			return err
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// lenient takes half of a surrogate pair, which JavaScript writes of a text that
// it has cut in two, for U+FFFD as browsers do. Texts are UTF-8 before they are
// read.
var lenient = jsontext.AllowInvalidUTF8(true)

// unquote decodes a string that is well-formed; one without escapes needs no
// copy.
func (r *contextReader) unquote(raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	r.scratch, _ = jsontext.AppendUnquote(r.scratch[:0], raw) // it tells of halves of pairs
	return r.scratch, nil
}

func (r *contextReader) end() error {
	switch _, err := r.dec.ReadToken(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return shapeError("there is text after the JSON object")
}

// put reads the next value into a slot, or skips it when no rule reads it.
func (r *contextReader) put(f *evaluation.Frame, slot int) error {
	if slot < 0 {
		return r.dec.SkipValue()
	}
	p, err := r.property()
	if err == nil {
		f.Put(slot, p)
	}
	return err
}

func (r *contextReader) property() (evaluation.Property, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return evaluation.Property{}, err
	}
	switch raw.Kind() {
	case '"':
		text, err := r.unquote(raw)
		return evaluation.Text(string(text)), err
	case '0':
		return evaluation.NumberLiteral(string(raw)), nil
	case 'n':
		return evaluation.Property{}, nil
	case 't', 'f':
		return evaluation.Bool(raw.Kind() == 't'), nil
	}
	// No tree is made of the others: an array may have as many elements as fit into a
	// request.
	r.inner.Reset(bytes.NewBuffer(raw), lenient)
	texts := []string{}
	for {
		token, err := r.inner.ReadToken()
		depth := r.inner.StackDepth()
		switch {
		case err != nil:
			return evaluation.Property{}, err
		case depth > jsontree.MaxDepth:
			return evaluation.Property{}, shapeError(fmt.Sprintf("a property is nested deeper than %d levels", jsontree.MaxDepth))
		case depth == 0:
			if raw.Kind() == '{' {
				return evaluation.Property{Kind: evaluation.OtherProperty}, nil
			}
			return evaluation.List(texts), nil
		case depth == 1 && raw.Kind() == '[' && len(texts) <= evaluation.MaxItems:
			switch token.Kind() { // the text by which a scalar compares
			case '"', 't', 'f':
				texts = append(texts, token.String())
			case '0':
				if p := evaluation.NumberLiteral(token.String()); p.Kind == evaluation.NumberProperty {
					texts = append(texts, p.Text)
				}
			}
		}
	}
}

// readNamed fills a frame from {"<context>": {"<property>": value}}.
func readNamed(text []byte, f *evaluation.Frame) error {
	r := newContextReader(text)
	defer r.release()
	if r.dec.PeekKind() != '{' {
		return r.ofAnotherKind("the context is an object of named contexts")
	}
	var context []byte
	err := r.object(func(name []byte) error {
		if r.dec.PeekKind() != '{' {
			return r.ofAnotherKind("the context " + terminal.Quote(string(name)) + " is an object of properties")
		}
		context = append(context[:0], name...)
		return r.object(func(property []byte) error { return r.put(f, f.Slot(context, property)) })
	})
	if err != nil {
		return err
	}
	return r.end()
}

// ofAnotherKind tells broken JSON from JSON of another kind.
func (r *contextReader) ofAnotherKind(what string) error {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	kinds := map[jsontext.Kind]string{'n': "null", 't': "a boolean", 'f': "a boolean", '0': "a number", '"': "a string", '[': "an array", '{': "an object"}
	return shapeError(what + ", not " + kinds[raw.Kind()])
}

// explain puts the reader's error in words for a client.
func explain(err error) string {
	var shape shapeError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &shape):
		return string(shape)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a name stands twice in one object"
	case errors.As(err, &syntactic):
		return "not JSON: " + strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")
	}
	return "not JSON: it ends too early"
}
