package delivery

import (
	"bytes"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/negotiation"
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
	q, ok := h.receive(w, r, table)
	if !ok {
		return
	}
	defer q.end()
	tag := h.tag(q, key)
	// A body of that tag was read before.
	if match, known := h.known(r, tag); match == negotiation.ThisOne {
		h.notModified(w, known)
		return
	}
	if !h.understand(w, r, q) {
		return
	}
	if table.load != nil { // what was loaded may be newer
		tag = h.tag(q, key)
	}
	if match, known := h.known(r, tag); match != negotiation.Neither {
		h.notModified(w, known)
		return
	}
	streams := h.Streams.member(key, q.table.Environment)
	size := q.table.size + len(streams)
	held, err := h.hold(r, size)
	if err != nil {
		Refuse(w, r, fault.Of(err))
		return
	}
	defer held.Release()
	b := buffer(size)
	var whole bool
	if *b, whole = q.table.appendOFREP(r.Context(), (*b)[:0], q.frame, streams); !whole {
		Refuse(w, r, abandoned())
		return
	}
	q.leave()
	h.writeEvaluated(w, r, tag, b)
}

// single evaluates one item.
func (h *Handler) single(w http.ResponseWriter, r *http.Request, table *Table, _ string) {
	key := flagKey(r)
	q, ok := h.receive(w, r, table)
	if !ok {
		return
	}
	defer q.end()
	if !h.understand(w, r, q) {
		return
	}
	table = q.table
	item, found := table.snapshot.Find(key)
	var one []byte
	if found {
		answer := table.snapshot.Evaluate(item, q.frame)
		held, err := h.hold(r, table.oneBytes(answer))
		if err != nil {
			Refuse(w, r, fault.Of(err))
			return
		}
		defer held.Release()
		one = table.one(item, answer)
	}
	q.leave()
	if one == nil {
		missing := fault.New(fault.NotFound, "no flag of that key is served in the environment %s", table.Environment)
		writeRefusal(w, missing, ofrepError{key, flagNotFound, missing.Message})
		return
	}
	w.Header()["Cache-Control"] = cacheControl
	one, _ = h.compressed(w, r, one)
	WriteJSON(w, http.StatusOK, one)
}

// question is an OFREP request whose body was received.
type question struct {
	table *Table // of the moment
	body  []byte
	now   int64
	leave func()            // lets the next large body in
	frame *evaluation.Frame // once it is understood
}

// tag is that of the answer to a bulk evaluation. An answer that names streams is
// another one for each key.
func (h *Handler) tag(q *question, key string) string {
	switch {
	case h.Streams == nil:
		return q.table.etag('o', q.now, string(q.body))
	case h.Streams.Token == nil:
		key = ""
	}
	return q.table.etag('e', q.now, h.Streams.URL, key, string(q.body))
}

func (q *question) end() {
	if q.frame != nil {
		q.frame.Release()
	}
	q.leave()
}

// receive reads the body of an OFREP request. When it is not ok it has answered.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request, table *Table) (*question, bool) {
	body, place, err := h.bodies.Read(w, r, func() string { return h.owner(r) })
	if err != nil {
		Refuse(w, r, fault.Of(err))
		return nil, false
	}
	now := h.Now().UnixMilli()
	return &question{table: table.at(now), body: body, now: now, leave: place.Leave}, true
}

// understand reads the context of an OFREP request. When it is not ok it has
// answered.
func (h *Handler) understand(w http.ResponseWriter, r *http.Request, q *question) (ok bool) {
	table, err := q.table.loaded(q.now)
	if err != nil {
		Refuse(w, r, fault.Of(err))
		return false
	}
	q.table, q.frame = table, table.snapshot.NewFrame(q.now, h.Random)
	if code, err := readOFREP(q.body, q.frame); err != nil {
		q.leave()
		writeRefusal(w, fault.New(fault.BadRequest, ""), ofrepError{flagKey(r), code, explain(err)})
		return false
	}
	return true
}

// readOFREP fills a frame from {"context": {...}}. Without a body, or without
// a context in it, the context is empty. The code goes with the error.
func readOFREP(body []byte, f *evaluation.Frame) (code string, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return "", nil
	}
	if !utf8.Valid(body) {
		return parseError, shapeError("not JSON: invalid UTF-8")
	}
	r := newContextReader(body)
	defer r.release()
	if r.dec.PeekKind() != '{' {
		return parseError, r.ofAnotherKind(`the body is an object such as {"context":{"targetingKey":"u-1"}}`)
	}
	code = parseError
	err = r.object(func(name []byte) error {
		if string(name) != "context" || r.dec.PeekKind() == 'n' {
			return r.dec.SkipValue()
		}
		if r.dec.PeekKind() != '{' {
			code = invalidContext
			return r.ofAnotherKind("the context is an object of properties")
		}
		return r.flatContext(f, &code)
	})
	if err == nil {
		err = r.end()
	}
	return code, err
}

const targetingKey = "targetingKey"

// flatContext reads properties whose names carry their context before the
// first dot. The targeting key stands in for user.key where that is missing.
func (r *contextReader) flatContext(f *evaluation.Frame, code *string) error {
	var target evaluation.Property
	err := r.object(func(name []byte) (err error) {
		if string(name) != targetingKey {
			return r.flatProperty(f, name)
		}
		if kind := r.dec.PeekKind(); kind != '"' && kind != 'n' && kind != jsontext.KindInvalid {
			*code = invalidContext
			return r.ofAnotherKind("targetingKey is a string")
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
