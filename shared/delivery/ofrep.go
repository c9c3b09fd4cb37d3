package delivery

import (
	"bytes"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
)

// The error codes of OFREP that are answered here.
const (
	parseError     = "PARSE_ERROR"
	invalidContext = "INVALID_CONTEXT"
	flagNotFound   = "FLAG_NOT_FOUND"
	general        = "GENERAL"
)

// ofrepError is the body of a refused evaluation.
type ofrepError struct {
	Key     string `json:"key,omitempty"`
	Code    string `json:"errorCode"`
	Details string `json:"errorDetails"`
}

// flagKey is the key of the flag that is asked for, "" for all of them.
func flagKey(r *http.Request) string {
	_, key, _ := strings.Cut(r.URL.Path, ofrepFlags+"/")
	return key
}

// bulk evaluates every served item. The protocol's flagConfigEtag parameters
// are hints for caches between client and server and change nothing here.
func (h *Handler) bulk(w http.ResponseWriter, r *http.Request, table *Table, key string) {
	if q, ok := h.receive(w, r, table); ok {
		q.key = key
		h.poll(w, r, q)
	}
}

// single evaluates one item.
func (h *Handler) single(w http.ResponseWriter, r *http.Request, table *Table, _ string) {
	key := flagKey(r)
	q, ok := h.receive(w, r, table)
	if !ok {
		return
	}
	defer q.end()
	if err := h.understand(q); err != nil {
		Refuse(w, r, fault.Of(err))
		return
	}
	table = q.table
	item, found := table.snapshot.Find(key)
	var one []byte
	if found {
		answer := table.snapshot.Evaluate(item, q.frame)
		bytes := 0 // about
		if answer != evaluation.None {
			bytes = int(table.answers[answer].to - table.answers[answer].from)
		}
		held, err := h.hold(r, bytes)
		if err != nil {
			Refuse(w, r, fault.Of(err))
			return
		}
		defer held.Release()
		one = table.appendOne(make([]byte, 0, 512+bytes), item, answer)
	}
	q.place.Leave()
	if len(one) == 0 { // nor one whose value is withheld
		missing := fault.New(fault.NotFound, "no flag of that key is served in the environment %s", table.Environment)
		writeRefusal(w, missing, ofrepError{key, flagNotFound, missing.Message})
		return
	}
	one = quote(append(one[:len(one)-len(ofrepEnd)], `,"version":`...), table.Version)
	one = append(one, `}}`...)
	w.Header()["Cache-Control"] = cacheControl
	one, _ = h.compressed(w, r, one)
	WriteJSON(w, http.StatusOK, one)
}

// receive reads the body of an OFREP request. When it is not ok it has answered.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request, table *Table) (*question, bool) {
	body, place, err := h.bodies.Read(w, r, func() string { return h.owner(r) })
	if err != nil {
		Refuse(w, r, fault.Of(err))
		return nil, false
	}
	now := h.Now().UnixMilli()
	return &question{table: table.at(now), body: body, now: now, place: place}, true
}

// contextError is JSON which is well-formed, and whose context is none.
type contextError struct{ error }

func (e contextError) Unwrap() error { return e.error }

// readOFREP fills a frame from {"context": {...}}. Without a body, or without
// a context in it, the context is empty.
func readOFREP(body []byte, f *evaluation.Frame) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if !utf8.Valid(body) {
		return shapeError("not JSON: invalid UTF-8")
	}
	r := newContextReader(body)
	defer r.release()
	if r.dec.PeekKind() != '{' {
		return r.ofAnotherKind(`the body is an object such as {"context":{"targetingKey":"u-1"}}`)
	}
	err := r.object(func(name []byte) error {
		if string(name) != "context" || r.dec.PeekKind() == 'n' {
			return r.dec.SkipValue()
		}
		if r.dec.PeekKind() != '{' {
			return contextError{r.ofAnotherKind("the context is an object of properties")}
		}
		return r.flatContext(f)
	})
	if err != nil {
		return err
	}
	return r.end()
}

const targetingKey = "targetingKey"

// flatContext reads properties whose names carry their context before the
// first dot. The targeting key stands in for user.key where that is missing.
func (r *contextReader) flatContext(f *evaluation.Frame) error {
	var target evaluation.Property
	err := r.object(func(name []byte) (err error) {
		if string(name) != targetingKey {
			return r.flatProperty(f, name)
		}
		if kind := r.dec.PeekKind(); kind != '"' && kind != 'n' && kind != jsontext.KindInvalid {
			return contextError{r.ofAnotherKind("targetingKey is a string")}
		}
		target, err = r.property()
		return err
	})
	if slot := f.FlatSlot([]byte("user.key")); err == nil && slot >= 0 && !f.Has(slot) {
		f.Put(slot, target)
	}
	return err
}

// flatProperty reads one property of a flat context. An object under a name
// without a dot is what people write who think in named contexts: its members
// are that context's properties, where no flat name says otherwise.
func (r *contextReader) flatProperty(f *evaluation.Frame, name []byte) error {
	slot := f.FlatSlot(name)
	if r.dec.PeekKind() != '{' || bytes.IndexByte(name, '.') >= 0 {
		return r.put(f, slot)
	}
	if slot >= 0 {
		f.Put(slot, evaluation.Property{Kind: evaluation.OtherProperty})
	}
	context := bytes.Clone(name)
	return r.object(func(property []byte) error {
		slot := f.Slot(context, property)
		if slot >= 0 && f.Has(slot) {
			slot = -1
		}
		return r.put(f, slot)
	})
}
