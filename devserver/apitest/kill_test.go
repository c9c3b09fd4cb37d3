package apitest

import (
	"testing"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

const clients = 16

// operations is how many requests each client sends.
func operations() int {
	if testing.Short() {
		return 16
	}
	return 36
}

// TestManyClientsSeeOneOrderAcrossKills kills the server under the clients again and
// again. Writes that it had not answered may have happened or not.
func TestManyClientsSeeOneOrderAcrossKills(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, apiload.Fixture(), clients)
	git := gitIn(t, w.repository())
	port, seed, kills := freeport.Take(), apiload.Seed(t), 12
	if testing.Short() {
		kills = 3
	}
	p := launch(t, svcbinary.Watched, w, port)
	l := apiload.New(t, p.base)
	ctx := background(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx, seed, w.keys, operations())
	}()
	r, total := apiload.Random(seed, clients), clients*operations()
	for n := range kills {
		if !l.Await(total*(n+1)/(kills+1)+r.IntN(total/(2*kills)), ended) {
			t.Fatalf("the load ended before kill %d", n+1)
		}
		p.kill(t)
		p = launch(t, svcbinary.Watched, w, port)
	}
	<-ended
	l.ReportRich(t)
	l.JudgeAll(t, git).Demand(t)
	git.Agrees(t, l.Client, p.base, w.keys[0], apiload.Items...)
	p.stop(t)
}
