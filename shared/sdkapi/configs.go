package sdkapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// documents is the answer to GET /api/v2/configs. It is kept compressed alone, in
// each coding a tenth of the text: hardly a client takes it otherwise.
type documents struct {
	version versions.Version
	negotiation.Packed
}

// Size is how many bytes the documents take; none before they are made.
func (d *documents) Size() int64 {
	if d == nil {
		return 0
	}
	return d.Bytes()
}

// configs answers GET /api/v2/configs.
func (t *tables) configs(w http.ResponseWriter, r *http.Request) {
	if !takesGet(w, r) {
		return
	}
	d, err := t.options.open(t.guard, r, endpoints.Documents, delivery.BasicKey(r))
	if err != nil {
		t.options.refuse(w, r, err)
		return
	}
	if told, known := d.Known(); known && unchanged(w, r, entityTag(d, told.SDK)) {
		return
	}
	docs, err := t.documents(r.Context(), d)
	if err == nil {
		tag := entityTag(d, docs.version)
		if unchanged(w, r, tag) {
			return
		}
		err = t.sendDocuments(w, r, docs, tag)
	}
	if err != nil {
		t.options.refuse(w, r, err)
	}
}

func (t *tables) documents(ctx context.Context, d *control.Delivery) (*documents, error) {
	return t.environment(d).documents.at(ctx, d, t, sdk, func(ws *workspace.Workspace, v versions.Environment) (*documents, error) {
		return newDocuments(ws, d, v.SDK), nil
	})
}

// takesGet says whether a request is one for documents. One that is not it has
// answered.
func takesGet(w http.ResponseWriter, r *http.Request) bool {
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

// unchanged answers a request that names the tag.
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	for _, coding := range []negotiation.Coding{"", negotiation.GzipCoding, negotiation.Zstd} { // "*" does not say that there was an answer
		if negotiation.NoneMatch(r, tagged(tag, coding)) == negotiation.ThisOne {
			notModified(w, tag, coding)
			return true
		}
	}
	return false
}

// entityTag stands for what an environment serves, so that an unchanged poll
// needs no documents.
func entityTag(d *control.Delivery, version versions.Version) string {
	text := strings.Join([]string{"configs 3", d.WorkspaceID(), d.Environment(), version.String()}, "\x00")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func tagged(tag string, coding negotiation.Coding) string {
	if coding != "" {
		tag += "-" + string(coding)
	}
	return `"` + tag + `"`
}

func setHeaders(w http.ResponseWriter, tag string, coding negotiation.Coding) {
	header := w.Header()
	header.Set("ETag", tagged(tag, coding))
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Vary", "Accept-Encoding")
}

func notModified(w http.ResponseWriter, tag string, coding negotiation.Coding) {
	setHeaders(w, tag, coding)
	w.WriteHeader(http.StatusNotModified)
}

func (t *tables) sendDocuments(w http.ResponseWriter, r *http.Request, docs *documents, tag string) error {
	coding, size := negotiation.Choose(r, docs.Length), docs.Length
	if coding != "" {
		size = len(docs.In(coding))
	}
	if most := t.options.MaxAnswer; most > 0 && size > most {
		return fault.New(fault.BadRequest, "the answer would be %d bytes long, more than can be sent at once; %s", size, docs.advice(most))
	}
	if negotiation.NoneMatch(r, tagged(tag, coding)) == negotiation.Whichever {
		notModified(w, tag, coding)
		return nil
	}
	plain, err := docs.Plain()
	if err != nil {
		return err
	}
	setHeaders(w, tag, coding)
	if coding != "" {
		w.Header().Set("Content-Encoding", string(coding))
		delivery.WriteJSON(w, http.StatusOK, docs.In(coding))
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(docs.Length))
	w.WriteHeader(http.StatusOK)
	// It is written while it is unpacked: many who are slow would hold it many times.
	steady := bodies.NewSteady(w)
	_, _ = io.Copy(steady, plain)
	_ = steady.Close()
	return nil
}

// advice is how an answer of at most so many bytes can be had.
func (d *documents) advice(most int) string {
	for _, coding := range []negotiation.Coding{negotiation.GzipCoding, negotiation.Zstd} {
		if len(d.In(coding)) <= most {
			return "accept " + string(coding) + " in Accept-Encoding"
		}
	}
	return "compressed it is too long too; spread the documents over several workspaces"
}

// newDocuments compresses while it decodes, one document at a time.
func newDocuments(ws *workspace.Workspace, d *control.Delivery, version versions.Version) *documents {
	out := &documents{version: version}
	out.Packed = negotiation.Pack(func(w io.Writer) {
		write := func(b []byte) { _, _ = w.Write(b) } // it goes to memory
		write([]byte(`{"configs":[`))
		var row []byte
		for item := range ws.ByKey() {
			node := project.Delivered(item.Key, item.Tree, item.View, d.Environment())
			if node == nil {
				continue
			}
			begin := row[:0]
			if row != nil {
				begin = append(begin, ',')
			}
			row = node.AppendCompact(begin)
			write(row)
		}
		meta := append([]byte(`],"meta":`), jsontree.NewObject(
			jsontree.Field("version", jsontree.NewString(version.String())),
			jsontree.Field("environment", jsontree.NewString(d.Environment())),
			jsontree.Field("workspaceId", jsontree.NewString(d.WorkspaceID())),
		).Compact()...)
		write(append(meta, '}'))
	})
	return out
}
