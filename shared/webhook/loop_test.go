package webhook_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/webhook"
)

// asked counts what a loop asks the table for.
type asked struct {
	table.Table
	n atomic.Int64
}

func (a *asked) Query(ctx context.Context, q table.Query, each func(table.Row) (bool, error)) error {
	a.n.Add(1)
	return a.Table.Query(ctx, q, each)
}

// looping is a world whose webhook is told by a loop.
type looping struct {
	*world
	rows *asked
	mu   sync.Mutex
	head webhook.Position
	lost error // when the head is asked for
	wake chan struct{}
}

func startLoop(t *testing.T) (l *looping, stop func()) {
	w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), webhook.FormStandard)
	l = &looping{world: w, rows: &asked{Table: w.rows.Table}, head: webhook.Position{Commit: "a", Access: 1}, wake: make(chan struct{})}
	sender := *w.sender
	sender.Table, sender.Now = l.rows, time.Now
	loop := webhook.Loop{Sender: &sender, Workspace: "w", Wake: l.wake, Head: func(context.Context) (webhook.Position, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.head, l.lost
	}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { loop.Run(ctx); close(ended) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return l, stop
}

func (l *looping) move(commit string, version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = webhook.Position{Commit: commit, Access: version}
}

func (l *looping) waits(what string, until func() bool) {
	l.Helper()
	for end := time.Now().Add(30 * time.Second); !until(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			l.Fatal(what)
		}
	}
}

func (l *looping) count() int {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return len(l.got)
}

// TestAnIdleLoopAsksForNothing: it looks at the head alone. Without webhooks a commit costs
// nothing, and with one a query.
func TestAnIdleLoopAsksForNothing(t *testing.T) {
	l, _ := startLoop(t)
	l.waits("the loop begins", func() bool { return l.rows.n.Load() == 2 }) // which there are, and the first turn
	time.Sleep(time.Second)
	if n := l.rows.n.Load(); n != 2 {
		t.Errorf("an idle second takes %d requests", n-2)
	}
	l.move("b", 1)
	l.waits("a commit is looked at", func() bool { return l.rows.n.Load() == 3 })
	must.Do(t, l.manager.Delete(t.Context(), l.hook.ID))
	l.move("b", 2)
	l.waits("a change of webhooks is looked at", func() bool { return l.rows.n.Load() >= 4 })
	before := l.rows.n.Load()
	for _, commit := range []string{"c", "d", "e"} {
		l.move(commit, 2)
		time.Sleep(600 * time.Millisecond)
	}
	if n := l.rows.n.Load(); n != before {
		t.Errorf("commits without webhooks take %d requests", n-before)
	}
}

// TestALoopThatIsWokenLooks, also where the head could not be read just then.
func TestALoopThatIsWokenLooks(t *testing.T) {
	l, _ := startLoop(t)
	l.waits("the loop begins", func() bool { return l.rows.n.Load() == 2 })
	fails := func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lost = err
	}
	fails(errKilled)
	l.events.add("a")
	l.wake <- struct{}{}
	l.wake <- struct{}{} // the first has been looked at
	fails(nil)
	l.waits("what it was woken for is told", func() bool { return l.count() == 1 })
}

// TestALoopEndsWhenWhatItSendsHas, and notes that it was taken.
func TestALoopEndsWhenWhatItSendsHas(t *testing.T) {
	l, stop := startLoop(t)
	begun, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	l.world.mu.Lock()
	l.answer = func(got, http.ResponseWriter) { once.Do(func() { close(begun); <-answer }) }
	l.world.mu.Unlock()
	l.waits("the loop begins", func() bool { return l.rows.n.Load() == 2 })
	l.events.add("a")
	l.wake <- struct{}{}
	<-begun
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	select {
	case <-ended:
		t.Error("it has ended while it sends")
	case <-time.After(200 * time.Millisecond):
	}
	close(answer)
	<-ended
	l.sender.Table = l.rows.Table
	if due := must.Get(l.sender.Send(t.Context(), "w", l.hook.ID))(t); !due.IsZero() || l.count() != 1 {
		t.Errorf("it was sent %d times", l.count())
	}
}
