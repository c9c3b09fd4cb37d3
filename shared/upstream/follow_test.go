package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/endpoints"
)

// service answers in this process: streams that it says to come back to after 5 s, or none.
type service struct {
	streams       bool
	polls, opened int
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: r}
	switch {
	case r.URL.Path == endpoints.Documents.Path:
		s.polls++
		answer.StatusCode = http.StatusOK
	case s.streams:
		s.opened++
		answer.StatusCode = http.StatusOK
		answer.Header.Set("Content-Type", "text/event-stream")
		answer.Body = io.NopCloser(strings.NewReader("retry: 5000\n\n"))
	}
	return answer, nil
}

// receiver notes why there are no streams.
type receiver struct{ why string }

func (*receiver) Version() string              { return "" }
func (*receiver) Take([]byte) error            { return nil }
func (*receiver) Confirm()                     {}
func (*receiver) Failed(error)                 {}
func (r *receiver) Streams(_ bool, why string) { r.why += why }

// TestACutStreamLeavesNobodyBehind: until it is back, the service is asked as often as
// without one.
func TestACutStreamLeavesNobodyBehind(t *testing.T) {
	for _, tt := range []struct {
		every                        time.Duration
		streams                      bool
		polls, mostPolls, mostOpened int
		why                          string
	}{
		{time.Second, true, 54, 68, 14, ""},
		{time.Minute, true, 10, 15, 15, ""},
		{time.Second, false, 54, 68, 0, "the service has no event streams (404)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, to := &service{streams: tt.streams}, &receiver{}
			f := Follower{Connection: Connect("http://service.example", "svc_sk_test", &http.Client{Transport: s}), To: to, PollEvery: tt.every}
			f.Run(ctx)
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) || s.polls < tt.polls || s.polls > tt.mostPolls || s.opened > tt.mostOpened || !strings.HasPrefix(to.why, tt.why) {
				t.Errorf("%+v: in a minute %d polls and %d streams, as %q", tt, s.polls, s.opened, to.why)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := func(why string) error { return &LoadError{Err: errors.New(why)} }
		var h Health
		for i, tt := range []struct {
			err  error // nil when all is well
			news bool
		}{
			{nil, false}, {away("read 127.0.0.1:1: reset"), true}, {away("read 127.0.0.1:2: reset"), false}, {errors.New("x"), true},
			{errors.New("y"), true}, {errors.New("x"), true}, {errors.New("x"), false}, {nil, true}, {nil, false}, {errors.New("x"), true},
		} {
			if news := tt.err == nil && h.Good() || tt.err != nil && h.Bad(tt.err); news != tt.news {
				t.Errorf("%d: %v: %v", i, tt.err, news)
			}
		}
		time.Sleep(time.Minute)
		if !h.Bad(errors.New("x")) {
			t.Error("the same one is not said again after a while")
		}
	})
}
