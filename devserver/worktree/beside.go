package worktree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/devserver/verification"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// answering answers a request, with what is written as JSON.
type answering func(r *http.Request) (any, error)

// byMethod serves one path, by method.
func byMethod(methods map[string]answering) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		answer, takes := methods[method]
		if !takes {
			allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
			w.Header().Set("Allow", allowed)
			delivery.WriteFault(w, fault.New(fault.MethodNotAllowed, "this path takes %s, not %s", allowed, r.Method))
			return
		}
		var body []byte
		value, err := answer(r)
		if err == nil {
			body, err = encoding.JSON(value)
		}
		if err != nil {
			delivery.WriteFault(w, fault.Of(err))
			return
		}
		w.Header().Set("Cache-Control", "private, no-cache")
		if method == http.MethodGet {
			tag, _ := negotiation.NewBody(body).Identity()
			w.Header().Set("Etag", `"`+tag+`"`)
			if negotiation.NoneMatch(r, `"`+tag+`"`) != negotiation.Neither {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		delivery.WriteJSON(w, http.StatusOK, body)
	})
}

func (a *API) problems(*http.Request) (any, error) {
	v, _ := verification.OfDirectory(a.options.Dir, datadir.Look(a.options.Dir))
	return v, nil
}

// overrideList is the answer to GET /v1/overrides.
type overrideList struct {
	Environment string             `json:"environment"`
	Overrides   []overrides.Listed `json:"overrides"`
}

// workspace is the directory as it is.
func (a *API) workspace() *workspace.Workspace {
	ws, _ := workspace.ReadServable(datadir.Look(a.options.Dir).Files, nil)
	return ws
}

func (a *API) listOverrides(*http.Request) (any, error) {
	list := overrideList{a.options.Environment, []overrides.Listed{}}
	if a.options.Overrides == nil {
		return list, nil
	}
	all, err := a.options.Overrides.Read()
	if err != nil {
		return nil, fault.New(fault.Unprocessable, "%v", err)
	}
	list.Overrides = append(list.Overrides, overrides.List(a.workspace(), all, time.Now())...)
	return list, nil
}

// maxOverride is how many bytes the request to set an override may have.
const maxOverride = 1 << 20

func (a *API) putOverride(r *http.Request) (any, error) {
	file, _, err := a.changing(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxOverride+1))
	if err != nil {
		return nil, fault.New(fault.BadRequest, "the body cannot be read")
	}
	if len(text) > maxOverride {
		return nil, fault.New(fault.PayloadTooLarge, "an override has at most %d bytes", maxOverride)
	}
	o, err := readOverride(text)
	if err != nil {
		return nil, fault.New(fault.BadRequest, "%v", err)
	}
	doc := overrides.Document(a.workspace(), o.Key)
	if problem := o.Problem(doc); doc == nil {
		return nil, fault.New(fault.NotFound, "%s: %s", terminal.Quote(o.Key), problem)
	} else if problem != "" {
		return nil, fault.New(fault.BadRequest, "%s cannot be overridden: %s", terminal.Quote(o.Key), problem)
	}
	if err := file.Set(r.Context(), *o); err != nil {
		return nil, overrideError(err)
	}
	return o, nil
}

// readOverride reads the body of a request.
func readOverride(text []byte) (*overrides.Override, error) {
	tree, err := jsontree.Parse(text)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var body struct {
		overrides.Override
		Value json.RawMessage `json:"value"`
	}
	if err := dec.Decode(&body); err != nil {
		return nil, errors.New(`an override is an object such as {"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": "u1"}, "until": "2026-01-31T18:00:00Z"}`)
	}
	o := &body.Override
	if o.Value = tree.Get("value"); o.Value == nil {
		return nil, errors.New("value is missing")
	}
	if o.For != nil {
		if property := tree.Get("for").Get("value"); property == nil || property.Kind != jsontree.String { // it would be for everybody without it
			return nil, errors.New("for: value is missing")
		}
	}
	if o.Over(time.Now()) {
		return nil, errors.New("until is over already")
	}
	return o, o.Check()
}
