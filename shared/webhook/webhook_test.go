package webhook_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/database"
	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
	tabledynamo "svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/webhook"
)

// counted counts requests to a table, and ends some of them early.
type counted struct {
	table.Table
	n    int
	kill func(n int, done bool) bool // whether the process is killed before or after a write
}

var errKilled = errors.New("killed")

func (c *counted) Query(ctx context.Context, q table.Query, each func(table.Row) (bool, error)) error {
	c.n++
	return c.Table.Query(ctx, q, each)
}

func (c *counted) write(work func() error) error {
	c.n++
	if c.kill != nil && c.kill(c.n, false) {
		return errKilled
	}
	err := work()
	if c.kill != nil && c.kill(c.n, true) {
		return errKilled
	}
	return err
}

func (c *counted) Transact(ctx context.Context, w ...table.Write) error {
	return c.write(func() error { return c.Table.Transact(ctx, w...) })
}

func (c *counted) Update(ctx context.Context, w table.Write) (a table.Attributes, err error) {
	err = c.write(func() error { a, err = c.Table.Update(ctx, w); return err })
	return a, err
}

// events is a source that tests fill.
type events struct {
	mu  sync.Mutex
	all []webhook.Event
}

func (e *events) After(_ context.Context, _ *webhook.Webhook, position string) ([]webhook.Event, string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, _ := strconv.Atoi(position)
	end := min(at+3, len(e.all)) // in pages
	return e.all[at:end], strconv.Itoa(max(at, end)), nil
}

func (e *events) add(items ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.all) + 1
	e.all = append(e.all, webhook.Event{Kind: webhook.KindRequest, ID: fmt.Sprint("request/", n), At: time.Unix(int64(n), 0).UTC(), Items: items,
		Title: fmt.Sprint("event ", n), Lines: []string{"of " + strings.Join(items, ", ")}, Link: "#/requests/1", Position: strconv.Itoa(n), Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
}

// got is a request that a receiver got.
type got struct {
	id, signature, timestamp string
	body                     string
	n                        int
	previousParked           bool
}

// world is a workspace with one webhook, its receiver, and a clock.
type world struct {
	*testing.T
	rows    *counted
	clock   time.Time
	events  *events
	sender  *webhook.Sender
	manager *webhook.Manager
	trail   []access.Change
	hook    *webhook.Registered
	secret  string

	mu     sync.Mutex
	got    []got
	answer func(g got, w http.ResponseWriter)
}

// registry keeps nothing but what it is told.
type registry struct {
	w     *world
	state access.State
}

func (r *registry) Load(context.Context) (access.State, error) { return r.state, nil }
func (r *registry) Update(_ context.Context, edit func(access.State) (access.State, access.Entry, error)) error {
	s, e, err := edit(r.state)
	if err == nil {
		r.state = s
		r.w.trail = append(r.w.trail, e.Changes...)
	}
	return err
}
func (r *registry) Trail(context.Context, int) ([]access.Entry, error) { return nil, nil }
func (r *registry) Uses(context.Context) (map[access.ID]string, error) { return nil, nil }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func newWorld(t *testing.T, rows table.Table, form string) *world {
	t.Helper()
	w := &world{T: t, rows: &counted{Table: rows}, clock: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC), events: &events{}}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		g := got{id: r.Header.Get("Webhook-Id"), signature: r.Header.Get("Webhook-Signature"), timestamp: r.Header.Get("Webhook-Timestamp"), body: string(body)}
		var sent struct {
			PreviousParked bool `json:"previousParked"`
			Data           struct{ N int }
		}
		_ = json.Unmarshal(body, &sent)
		g.n, g.previousParked = sent.Data.N, sent.PreviousParked
		w.mu.Lock()
		w.got = append(w.got, g)
		answer := w.answer
		w.mu.Unlock()
		if answer != nil {
			answer(g, out)
		}
	}))
	t.Cleanup(server.Close)
	w.sender = &webhook.Sender{Table: w.rows, Client: webhook.Client(loopback, nil), PublicURL: "https://flags.example.com", Now: func() time.Time { return w.clock },
		Logger: slog.New(slog.DiscardHandler),
		Sources: func(context.Context, string) (map[string]webhook.Source, error) {
			return map[string]webhook.Source{webhook.SourceRequests: w.events}, nil
		}}
	w.manager = &webhook.Manager{Sender: w.sender, Workspace: "w", Registry: access.NewRegistry(&registry{w: w}, rand.Reader, w.sender.Now).By("Ada"),
		Head: func(context.Context) (webhook.Position, error) { return webhook.Position{}, nil }}
	name, address, kinds := "receiver", server.URL+"/hook/secret-path", []string{webhook.KindRequest}
	hook, secret, err := w.manager.Create(t.Context(), webhook.Edit{Name: &name, Address: &address, Kinds: &kinds, Form: &form})
	must.Do(t, err)
	w.hook, w.secret = hook, secret
	return w
}

// send gives the webhook its turn, and moves the clock on until nothing waits or the time is over.
func (w *world) send(during time.Duration) {
	w.Helper()
	for end := w.clock.Add(during); ; {
		due, err := w.sender.Send(w.Context(), "w", w.hook.ID)
		must.Do(w.T, err)
		if due.IsZero() || due.After(end) {
			return
		}
		if due.After(w.clock) {
			w.clock = due
		}
	}
}

func (w *world) numbers() (all []int) {
	for _, g := range w.got {
		all = append(all, g.n)
	}
	return all
}

func (w *world) found() *webhook.Registered {
	w.Helper()
	return must.Get(w.manager.Find(w.Context(), w.hook.ID))(w.T)
}

// refusing answers 500 to some.
func refusing(which func(g got) bool) func(got, http.ResponseWriter) {
	return func(g got, w http.ResponseWriter) {
		if which(g) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(strings.Repeat("sorry ", 1000)))
		}
	}
}

// tables are the stores, each of which must do the same.
func tables(t *testing.T, run func(t *testing.T, rows table.Table)) {
	t.Run("bolt", func(t *testing.T) { run(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db")))) })
	t.Run("dynamo", func(t *testing.T) {
		client := standin.DynamoDBClient(t)
		name := standin.Table(t, client)
		must.Do(t, dynamo.New(client, name, table.ErrBusy).Create(t.Context()))
		run(t, tabledynamo.New(client, name))
	})
}

func TestWhatHappensIsTold(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		w := newWorld(t, rows, webhook.FormStandard)
		for range 7 {
			w.events.add("a")
		}
		w.rows.n = 0
		w.send(0)
		if got := w.numbers(); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("got %v", got)
		}
		if w.rows.n > 1+7+1 {
			t.Errorf("7 deliveries take %d requests", w.rows.n)
		}
		w.rows.n = 0
		if w.send(0); w.rows.n != 1 || len(w.got) != 7 {
			t.Errorf("nothing to tell takes %d requests; %d were sent", w.rows.n, len(w.got))
		}
		g := w.got[0]
		if want := `{"type":"request","timestamp":"1970-01-01T00:00:01Z","workspaceId":"w","link":"https://flags.example.com/console/#/requests/1","previousParked":false,"data":{"n":1}}`; g.body != want {
			t.Errorf("sent %s, want %s", g.body, want)
		}
		if last := w.found().Last; last == nil || last.Status != 200 || last.Problem != "" {
			t.Errorf("last: %+v", last)
		}
	})
}

// TestAnItemThatWaitsHoldsUpNoOther, and is told in order.
func TestAnItemThatWaitsHoldsUpNoOther(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		w := newWorld(t, rows, webhook.FormStandard)
		down := true
		w.answer = refusing(func(g got) bool { return down && g.n == 1 })
		w.events.add("a")
		w.events.add("b")
		w.events.add("a", "c")
		w.events.add("c")
		w.events.add("b")
		w.send(0)
		if got := w.numbers(); !slices.Equal(got, []int{1, 2, 5}) {
			t.Fatalf("got %v", got)
		}
		hook := w.found()
		if len(hook.Waiting) != 3 || hook.Waiting[0].Attempts != 1 || hook.Waiting[1].Attempts != 0 || len(hook.Waiting[0].Last.Answer) != 1<<10 {
			t.Fatalf("waiting: %+v", hook.Waiting)
		}
		down = false
		w.send(time.Minute)
		if got := w.numbers(); !slices.Equal(got, []int{1, 2, 5, 1, 3, 4}) {
			t.Errorf("got %v", got)
		}
		if w.got[0].id != w.got[3].id || w.got[0].id == w.got[1].id {
			t.Errorf("a repeat has another id: %v", w.got)
		}
		if hook := w.found(); len(hook.Waiting)+len(hook.Parked) != 0 {
			t.Errorf("left: %+v", hook)
		}
	})
}

// TestADayOfErrors: growing waits for 24 hours, then it is given up and shown, and what
// comes later goes on and says so.
func TestADayOfErrors(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		w := newWorld(t, rows, webhook.FormStandard)
		bad := true
		w.answer = refusing(func(g got) bool { return bad && g.n == 1 })
		w.events.add("a")
		w.events.add("a")
		var at []time.Time
		begin := w.clock
		for len(w.found().Parked) == 0 {
			due, err := w.sender.Send(t.Context(), "w", w.hook.ID)
			must.Do(t, err)
			at = append(at, w.clock)
			if due.IsZero() {
				break
			}
			w.clock = due
		}
		if end := at[len(at)-1].Sub(begin); end != 24*time.Hour || len(at) < 12 || len(at) > 24 {
			t.Errorf("%d attempts, the last after %s", len(at), end)
		}
		for i := 2; i < len(at)-1; i++ {
			if wait := at[i].Sub(at[i-1]); wait < time.Duration(1<<(i-1))*10*time.Second/2 && wait < 3*time.Hour {
				t.Errorf("wait %d is %s", i, wait)
			}
		}
		hook := w.found()
		if len(hook.Parked) != 1 || len(hook.Waiting) != 0 || hook.Parked[0].Last.Status != 500 {
			t.Fatalf("parked: %+v, waiting %+v", hook.Parked, hook.Waiting)
		}
		last := w.got[len(w.got)-1]
		if last.n != 2 || !last.previousParked {
			t.Errorf("what comes later: %+v", last)
		}
		w.events.add("b")
		w.send(0)
		if last := w.got[len(w.got)-1]; last.n != 3 || last.previousParked {
			t.Errorf("another item: %+v", last)
		}
		id := hook.Parked[0].ID
		if a := must.Get(w.manager.Redeliver(t.Context(), w.hook.ID, id))(t); a.Problem != "the answer is 500" || len(w.found().Parked) != 1 {
			t.Errorf("redelivered in vain: %+v", a)
		}
		bad = false
		if a := must.Get(w.manager.Redeliver(t.Context(), w.hook.ID, id))(t); a.Problem != "" || a.ID != id || len(w.found().Parked) != 0 {
			t.Errorf("redelivered: %+v", a)
		}
		if _, err := w.manager.Redeliver(t.Context(), w.hook.ID, id); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("once more: %v", err)
		}
		w.events.add("a")
		w.send(0)
		if last := w.got[len(w.got)-1]; last.previousParked {
			t.Error("it was delivered after all, and is missed still")
		}
	})
}

// TestMoreThanThereIsRoomFor waits where it is, and comes in order.
func TestMoreThanThereIsRoomFor(t *testing.T) {
	w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), webhook.FormStandard)
	down := true
	w.answer = refusing(func(got) bool { return down })
	for i := range 120 {
		w.events.add(fmt.Sprint("item ", i%40))
	}
	w.send(time.Minute)
	if n := len(w.found().Waiting); n != 50 {
		t.Errorf("%d wait in rows", n)
	}
	down = false
	w.mu.Lock()
	w.got = nil
	w.mu.Unlock()
	w.send(20 * time.Hour)
	for n := 1; n <= 120; n++ {
		if !slices.Contains(w.numbers(), n) {
			t.Errorf("%d is lost", n)
		}
	}
	last := map[int]int{}
	for _, n := range w.numbers() {
		if item := (n - 1) % 40; n < last[item] {
			t.Errorf("%d comes after %d", n, last[item])
		} else {
			last[item] = n
		}
	}
}

// TestKilledAtEveryStep: none is lost, repeats have the same id, an item's order stays.
func TestKilledAtEveryStep(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		kills := 0
		defer func() {
			if kills < 20 {
				t.Errorf("killed %d times", kills)
			}
		}()
		for step := 1; step < 20; step++ {
			for _, after := range []bool{false, true} {
				w := newWorld(t, rows, webhook.FormStandard)
				bad := true
				w.answer = refusing(func(g got) bool { return bad && (g.n == 2 || g.n == 5) })
				for i := range 6 {
					w.events.add(fmt.Sprint("item ", i%2))
				}
				begun := w.rows.n
				w.rows.kill = func(n int, done bool) bool { return n == begun+step && done == after }
				for range 20 {
					due, err := w.sender.Send(t.Context(), "w", w.hook.ID)
					if errors.Is(err, errKilled) {
						kills++
						w.rows.kill = nil
						continue
					}
					must.Do(t, err)
					if w.clock = w.clock.Add(time.Minute); due.IsZero() {
						break
					}
					bad = false
				}
				ids, seen := map[int]string{}, map[int]int{}
				for _, g := range w.got {
					if id := ids[g.n]; id != "" && id != g.id {
						t.Fatalf("step %d: %d has two ids", step, g.n)
					}
					ids[g.n] = g.id
					if item := g.n % 2; g.n < seen[item] {
						t.Fatalf("step %d: %d after %d", step, g.n, seen[item])
					} else {
						seen[item] = g.n
					}
				}
				if len(ids) != 6 || len(w.found().Waiting) != 0 {
					t.Fatalf("step %d, after %t: %d of 6 arrived: %v", step, after, len(ids), w.numbers())
				}
				w.rows.kill = nil
				must.Do(t, w.manager.Delete(t.Context(), w.hook.ID))
			}
		}
	})
}

// TestOneAtATime tells a webhook, where several processes could.
func TestOneAtATime(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		w := newWorld(t, rows, webhook.FormStandard)
		w.sender.Turn = "one"
		other := *w.sender
		other.Turn = "other"
		busy := time.Time{}
		w.answer = func(got, http.ResponseWriter) {
			busy = must.Get(other.Send(t.Context(), "w", w.hook.ID))(t)
		}
		w.events.add("a")
		w.send(0)
		if len(w.got) != 1 || busy.IsZero() {
			t.Errorf("%d were sent, the other waits until %s", len(w.got), busy)
		}
		w.answer = nil
		w.events.add("a")
		if due := must.Get(other.Send(t.Context(), "w", w.hook.ID))(t); !due.IsZero() || len(w.got) != 2 {
			t.Errorf("%d were sent, due %s", len(w.got), due)
		}
		// One that was killed holds its turn for a while.
		w.rows.kill = func(n int, done bool) bool { return true }
		_, _ = w.sender.Send(t.Context(), "w", w.hook.ID)
		w.rows.kill = nil
		w.events.add("a")
		w.clock = w.clock.Add(2 * time.Minute)
		must.Get(other.Send(t.Context(), "w", w.hook.ID))(t)
		if len(w.got) != 3 {
			t.Errorf("%d were sent after a kill", len(w.got))
		}
	})
}

// TestNothingSecretIsLeft in rows, answers and the trail.
func TestNothingSecretIsLeft(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		w := newWorld(t, rows, webhook.FormStandard)
		w.answer = refusing(func(got) bool { return true })
		w.events.add("a")
		w.send(25 * time.Hour)
		_, second, err := w.manager.Rotate(t.Context(), w.hook.ID, time.Hour, "")
		must.Do(t, err)
		if second == w.secret || !strings.HasPrefix(second, "whsec_") {
			t.Errorf("the second secret is %s", second)
		}
		all := fmt.Sprintf("%+v %+v", w.found(), w.trail)
		must.Do(t, rows.Scan(t.Context(), "webhook/", func(row table.Row) error {
			all += string(table.Encode(row.Attributes)) + row.Sort
			for _, v := range row.Attributes {
				all += fmt.Sprint(v)
			}
			return nil
		}))
		for _, secret := range []string{w.secret, second, strings.TrimPrefix(w.secret, "whsec_"), "secret-path"} {
			if strings.Contains(all, secret) {
				t.Errorf("%s is there: %s", secret, all)
			}
		}
	})
}

// TestAKindThatIsAdded is told from then on, and not what happened before.
func TestAKindThatIsAdded(t *testing.T) {
	w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), webhook.FormStandard)
	now := webhook.Position{}
	w.manager.Head = func(context.Context) (webhook.Position, error) { return now, nil }
	audit := &events{}
	sources := w.sender.Sources
	w.sender.Sources = func(ctx context.Context, workspace string) (map[string]webhook.Source, error) {
		all, err := sources(ctx, workspace)
		all[webhook.SourceAudit] = audit
		return all, err
	}
	for n := range 3 {
		audit.add("key")
		if now.Access = int64(n + 1); n == 1 {
			kinds := []string{webhook.KindRequest, webhook.KindAudit}
			must.Get(w.manager.Change(t.Context(), w.hook.ID, webhook.Edit{Kinds: &kinds}))(t)
		}
		w.send(0)
	}
	if got := w.numbers(); !slices.Equal(got, []int{3}) {
		t.Errorf("got %v", got)
	}
}

// TestRotation: both secrets sign for a while.
func TestRotation(t *testing.T) {
	w := newWorld(t, bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), webhook.FormStandard)
	_, _, err := w.manager.Rotate(t.Context(), w.hook.ID, time.Hour, "")
	must.Do(t, err)
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{0, 2}, {time.Hour, 1}} {
		w.clock = w.clock.Add(c.later)
		w.events.add("a")
		w.send(0)
		if got := strings.Fields(w.got[len(w.got)-1].signature); len(got) != c.want {
			t.Errorf("after %s: %d signatures", c.later, len(got))
		}
	}
}

// TestABackup has the webhooks without what opens them: restored they are silent.
func TestABackup(t *testing.T) {
	tables(t, func(t *testing.T, rows table.Table) {
		w := newWorld(t, rows, webhook.FormStandard)
		w.events.add("a")
		var archive strings.Builder
		n, err := webhook.Store{Table: rows, Workspace: "w"}.Archive(t.Context(), &archive)
		if err != nil || n != 1 || strings.Contains(archive.String(), "secret-path") || strings.Contains(archive.String(), "sealed") {
			t.Fatalf("%d webhooks, %v: %s", n, err, &archive)
		}
		restored := webhook.Store{Table: bolt.New(database.New(filepath.Join(t.TempDir(), "other.db"))), Workspace: "w"}
		must.Do(t, restored.Restore(t.Context(), strings.NewReader(archive.String())))
		w.sender.Table = restored.Table
		if w.send(time.Hour); len(w.got) != 0 || !w.found().Silent {
			t.Errorf("a restored webhook sends %d", len(w.got))
		}
		if _, err := w.manager.Test(t.Context(), w.hook.ID); !errors.Is(err, webhook.ErrWrong) {
			t.Errorf("a test: %v", err)
		}
		if _, _, err := w.manager.Rotate(t.Context(), w.hook.ID, 0, ""); !errors.Is(err, webhook.ErrWrong) {
			t.Errorf("without an address: %v", err)
		}
	})
	if err := (webhook.Store{}).Restore(t.Context(), strings.NewReader(`{"id":"x"}`)); err == nil {
		t.Error("what is no webhook is restored")
	}
}
