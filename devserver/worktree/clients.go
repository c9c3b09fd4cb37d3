package worktree

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/telemetry"
)

// clients are the applications that have asked for flags. Their caches count entries, not
// bytes: each is worth 1.
type clients struct {
	mu       sync.Mutex // of the rows
	rows     *lru.Cache[clientName, *client]
	contexts seenContexts
}

type clientName struct{ Protocol, UserAgent, Origin string }

// client is a row of GET /v1/clients.
type client struct {
	Protocol   string    `json:"protocol"` // native, ofrep or events
	UserAgent  string    `json:"userAgent,omitempty"`
	Origin     string    `json:"origin,omitempty"` // of the page
	Requests   int       `json:"requests"`
	LastSeenAt time.Time `json:"lastSeenAt"`
	// Contexts are those that it asked with last, as POST /v1/evaluate takes them.
	Contexts []json.RawMessage `json:"contexts"`
	// Flags are those that it asked for by name last, and All says that it asked for
	// all at once too.
	Flags []string `json:"flags"`
	All   bool     `json:"all"`

	contexts *lru.Cache[string, json.RawMessage]
	flags    *lru.Cache[string, string]
}

const (
	maxClients = 100 // of which the one seen longest ago makes room
	maxText    = 300 // of a name, in bytes
)

// watch records who asks what.
func (c *clients) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol := ""
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, endpoints.Evaluate.Path):
			protocol = "native"
		case strings.HasPrefix(path, endpoints.EvaluateFlags.Path):
			protocol = "ofrep"
		case path == endpoints.EvaluationEvents.Path:
			protocol = "events"
		}
		if protocol == "" || r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		name := clientName{protocol, beginning(r.UserAgent()), beginning(r.Header.Get("Origin"))}
		if protocol == "events" { // which last, and ask nothing
			c.note(name, nil, time.Now())
			next.ServeHTTP(w, r)
			return
		}
		read, answer := asks(r), &answered{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		var asked *question
		if answer.status < http.StatusBadRequest { // else nothing has been asked
			q := read()
			asked = &q
		}
		c.note(name, asked, time.Now())
	})
}

// answered tells the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func beginning(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "\uFFFD")
}

func (c *clients) note(name clientName, asked *question, now time.Time) {
	now = now.UTC().Truncate(time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	row, found := c.rows.Get(name)
	if !found {
		row = &client{Protocol: name.Protocol, UserAgent: name.UserAgent, Origin: name.Origin,
			contexts: lru.New[string, json.RawMessage](maxClientContexts), flags: lru.New[string, string](maxClientFlags)}
		c.rows.Put(name, row, 1)
	}
	row.Requests++
	row.LastSeenAt = now
	if asked == nil {
		return
	}
	if asked.context != nil {
		if text := asked.context.Compact(); len(text) <= maxContext {
			row.contexts.Put(string(text), text, 1)
			contexts, _ := jsontree.Parse(text) // so that nothing else of the request is held
			for _, saved := range telemetry.Plain(c.contexts.environment, contexts, now) {
				c.contexts.saved.Put([2]string{saved.Type, saved.Key}, saved, 1)
			}
		}
	}
	if asked.flag == "" {
		row.All = true
	} else {
		row.flags.Put(asked.flag, asked.flag, 1)
	}
}

// listClients answers GET /v1/clients, the one seen last first.
func (a *API) listClients(*http.Request) (any, error) {
	a.clients.mu.Lock()
	defer a.clients.mu.Unlock()
	rows := []client{}
	for _, row := range a.clients.rows.Values() {
		told := *row
		told.Contexts, told.Flags = row.contexts.Values(), row.flags.Values()
		rows = append(rows, told)
	}
	return map[string][]client{"clients": rows}, nil
}
