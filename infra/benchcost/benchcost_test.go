package main

import (
	"context"
	"errors"
	"math"
	"testing"

	"svc.example/svc/infra/standin"
	"svc.example/svc/shared/needs"
)

func TestPrices(t *testing.T) {
	got := priceOf(usage{rounds: 3, readUnits: 3, writeUnits: 8, puts: 2, gets: 1})
	// The time: 3 + 3*12 ms of a quarter GB.
	want := price{gateway: 1.00, function: 0.20 + 0.039*0.25*13.3334, table: 3*0.125 + 8*0.625, bucket: 2*5 + 0.4}
	if math.Abs(1e6*got.total()-want.total()) > 0.001 {
		t.Errorf("%.4f dollars a million, want %.4f", 1e6*got.total(), want.total())
	}
}

// TestBothWaysAreMeasured: that there are figures, and which is dearer.
func TestBothWaysAreMeasured(t *testing.T) {
	ctx := context.Background()
	s, err := open(ctx, 12)
	if errors.Is(err, standin.ErrMissing) {
		needs.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := s.measure(ctx, 15)
	if err != nil {
		t.Fatal(err)
	}
	n, err := newNaive(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := n.measure(15)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]usage{}
	for _, r := range ours {
		found[r.what] = r.usage
		if r.usage.requests() == 0 || r.usage.readUnits == 0 || r.usage.received == 0 {
			t.Errorf("%s took %+v", r.what, r.usage)
		}
	}
	if w := found[aWrite]; w.puts < 2 || w.writeUnits < 2 || found[aPoll].requests() != 1 {
		t.Errorf("a write took %+v, a poll %+v", w, found[aPoll])
	}
	for _, r := range theirs {
		if priceOf(r.usage).total() <= priceOf(found[r.what]).total() {
			t.Errorf("the naive way is cheaper for %s: %+v, ours is %+v", r.what, r.usage, found[r.what])
		}
	}
}
