package apitest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/faultproxy"
)

// manyWrites is how many acknowledged commits the full run has at least.
const manyWrites = 500

// outages come one after the other: the table is overloaded, the bucket is not
// there, and what was written to the table is not confirmed, however often.
var outages = []outage{{0, faultproxy.Throttle, ""}, {1, faultproxy.Unavailable, ""}, {0, faultproxy.LostAnswer, "TransactWriteItems"}}

const (
	// instances is how many of the service there are. A single one lets its own
	// writers take turns, so that they never race at the table.
	instances = 4
	writers   = 16
)

// usual are the faults that there are all the time.
func usual() faultproxy.Rates {
	rates := faultproxy.Everything(0.008)
	rates[faultproxy.Partial] = 0.04 // few requests are batches
	return rates
}

// TestFaultsAndKills: whatever goes wrong between the instances and the stores,
// and whenever an instance dies, no acknowledged write is lost, none is there
// twice, nothing is visible that nobody wrote, and all clients see one order.
func TestFaultsAndKills(t *testing.T) {
	h := create(t, apiload.Fixture(), writers)
	seed := apiload.Seed(t)
	f := start(t, h, seed, usual(), each(400, 800))
	l := apiload.New(t, f.server.URL)
	ctx, stop := context.WithCancel(background(t))
	compacted := make(chan int)
	go func() { compacted <- h.compact(ctx, t) }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx, seed, h.keys, each(36, 300))
	}()
	for i, o := range outages {
		l.Await(writers*each(36, 300)*(i+1)/(len(outages)+1), ended)
		f.suffer(o, ended)
	}
	<-ended
	stop()
	f.mend()
	merged := <-compacted
	counts := l.Report(t)
	f.tell(merged)
	if n := counts["commits"]; full() && n < manyWrites {
		t.Errorf("%d acknowledged commits, want at least %d", n, manyWrites)
	}
	if counts["commits"] == 0 || counts["no answer"] == 0 || counts["503"] == 0 {
		t.Error("hardly anything went wrong")
	}
	g := h.copied(t)
	l.JudgeAll(t, g).Demand(t)
	l.Honest(t)
	h.sound(t, g, l.Client, f.server.URL)
}

// compact merges packs again and again while others write.
func (h *service) compact(ctx context.Context, t *testing.T) (merged int) {
	for ctx.Err() == nil {
		done, err := h.workspace.Compact(ctx, admin.Compacting{From: 20})
		if err != nil && ctx.Err() == nil && !errors.Is(err, repository.ErrBusy) {
			t.Errorf("compact: %v", err)
			return merged
		}
		merged += done.Merged
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return merged
}

// tell logs what the run was like.
func (f *fleet) tell(merged int) {
	f.Helper()
	counts := f.counts()
	f.Logf("%v; %d answers of 503", counts, f.refused.Load())
	f.lock.Lock()
	defer f.lock.Unlock()
	total, kinds := 0, []string{}
	for _, what := range slices.Sorted(maps.Keys(f.kills)) {
		total += f.kills[what]
		kinds = append(kinds, fmt.Sprint(f.kills[what], " ", what))
	}
	f.Logf("%d instances killed: %s; %d packs merged meanwhile", total, strings.Join(kinds, ", "), merged)
	if full() && len(counts.Injected) < len(usual()) || len(counts.Injected) < len(usual())/2 || total < instances {
		f.Errorf("only %d kinds of fault were injected, and %d instances killed", len(counts.Injected), total)
	}
}
