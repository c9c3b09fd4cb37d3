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

func TestManyClientsSeeOneOrder(t *testing.T) {
	w := newWorkplace(t, apiload.Fixture(), clients)
	gitIn(t, w.repository())
	l := apiload.New(t, within(t, w))
	l.Run(background(t), apiload.Seed(t), w.keys, operations())
	l.ReportRich(t)
	l.JudgeAll(t, gitIn(t, w.repository())).Demand(t)
	gitIn(t, w.repository()).Sound(t)
}

const kills = 3

// TestManyClientsSeeOneOrderAcrossKills kills the server under the clients.
// Writes that it had not answered may have happened or not.
func TestManyClientsSeeOneOrderAcrossKills(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, apiload.Fixture(), clients)
	gitIn(t, w.repository())
	port, seed := freeport.Take(), apiload.Seed(t)
	p := launch(t, svcbinary.Watched, w, port)
	l := apiload.New(t, p.base)
	ctx := background(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx, seed, w.keys, operations())
	}()
	r, total := apiload.Dice(seed, clients), clients*operations()
	for n := 1; n <= kills; n++ {
		if !l.Await(total*n/(kills+1)+r.IntN(total/16), ended) {
			t.Fatalf("the load ended before kill %d", n)
		}
		p.Kill()
		quiet(t, p.Log)
		p = launch(t, svcbinary.Watched, w, port)
	}
	<-ended
	p.stop(t)
	quiet(t, p.Log)
	l.ReportRich(t)
	l.JudgeAll(t, gitIn(t, w.repository())).Demand(t)
	gitIn(t, w.repository()).Sound(t)
}
