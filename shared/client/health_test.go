package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/testing/freeport"
)

// roundTrip stands in for a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// failing is a network in which every request ends with an error.
func failing(err error) *http.Client {
	return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })}
}

// nobody is an address at which nobody listens.
func nobody() string { return "http://127.0.0.1:" + freeport.Take() }

func TestALoadErrorCarriesTheLastCause(t *testing.T) {
	short := Options{URL: nobody(), Key: sdkKey, FirstLoad: 300 * time.Millisecond}
	dns := &net.DNSError{Err: "no such host", Name: "flags.invalid", IsNotFound: true}
	noName, patient := short, short
	noName.HTTP = failing(&net.OpError{Op: "dial", Net: "tcp", Err: dns})
	patient.FirstLoad = time.Hour

	for _, tt := range []struct {
		what  string
		limit time.Duration // of the caller
		o     Options
		words string
		is    []error
	}{
		{"nobody listens", time.Hour, short, "no state within 300ms: dial tcp", []error{syscall.ECONNREFUSED}},
		{"no such host", time.Hour, noName, "no state within 300ms: dial tcp: lookup flags.invalid: no such host", []error{dns}},
		{"the caller's deadline", 300 * time.Millisecond, patient, "context deadline exceeded: dial tcp", []error{context.DeadlineExceeded, syscall.ECONNREFUSED}},
	} {
		tt.o.Log = slog.New(slog.DiscardHandler)
		ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
		defer cancel()
		_, err := Open(ctx, tt.o)
		var load *LoadError
		if !errors.As(err, &load) || load.From != tt.o.URL || load.Status != 0 || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v", tt.what, err)
		}
		if strings.Count(fmt.Sprint(err), "svc: ") != 1 {
			t.Errorf("%s: said twice: %v", tt.what, err)
		}
		for _, target := range tt.is {
			if !errors.Is(err, target) {
				t.Errorf("%s: %v is not %v", tt.what, err, target)
			}
		}
	}
}

func TestALoadErrorCarriesTheServersWords(t *testing.T) {
	s := newServer(t)
	s.reply(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		fmt.Fprint(w, `{"error":"UNAVAILABLE","message":"the workspace is being moved"}`)
	})
	o := s.options()
	o.FirstLoad = 300 * time.Millisecond
	o.Log = slog.New(slog.DiscardHandler)
	_, err := Open(t.Context(), o)
	var load *LoadError
	if !errors.As(err, &load) || load.Status != 503 || !strings.Contains(err.Error(), "no state within 300ms: 503: the workspace is being moved") {
		t.Errorf("%v", err)
	}
	var j journal
	o.StartAnyway, o.Log = true, j.log()
	open(t, o)
	if !strings.Contains(j.String(), "serving defaults") || j.count("the workspace is being moved") != 2 {
		t.Errorf("log:\n%s", j.String())
	}
}

// TestEveryChangeOfHowAServiceStandsIsLogged: a failure, another one, good
// again; and the same one over and over once.
func TestEveryChangeOfHowAServiceStandsIsLogged(t *testing.T) {
	var j journal
	s := newServer(t, switched("true"))
	o := s.options()
	o.Log = j.log()
	c := open(t, o)
	const complaint, recovered = "will go on trying", "good again"
	fails := func(status, failures int) {
		t.Helper()
		s.reply(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		})
		eventually(t, "a failure", func() bool { return j.count(complaint) == failures })
	}
	recovers := func(times int) {
		t.Helper()
		s.reply(nil)
		eventually(t, "good again", func() bool { return j.count(recovered) == times })
		for polls := s.polls.Load(); s.polls.Load() < polls+3; {
			time.Sleep(time.Millisecond)
		}
	}
	fails(500, 1)
	fails(401, 2)
	recovers(1)
	fails(401, 3) // as before, but it was good meanwhile
	s.set("v2", switched("false"))
	recovers(2) // with a new state
	if c.Close(); j.count(complaint) != 3 || j.count(recovered) != 2 || j.count("500: Internal") != 1 || j.count("401: Unauthorized") != 2 {
		t.Errorf("log:\n%s", j.String())
	}
}

func TestAKeyAndAnAddressAsTheyAreCopied(t *testing.T) {
	s := newServer(t, switched("true"))
	for _, suffix := range []string{"", "/", "/v1", "/v1/", "/v1//"} {
		o := s.options()
		o.URL += suffix
		o.Key = "\n\t " + o.Key + " \r\n"
		if c := open(t, o); !c.Bool(t.Context(), "f", false) {
			t.Errorf("%q is not served", suffix)
		}
	}
	for address, want := range map[string]string{
		"https://x/flags/v1": "https://x/flags", "https://x/v1/": "https://x", "https://v1": "https://v1", "https://v1/": "https://v1/",
		"https://x/v1/flags": "https://x/v1/flags", "https://x/av1": "https://x/av1", "": "", "%": "%",
	} {
		if got := (Options{URL: address}).tidied().URL; got != want {
			t.Errorf("%s is taken for %s", address, got)
		}
	}
	if _, err := Open(t.Context(), Options{URL: s.URL, Key: " \n"}); err == nil || !strings.Contains(err.Error(), "Options.Key is missing") {
		t.Errorf("a key of white space: %v", err)
	}
}
