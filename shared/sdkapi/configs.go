package sdkapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// configs answers GET /api/v2/configs.
func (t *tables) configs(w http.ResponseWriter, r *http.Request) {
	if !TakesGet(w, r) {
		return
	}
	d, err := t.options.open(t.guard, r, endpoints.Documents, delivery.BasicKey(r))
	if err != nil {
		t.options.refuse(w, r, err)
		return
	}
	if told, known := d.Known(); known {
		// "*" does not say that there was an answer.
		if match, tag := negotiation.NoneMatchCoded(r, entityTag(d.WorkspaceID(), d.Environment(), told.SDK.String())); match == negotiation.ThisOne {
			notModified(w, tag)
			return
		}
	}
	docs, err := t.documents(r.Context(), d)
	if err == nil {
		err = docs.Answer(w, r, t.options.MaxAnswer)
	}
	if err != nil {
		t.options.refuse(w, r, err)
	}
}

func (t *tables) documents(ctx context.Context, d *control.Delivery) (*Documents, error) {
	return t.environment(d).documents.at(ctx, d, t, sdk, func(ws *workspace.Workspace, v versions.Environment) (*Documents, error) {
		return newDocuments(ws, d, v), nil
	})
}

// newDocuments compresses while it decodes, one document at a time. The version of
// what clients are served stands there unless a document that counts for it had to be
// left out: a client that evaluates these then answers otherwise than is answered here.
func newDocuments(ws *workspace.Workspace, d *control.Delivery, v versions.Environment) *Documents {
	return NewDocuments(d.WorkspaceID(), d.Environment(), v.SDK.String(), func(w io.Writer) {
		write := func(b []byte) { _, _ = w.Write(b) } // it goes to memory
		write([]byte(`{"configs":[`))
		var row []byte
		whole := true
		for item := range ws.ByKey() {
			node := project.Delivered(item.Key, item.Tree, item.View, d.Environment())
			if node == nil {
				whole = whole && item.View.Type != document.Flag && item.View.Type != document.Segment && !item.View.SendToClientSDK
				continue
			}
			begin := row[:0]
			if row != nil {
				begin = append(begin, ',')
			}
			row = node.AppendCompact(begin)
			write(row)
		}
		meta := jsontree.NewObject(
			jsontree.Field("version", jsontree.NewString(v.SDK.String())),
			jsontree.Field("environment", jsontree.NewString(d.Environment())),
			jsontree.Field("workspaceId", jsontree.NewString(d.WorkspaceID())),
		)
		if whole {
			meta.Set("clientVersion", jsontree.NewString(v.Client.String()))
		}
		write(append(meta.AppendCompact([]byte(`],"meta":`)), '}'))
	})
}

// describeKey answers GET /api/v2/key.
func (t *tables) describeKey(w http.ResponseWriter, r *http.Request) {
	if !TakesGet(w, r) {
		return
	}
	record, err := t.keyAsked(r)
	var body []byte
	if err == nil {
		body, err = json.Marshal(KeyDescription{record.ID, record.Kind, record.Environment, record.WorkspaceID})
	}
	if err != nil {
		t.options.refuse(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	delivery.WriteJSON(w, http.StatusOK, body)
}

// KeyDescription is the answer to GET /api/v2/key.
type KeyDescription struct {
	ID          access.ID   `json:"id"`
	Kind        access.Kind `json:"kind"`
	Environment string      `json:"environment"`
	WorkspaceID access.ID   `json:"workspaceId"`
}

// keyAsked is the key that a request carries, or the one that the token stands for
// which it asks about.
func (t *tables) keyAsked(r *http.Request) (access.KeyRecord, error) {
	text, asked := r.URL.Query()["token"]
	e := endpoints.DescribeKey
	if asked {
		e.Keys = endpoints.SecretSDK
	}
	caller, err := t.options.authenticate(t.guard, r, e, delivery.BasicKey(r))
	if err != nil {
		return access.KeyRecord{}, err
	}
	d, err := t.options.Service.Deliver(caller)
	if err != nil {
		return access.KeyRecord{}, err
	}
	record := d.Key()
	if asked {
		token, err := access.ParseToken(text[0])
		if err != nil {
			return access.KeyRecord{}, fault.New(fault.Unauthorized, "%v", err)
		}
		if record, err = t.options.Service.KeyOfToken(r.Context(), caller, token); err != nil {
			return access.KeyRecord{}, err
		}
	}
	if _, known := versions.Find(d.Head().Versions, record.Environment); known {
		return record, nil
	}
	_, outline, err := d.Versions(r.Context())
	if err == nil {
		err = refusedEnvironment(outline, record.Environment)
	}
	return record, err
}
