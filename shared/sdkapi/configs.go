package sdkapi

import (
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

// documents is the answer to GET /api/v2/configs. It is kept as gzip alone, a
// tenth of the text: hardly a client takes it otherwise.
type documents struct {
	version versions.Version
	packed  []byte
	plain   int // bytes
}

// Size is how many bytes the documents take; none before they are made.
func (d *documents) Size() int64 {
	if d == nil {
		return 0
	}
	return int64(len(d.packed))
}

// configs answers GET /api/v2/configs.
func (t *tables) configs(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions: // without a CORS header a browser goes no further
		w.Header().Set("Allow", "GET")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", "GET")
		delivery.WriteFault(w, fault.New(fault.MethodNotAllowed, "this path takes GET, not %s", r.Method))
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
	docs, err := t.environment(d).documents.at(r.Context(), d, t, sdk, func(ws *workspace.Workspace, v versions.Environment) *documents { return newDocuments(ws, d, v.SDK) })
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

// unchanged answers a request that names the tag.
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	for _, packed := range []bool{false, true} { // "*" does not say that there was an answer
		if negotiation.NoneMatch(r, tagged(tag, packed)) == negotiation.ThisOne {
			notModified(w, tag, packed)
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

func tagged(tag string, packed bool) string {
	if packed {
		tag += "-gzip"
	}
	return `"` + tag + `"`
}

func setHeaders(w http.ResponseWriter, tag string, packed bool) {
	header := w.Header()
	header.Set("ETag", tagged(tag, packed))
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Vary", "Accept-Encoding")
}

func notModified(w http.ResponseWriter, tag string, packed bool) {
	setHeaders(w, tag, packed)
	w.WriteHeader(http.StatusNotModified)
}

func (t *tables) sendDocuments(w http.ResponseWriter, r *http.Request, docs *documents, tag string) error {
	packed, size := negotiation.Gzip(r, docs.plain), docs.plain
	if packed {
		size = len(docs.packed)
	}
	if most := t.options.MaxAnswer; most > 0 && size > most {
		return fault.New(fault.BadRequest, "the answer would be %d bytes long, more than can be sent at once; accept gzip in Accept-Encoding", size)
	}
	if negotiation.NoneMatch(r, tagged(tag, packed)) == negotiation.Whichever {
		notModified(w, tag, packed)
		return nil
	}
	plain, err := negotiation.Decompressed(docs.packed)
	if err != nil {
		return err
	}
	setHeaders(w, tag, packed)
	if packed {
		w.Header().Set("Content-Encoding", "gzip")
		delivery.WriteJSON(w, http.StatusOK, docs.packed)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(docs.plain))
	w.WriteHeader(http.StatusOK)
	// It is written while it is unpacked: many who are slow would hold it many times.
	steady := bodies.NewSteady(w)
	_, _ = io.Copy(steady, plain)
	_ = steady.Close()
	return nil
}

// newDocuments compresses while it decodes, one document at a time.
func newDocuments(ws *workspace.Workspace, d *control.Delivery, version versions.Version) *documents {
	out := &documents{version: version}
	out.packed = negotiation.CompressFrom(func(w io.Writer) {
		write := func(b []byte) {
			out.plain += len(b)
			_, _ = w.Write(b) // it goes to memory
		}
		write([]byte(`{"configs":[`))
		var row []byte
		for item := range byKey(ws) {
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
