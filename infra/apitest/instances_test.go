package apitest

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/testing/apiload"
)

const (
	// instances is how many of the service there are. A single one lets its own
	// writers take turns, so that they never race at the table.
	instances = 4
	writers   = 16
)

// harm breaks what a function's clients are told; nil breaks nothing.
type harm func(*middleware.Stack) error

// serveInstances serves a workspace by several instances at one address, each
// request by any of them.
func (h *service) serveInstances(t *testing.T, broken harm) (base string) {
	t.Helper()
	handlers := h.instances(t, broken)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[rand.IntN(instances)].ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (h *service) instances(t *testing.T, broken harm) (handlers []http.Handler) {
	t.Helper()
	j := h.newJudge(t)
	for range instances {
		handler, err := h.New(background(t), func(function string, c *aws.Config) {
			j.watch(function, c)
			if broken != nil {
				c.APIOptions = append(c.APIOptions, broken)
			}
		}, slog.New(slog.DiscardHandler))
		must(t, err)
		handlers = append(handlers, handler)
	}
	return handlers
}

// each is how many operations a client sends.
func each(short, long int) int {
	if full() {
		return long
	}
	return short
}

// TestOneOfIdenticalRequestsWins: the same principal, token and content in the
// same second make commits that differ in nothing but who made them.
func TestOneOfIdenticalRequestsWins(t *testing.T) {
	h := create(t, apiload.Fixture(), 1)
	var bases []string
	for _, handler := range h.instances(t, nil) {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		bases = append(bases, server.URL)
	}
	apiload.OneWinner(t, apiload.NewHTTPClient(t), bases, h.keys[0], each(30, 300))
}

func TestManyClientsOfManyInstancesSeeOneOrder(t *testing.T) {
	h := create(t, apiload.Fixture(), writers)
	base := h.serveInstances(t, nil)
	l := apiload.New(t, base)
	l.Run(background(t), apiload.Seed(t), h.keys, each(24, 60))
	l.ReportRich(t)
	g := h.copied(t)
	l.JudgeAll(t, g).Demand(t)
	h.sound(t, g, l.Client, base)
}
