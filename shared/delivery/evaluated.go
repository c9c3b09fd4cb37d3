package delivery

import (
	"net/http"
	"strconv"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/negotiation"
)

// question is what a request asks a table for: all of it, or one item by OFREP.
type question struct {
	table  *Table // of the moment
	now    int64
	native bool
	token  string // of a native poll; or
	body   []byte
	place  bodies.Place      // of the body
	key    string            // that a bulk evaluation came with
	frame  *evaluation.Frame // once it is understood
}

func (q *question) end() {
	if q.frame != nil {
		q.frame.Release()
	}
	q.place.Leave()
}

// understand loads what is asked, and reads the context.
func (h *Handler) understand(q *question) (err error) {
	var token []byte
	if q.native {
		if token, err = decodeToken(q.token); err != nil {
			return err
		}
	}
	if q.table, err = q.table.loaded(q.now); err != nil {
		return err
	}
	q.frame = q.table.snapshot.NewFrame(q.now, h.Random)
	if q.native {
		if err = readNamed(token, q.frame); err != nil {
			err = fault.New(fault.BadRequest, "the decoded token is wrong: %s; %s", explain(err), tokenForm)
		}
	} else if err = readOFREP(q.body, q.frame); err != nil {
		q.place.Leave()
		err = fault.New(fault.BadRequest, "%s", explain(err)).Because(err)
	}
	return err
}

// tag is that of the answer to a poll. An answer that names streams is another one for
// each key.
func (h *Handler) tag(q *question) string {
	switch {
	case q.native:
		return q.table.etag('n', q.now, q.token)
	case h.Streams == nil:
		return q.table.etag('o', q.now, string(q.body))
	case h.Streams.Token == nil:
		q.key = ""
	}
	return q.table.etag('e', q.now, h.Streams.URL, q.key, string(q.body))
}

// poll answers with all that a table has.
func (h *Handler) poll(w http.ResponseWriter, r *http.Request, q *question) {
	defer q.end()
	tag, asked := h.tag(q), q.table
	if match, known := h.known(r, tag); match == negotiation.ThisOne { // so this very question was read before
		h.notModified(w, known)
		return
	}
	if err := h.understand(q); err != nil {
		Refuse(w, r, fault.Of(err))
		return
	}
	if q.table != asked { // what was loaded may be newer
		tag = h.tag(q)
	}
	if match, known := h.known(r, tag); match != negotiation.Neither {
		h.notModified(w, known)
		return
	}
	var streams string
	if !q.native {
		streams = h.Streams.member(q.key, q.table.Environment)
	}
	size := q.table.size + len(streams)
	held, err := h.hold(r, size)
	if err != nil {
		Refuse(w, r, fault.Of(err))
		return
	}
	defer held.Release()
	b := buffer(size)
	var whole bool
	if *b, whole = q.table.appendAll(r.Context(), (*b)[:0], q.frame, q.native, streams); !whole {
		Refuse(w, r, fault.New(fault.Unavailable, "the request ended before its answer was complete; it can be repeated"))
		return
	}
	q.place.Leave()
	h.writeEvaluated(w, r, tag, b)
}

// writeEvaluated writes an answer that a client may keep by its tag, and gives its
// buffer back: before a client that is slow, where the answer is compressed.
func (h *Handler) writeEvaluated(w http.ResponseWriter, r *http.Request, tag string, b *[]byte) {
	body, coding := h.compressed(w, r, *b)
	if coding != "" {
		buffers.Put(b)
	} else {
		defer buffers.Put(b)
	}
	values := &[2]string{coding.Tag(tag), strconv.Itoa(len(body))} // one allocation for both headers
	header := w.Header()
	header["Etag"] = values[:1:1]
	header["Cache-Control"] = cacheControl
	header["Content-Type"] = jsonType
	header["Content-Length"] = values[1:]
	w.WriteHeader(http.StatusOK)
	bodies.Write(w, body)
}

// compressed is a body as it is sent to the client of a request, with the headers
// that tell of it.
func (h *Handler) compressed(w http.ResponseWriter, r *http.Request, body []byte) ([]byte, negotiation.Coding) {
	if !h.Compress {
		return body, ""
	}
	varies(w.Header())
	coding := negotiation.Choose(r, len(body))
	if coding != "" {
		w.Header().Set("Content-Encoding", string(coding))
	}
	return coding.Compress(body), coding
}

// known reports whether a client has the answer of a tag, in whichever form, and
// the tag of that form.
func (h *Handler) known(r *http.Request, tag string) (negotiation.Match, string) {
	if !h.Compress {
		return negotiation.NoneMatch(r, tag), tag
	}
	return negotiation.NoneMatchCoded(r, tag)
}

func (h *Handler) notModified(w http.ResponseWriter, tag string) {
	header := w.Header()
	header["Etag"] = []string{tag}
	header["Cache-Control"] = cacheControl
	if h.Compress {
		varies(header)
	}
	w.WriteHeader(http.StatusNotModified)
}

func varies(header http.Header) {
	if header["Vary"] == nil {
		header["Vary"] = acceptEncoding
		return
	}
	header.Add("Vary", "Accept-Encoding")
}

var acceptEncoding = []string{"Accept-Encoding"}
