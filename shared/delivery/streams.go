package delivery

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/fault"
)

// Streams are the event streams that bulk evaluations name (OFREP's ADR 0008).
type Streams struct {
	// Hub serves them; nil where another server does.
	Hub *events.Hub
	// URL is that server, such as https://events.example.com; "" is this one.
	URL string
	// InactivityDelay is for how many seconds a page that is hidden keeps its
	// stream.
	InactivityDelay int
	// Token stands for the key of an environment in the address of a stream; nil
	// where no key is asked for.
	Token func(key, environment string) string
	// Follow authenticates a stream by its token. Its error is the answer, as a
	// fault. Whose the stream is, but for the key, it need not say.
	Follow func(w http.ResponseWriter, r *http.Request, token string) (events.Stream, error)
}

// Inactivity delays: a browser has six connections to a server over HTTP/1.1, all
// of its tabs together, and on a developer's machine there are many tabs.
const (
	DeveloperInactivityDelay = 5
	InactivityDelay          = 120
)

// member is what a bulk evaluation says of streams to the holder of a key.
func (s *Streams) member(key, environment string) string {
	if s == nil {
		return ""
	}
	address := endpoints.EvaluationEvents.Path
	if s.Token != nil {
		address += "?token=" + url.QueryEscape(s.Token(key, environment))
	}
	place := fmt.Sprintf(`"endpoint":{"requestUri":%s}`, quote(nil, address))
	if s.URL != "" {
		place = fmt.Sprintf(`"url":%s`, quote(nil, strings.TrimSuffix(s.URL, "/")+address))
	}
	return fmt.Sprintf(`,"eventStreams":[{"type":"sse",%s,"inactivityDelaySec":%d}]`, place, s.InactivityDelay)
}

// stream answers a request for an event stream.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request) {
	stream, err := h.Streams.Follow(w, r, r.URL.Query().Get("token"))
	if err == nil {
		if !Takes(w, r, http.MethodGet) {
			return
		}
		stream.Address = h.Proxies.Address(r)
		err = h.Streams.Hub.Serve(w, r, stream)
	}
	if err != nil {
		if fault.Of(err).Kind == fault.Unauthorized { // for Basic, a browser would ask the user
			w.Header().Set("WWW-Authenticate", `Token realm="svc"`)
		}
		Refuse(w, r, fault.Of(err))
	}
}

// Evaluations is the channel of those who evaluate remotely. The version is that of
// an environment's Table.
func Evaluations(version func(ctx context.Context) (string, error)) events.Channel {
	return evaluations{version}
}

type evaluations struct {
	version func(ctx context.Context) (string, error)
}

func (e evaluations) Version(ctx context.Context) (string, error) { return e.version(ctx) }

func (evaluations) Event(_ context.Context, news events.News) (string, io.Reader, error) {
	data := fmt.Sprintf(`{"type":"refetchEvaluation","etag":%s,"lastModified":%d}`, quote(nil, `"`+news.Version+`"`), news.Since.Unix())
	return news.Version, strings.NewReader(data), nil
}
