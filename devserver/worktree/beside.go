package worktree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/devserver/verification"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// answering answers a request, with what is written as JSON.
type answering func(r *http.Request) (any, error)

// answers serves one path, by method.
func answers(methods map[string]answering) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, takes := methods[r.Method]
		if !takes {
			var names []string
			for name := range methods {
				names = append(names, name)
			}
			slices.Sort(names)
			w.Header().Set("Allow", strings.Join(names, ", "))
			delivery.WriteFault(w, fault.New(fault.MethodNotAllowed, "this path takes %s, not %s", strings.Join(names, ", "), r.Method))
			return
		}
		var body bytes.Buffer
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false)
		value, err := answer(r)
		if err == nil {
			err = enc.Encode(value)
		}
		if err != nil {
			delivery.WriteFault(w, fault.Of(err))
			return
		}
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		delivery.WriteJSON(w, http.StatusOK, body.Bytes())
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

func (a *API) file() (overrides.File, error) {
	if a.options.Overrides == nil {
		return overrides.File{}, fault.New(fault.Unprocessable, "there is no place to keep overrides: neither $XDG_STATE_HOME nor a home directory is set")
	}
	return *a.options.Overrides, nil
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
	file, err := a.file()
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
		return nil, fault.New(fault.Unprocessable, "%v", err)
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
	if o.Over(time.Now()) {
		return nil, errors.New("until is over already")
	}
	return o, o.Check()
}

func (a *API) deleteOverrides(r *http.Request) (any, error) {
	file, err := a.file()
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	var cleared int
	if key := query.Get("key"); query.Has("key") {
		cleared, err = file.Clear(r.Context(), key)
	} else {
		cleared, err = file.ClearAll(r.Context())
	}
	if err != nil {
		return nil, fault.New(fault.Unprocessable, "%v", err)
	}
	return map[string]int{"cleared": cleared}, nil
}

// clients are who has asked for flags.
type clients struct {
	mu  sync.Mutex
	all map[clientName]*client
}

type clientName struct{ Protocol, UserAgent, Origin string }

// client is a row of GET /v1/clients.
type client struct {
	Protocol   string    `json:"protocol"` // native, ofrep or events
	UserAgent  string    `json:"userAgent,omitempty"`
	Origin     string    `json:"origin,omitempty"` // of the page
	Requests   int       `json:"requests"`
	LastSeenAt time.Time `json:"lastSeenAt"`
}

const (
	maxClients = 100 // of which the one seen longest ago makes room
	maxText    = 300 // of a name, in bytes
)

// watch notes who asks.
func (c *clients) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if protocol := protocolOf(r.URL.Path); protocol != "" && r.Method != http.MethodOptions {
			c.note(clientName{protocol, beginning(r.UserAgent()), beginning(r.Header.Get("Origin"))}, time.Now().UTC().Truncate(time.Millisecond))
		}
		next.ServeHTTP(w, r)
	})
}

func protocolOf(path string) string {
	switch {
	case strings.HasPrefix(path, endpoints.Evaluate.Path):
		return "native"
	case strings.HasPrefix(path, endpoints.EvaluateFlags.Path):
		return "ofrep"
	case path == endpoints.EvaluationEvents.Path:
		return "events"
	}
	return ""
}

func beginning(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "\uFFFD")
}

func (c *clients) note(name clientName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[clientName]*client{}
	}
	row := c.all[name]
	if row == nil {
		if len(c.all) == maxClients {
			c.forget()
		}
		row = &client{Protocol: name.Protocol, UserAgent: name.UserAgent, Origin: name.Origin}
		c.all[name] = row
	}
	row.Requests++
	row.LastSeenAt = now
}

func (c *clients) forget() {
	var oldest clientName
	for name, row := range c.all {
		if was := c.all[oldest]; was == nil || row.LastSeenAt.Before(was.LastSeenAt) {
			oldest = name
		}
	}
	delete(c.all, oldest)
}

// seen answers GET /v1/clients, the one seen last first.
func (a *API) seen(*http.Request) (any, error) {
	a.clients.mu.Lock()
	defer a.clients.mu.Unlock()
	rows := []client{}
	for _, row := range a.clients.all {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(x, y client) int { return y.LastSeenAt.Compare(x.LastSeenAt) })
	return map[string][]client{"clients": rows}, nil
}
