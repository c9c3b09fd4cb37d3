package delivery

import (
	"net/http"
	"strconv"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/negotiation"
)

// writeEvaluated writes an answer that a client may keep by its tag.
func (h *Handler) writeEvaluated(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	header := w.Header()
	if body = h.compressed(w, r, body); header["Content-Encoding"] != nil {
		tag = packed(tag)
	}
	values := &[2]string{tag, strconv.Itoa(len(body))} // one allocation for both headers
	header["Etag"] = values[:1:1]
	header["Cache-Control"] = cacheControl
	header["Content-Type"] = jsonType
	header["Content-Length"] = values[1:]
	w.WriteHeader(http.StatusOK)
	bodies.Write(w, body)
}

// compressed is a body as it is sent to the client of a request, with the headers
// that tell of it.
func (h *Handler) compressed(w http.ResponseWriter, r *http.Request, body []byte) []byte {
	if !h.Compress {
		return body
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if !negotiation.Gzip(r, len(body)) {
		return body
	}
	w.Header()["Content-Encoding"] = gzipped
	return negotiation.CompressQuickly(body)
}

var gzipped = []string{"gzip"}

// packed is the tag of an answer that is sent compressed: its bytes are others.
func packed(tag string) string { return tag[:len(tag)-1] + `-gzip"` }

// known says whether a client has the answer of a tag, in whichever form, and
// the tag of that form.
func (h *Handler) known(r *http.Request, tag string) (negotiation.Match, string) {
	match := negotiation.NoneMatch(r, tag)
	if h.Compress && match != negotiation.ThisOne && r.Header["If-None-Match"] != nil {
		if packed := packed(tag); negotiation.NoneMatch(r, packed) == negotiation.ThisOne {
			return negotiation.ThisOne, packed
		}
	}
	return match, tag
}

func (h *Handler) notModified(w http.ResponseWriter, tag string) {
	header := w.Header()
	header["Etag"] = []string{tag}
	header["Cache-Control"] = cacheControl
	if h.Compress {
		header.Add("Vary", "Accept-Encoding")
	}
	w.WriteHeader(http.StatusNotModified)
}
