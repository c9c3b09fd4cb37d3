package delivery

import (
	"net/http"
	"strconv"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/negotiation"
)

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
