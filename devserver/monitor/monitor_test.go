package monitor

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/router"
)

// watched is a server of some routes whose log is kept.
func watched(t *testing.T, log io.Writer) (*Monitor, http.Handler) {
	t.Helper()
	m := New()
	m.Access = slog.New(slog.NewTextHandler(log, nil))
	says := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); fmt.Fprint(w, "body") })
	}
	routes, notFound := m.Routes([]router.Route{
		{Path: "/api/v2/configs/eval-with-context/", Handler: says(200)},
		{Path: "/v1/flags/{key}", Handler: says(201)},
		{Path: "/stream", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error("a stream cannot take its connection over: ", err)
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			conn.Close()
		})},
		{Path: "/gives/up", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })},
	}, says(404))
	return m, router.New(routes, notFound)
}

func numbers(m *Monitor) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", Path, nil))
	return w.Body.String()
}

// TestTheLogHasBothNamesOfARequest: the one that its commit carries, and the client's.
func TestTheLogHasBothNamesOfARequest(t *testing.T) {
	for sent, want := range map[string]string{"": "requestId=drawn", "mine": "requestId=drawn clientRequestId=mine"} {
		var log bytes.Buffer
		m := New()
		m.Access = slog.New(slog.NewTextHandler(&log, nil))
		routes, notFound := m.Routes([]router.Route{{Path: "/v1/flags", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(requestid.Header, cmp.Or(sent, "drawn"))
			requestid.Note(r.Context(), "drawn")
		})}}, http.NotFoundHandler())
		r := httptest.NewRequest("GET", "/v1/flags", nil)
		r.Header.Set(requestid.Header, sent)
		router.New(routes, notFound).ServeHTTP(httptest.NewRecorder(), r)
		if !strings.Contains(log.String(), want) {
			t.Errorf("sent %q: %s, want %s", sent, log.String(), want)
		}
	}
}

// TestLabelsAreFew, whatever is sent, and nothing that is sent is one.
func TestLabelsAreFew(t *testing.T) {
	var log bytes.Buffer
	m, h := watched(t, &log)
	for i := range 1000 {
		for _, path := range []string{"/api/v2/configs/eval-with-context/hunter2%d", "/v1/flags/hunter2-%d", "/hunter2/%d?token=hunter2", "//hunter2/../%d"} {
			r := httptest.NewRequest("GET", fmt.Sprintf(path, i), nil)
			r.Method = fmt.Sprint("HUNTER2", i)
			r.Header.Set("Authorization", "Bearer hunter2")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	text := numbers(m)
	for _, line := range []string{
		`svc_http_requests_total{route="/api/v2/configs/eval-with-context/",status="200"} 1000`,
		`svc_http_requests_total{route="/v1/flags/{key}",status="201"} 1000`,
		`svc_http_requests_total{route="other",status="404"} 2000`,
		`svc_polls_total{status="200"} 1000`,
		`svc_http_request_duration_seconds_count{route="other"} 2000`,
		`svc_http_request_duration_seconds_bucket{route="other",le="+Inf"} 2000`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	if n := strings.Count(text, "svc_"); n > 60 {
		t.Errorf("%d numbers", n)
	}
	if strings.Contains(strings.ToLower(text+log.String()), "hunter2") {
		t.Error("something that was sent is shown")
	}
	if n := strings.Count(log.String(), "msg=request"); n != 4000 {
		t.Errorf("%d requests are logged", n)
	}
}

// TestStreamsTakeTheirConnectionsOver, beside many who count.
func TestStreamsTakeTheirConnectionsOver(t *testing.T) {
	m, h := watched(t, io.Discard)
	m.Gauge("svc_some", "Some.", nil, func() float64 { return 7 })
	count := m.Counter("svc_more_total", "More.")
	// A request is counted when its handler is done, which may be after its
	// answer has come.
	var handlers, all sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	// Every request has a connection of its own: on one that was used before,
	// a GET that nothing answers is sent a second time, and counted twice.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 {
		all.Go(func() {
			answer, err := client.Get(server.URL + "/stream")
			if err != nil || answer.StatusCode != 200 {
				t.Error(answer, err)
				return
			}
			answer.Body.Close()
			count()
		})
	}
	all.Wait()
	if _, err := client.Get(server.URL + "/gives/up"); err == nil {
		t.Error("a handler that gives up has answered")
	}
	handlers.Wait()
	text := numbers(m)
	for _, line := range []string{"svc_some 7", "svc_more_total 20", `svc_http_requests_total{route="/stream",status="200"} 20`, `svc_http_requests_total{route="/gives/up",status="500"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing:\n%s", line, text)
		}
	}
	var none *Monitor
	none.Counter("x", "")()
	none.Gauge("x", "", nil, nil)
	if routes, notFound := none.Routes(nil, h); routes != nil || notFound == nil {
		t.Error("a Monitor that counts nothing changes routes")
	}
}
