package client

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// streams stands in for event streams: each connection says what is sent to it.
type streams struct {
	sent  chan string
	asked chan string // the Last-Event-ID of each connection
}

func newStreams() *streams { return &streams{make(chan string), make(chan string, 10)} }

// serve sends a text for each that is put in; "" ends the connection.
func (s *streams) serve(w http.ResponseWriter, r *http.Request) {
	user, key, _ := r.BasicAuth()
	if user != "1" || key != sdkKey {
		w.WriteHeader(401)
		return
	}
	s.asked <- r.Header.Get("Last-Event-ID")
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprint(w, ": svc\nretry: 60\nid: v\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case text := <-s.sent:
			if text == "" {
				return
			}
			fmt.Fprint(w, text)
		case <-r.Context().Done():
			return
		}
	}
}

func sentEvent(version string, documents ...string) string {
	return fmt.Sprintf("id: %[1]s\nevent: message\ndata: {\"configs\":[%[2]s],\"meta\":{\"version\":%[1]q,\"environment\":\"production\",\"workspaceId\":\"w\"}}\n\n", version, hostedForm(documents...))
}

// TestAStreamBringsChanges, and a connection that ends is made again, after a poll.
func TestAStreamBringsChanges(t *testing.T) {
	s, in := newServer(t, switched("false")), newStreams()
	s.streams = in.serve
	o := s.options()
	o.PollEvery = time.Hour
	var j journal
	o.Log = j.log()
	c := open(t, o)
	if asked := <-in.asked; asked != "v1" {
		t.Errorf("the stream is asked for after %q", asked)
	}
	in.sent <- ":\n\n"
	in.sent <- sentEvent("v2", switched("true"))
	eventually(t, "an event is served", func() bool { return c.Bool(t.Context(), "f", false) && c.Version() == "v2" && c.Streaming() })

	s.set("v3", switched("false"))
	in.sent <- ""
	if asked := <-in.asked; asked != "v3" {
		t.Errorf("after a poll, the stream is asked for after %q", asked)
	}
	eventually(t, "what a poll has brought", func() bool { return !c.Bool(t.Context(), "f", true) })

	in.sent <- "id: v4\ndata: {\"configs\":\n\n" // half of one
	<-in.asked
	in.sent <- sentEvent("v5", switched("true"))
	eventually(t, "an event after a bad one", func() bool { return c.Version() == "v5" })
	if said := j.count("hearing of changes over an event stream"); said != 1 {
		t.Errorf("it is said %d times:\n%s", said, j.String())
	}
}

// TestWithoutAStreamThereArePolls, whatever the server answers.
func TestWithoutAStreamThereArePolls(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"404":                    nil,
		"401":                    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"503":                    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"a page":                 func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html>") },
		"a redirect":             func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 302) },
		"a connection that ends": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, switched("false"))
			s.streams = answer
			c := open(t, s.options())
			s.set("v2", switched("true"))
			eventually(t, "a poll brings the change", func() bool { return c.Bool(t.Context(), "f", false) })
			if c.Streaming() {
				t.Error("it says that there is a stream")
			}
		})
	}
}
