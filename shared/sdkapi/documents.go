package sdkapi

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/negotiation"
)

// Documents is what GET /api/v2/configs answers with. It is kept compressed alone, in
// each coding a tenth of the text: hardly a client takes it otherwise.
type Documents struct {
	Workspace, Environment, Version string
	negotiation.Packed
}

// NewDocuments keeps a text that goes to write, without a line break: an event of a
// stream is one line.
func NewDocuments(workspace, environment, version string, write func(w io.Writer)) *Documents {
	return &Documents{workspace, environment, version, negotiation.Pack(write)}
}

// Size is how many bytes the documents take; none before they are made.
func (d *Documents) Size() int64 {
	if d == nil {
		return 0
	}
	return d.Bytes()
}

// Event is the documents as an event of a stream: their version, and the data.
func (d *Documents) Event() (version string, data io.Reader, err error) {
	data, err = d.Plain()
	return d.Version, data, err
}

// TakesGet reports whether a request is one for documents. One that is not it has
// answered.
func TakesGet(w http.ResponseWriter, r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodOptions: // without a CORS header a browser goes no further
		w.Header().Set("Allow", "GET")
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET")
		delivery.WriteFault(w, fault.New(fault.MethodNotAllowed, "this path takes GET, not %s", r.Method))
	}
	return false
}

// entityTag stands for what an environment serves, so that an unchanged poll
// needs no documents.
func entityTag(workspace, environment, version string) string {
	text := strings.Join([]string{"configs 4", workspace, environment, version}, "\x00")
	sum := sha256.Sum256([]byte(text))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

func setHeaders(w http.ResponseWriter, tag string) {
	header := w.Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Vary", "Accept-Encoding")
}

func notModified(w http.ResponseWriter, tag string) {
	setHeaders(w, tag)
	w.WriteHeader(http.StatusNotModified)
}

// Answer answers a GET. An answer of more than most bytes, 0 for any, is refused with
// a fault.
func (d *Documents) Answer(w http.ResponseWriter, r *http.Request, most int) error {
	tag := entityTag(d.Workspace, d.Environment, d.Version)
	match, known := negotiation.NoneMatchCoded(r, tag)
	if match == negotiation.ThisOne {
		notModified(w, known)
		return nil
	}
	coding, size := negotiation.Choose(r, d.Length), d.Length
	if coding != "" {
		size = len(d.In(coding))
	}
	if most > 0 && size > most {
		return fault.New(fault.BadRequest, "the answer would be %d bytes long, more than can be sent at once; %s", size, d.advice(most))
	}
	if match == negotiation.Whichever {
		notModified(w, coding.Tag(tag))
		return nil
	}
	plain, err := d.Plain()
	if err != nil {
		return err
	}
	setHeaders(w, coding.Tag(tag))
	if coding != "" {
		w.Header().Set("Content-Encoding", string(coding))
		delivery.WriteJSON(w, http.StatusOK, d.In(coding))
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(d.Length))
	w.WriteHeader(http.StatusOK)
	// It is written while it is unpacked: many who are slow would hold it many times.
	steady := bodies.NewSteady(w)
	_, _ = io.Copy(steady, plain)
	_ = steady.Close()
	return nil
}

// advice is how an answer of at most so many bytes can be had.
func (d *Documents) advice(most int) string {
	for _, coding := range []negotiation.Coding{negotiation.GzipCoding, negotiation.Zstd} {
		if len(d.In(coding)) <= most {
			return "accept " + string(coding) + " in Accept-Encoding"
		}
	}
	return "compressed it is too long too; spread the documents over several workspaces"
}
