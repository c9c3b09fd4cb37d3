package httpapi_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/must"
)

// process is one that ends before or after one of its steps: nothing that it does then is
// done.
type process struct {
	mu    sync.Mutex
	left  int // steps before it ends
	ended bool
	// between is called before and after each step.
	between func()
}

var errEnded = errors.New("the process has ended")

// step does a step, unless the process has ended.
func (p *process) step(do func() error) error {
	alive := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.left--
		p.ended = p.ended || p.left < 0
		return !p.ended
	}
	between := func() {
		if p.between != nil {
			p.between()
		}
	}
	between()
	if !alive() {
		return errEnded
	}
	err := do()
	between()
	if !alive() {
		return errEnded
	}
	return err
}

type steppedTable struct {
	table.Table
	p *process
}

func (t steppedTable) Transact(ctx context.Context, writes ...table.Write) error {
	return t.p.step(func() error { return t.Table.Transact(ctx, writes...) })
}

type steppedRepository struct {
	*repository.Repository
	p *process
}

func (r steppedRepository) Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (landed *repository.Snapshot, err error) {
	err = r.p.step(func() (err error) { landed, err = r.Repository.Commit(ctx, base, draft); return err })
	return landed, err
}

type steppedRegistry struct {
	access.Store
	p *process
}

func (r steppedRegistry) Update(ctx context.Context, edit func(access.State) (access.State, access.Entry, error)) error {
	return r.p.step(func() error { return r.Store.Update(ctx, edit) })
}

// stepped has the world be served by a process that ends after so many steps.
func (w *world) stepped(p *process) {
	service := control.New(control.Settings{
		Authenticator: gate{w}, Now: func() time.Time { return w.clock },
		Repository: func(context.Context, string) (control.Repository, error) { return steppedRepository{w.repo, p}, nil },
		Registry: func(_ string, by access.Principal) *access.Registry {
			return access.NewRegistry(steppedRegistry{w.ledger.Registry(), p}, nil, func() time.Time { return w.clock }).By(by.Words())
		},
		Requests: request.Store{Table: steppedTable{bolt.New(w.ledger.Database()), p}},
	})
	w.handler = must.Get(httpapi.New(httpapi.Options{Service: service, Limit: unlimited, Now: func() time.Time { return w.clock }}, httpapi.All()...))(w.t)
}

const forever = 1 << 30

// TestAnApplyThatIsKilled before or after each of its steps is done once, when it is asked for
// again, and told as what it has become in the meantime.
func TestAnApplyThatIsKilled(t *testing.T) {
	for _, bypass := range []bool{false, true} {
		for steps, done := 0, false; !done; steps++ {
			w := reviewing(t, `{"production": {}}`)
			path := w.propose(w.newKey(access.KindUser, "engineer"), darkInProd)
			key := w.newKey(access.KindUser, "engineer")
			if bypass {
				key = w.newKey(access.KindUser, "engineer", "review_bypass")
			} else {
				w.approve(w.newKey(access.KindUser, "engineer"), path).ok()
			}
			p := &process{left: steps}
			w.stepped(p)
			a := w.as(key, "POST", path+"/apply", "")
			done = !p.ended
			if done {
				a.ok()
			} else if a.status < 500 {
				t.Fatalf("killed after %d steps, it was answered %d %s", steps, a.status, a.body)
			}
			landed := w.carried()
			w.stepped(&process{left: forever})
			want := "open"
			if landed > 0 {
				want = "applied"
			}
			if got := w.get(path).ok(); got.text("/state") != want || want == "applied" && got.text("/commitSha") != w.head().Commit {
				t.Fatalf("after %d steps, with %d commits, it is %s", steps, landed, got.body)
			}
			if list := w.get("/change-requests?state=" + want).ok(); len(list.at("/changeRequests").([]any)) != 1 {
				t.Fatalf("after %d steps: %s", steps, list.body)
			}
			w.as(key, "POST", path+"/apply", "").ok()
			w.as(w.newKey(access.KindUser, "engineer"), "POST", path+"/apply", "").ok()
			if n := w.carried(); n != 1 {
				t.Fatalf("after %d steps it was applied %d times", steps, n)
			}
			words := strings.Join(w.trail(), "\n")
			if bypass != strings.Contains(words, "without the approvals") {
				t.Fatalf("after %d steps the trail says %s", steps, words)
			}
			if t.Logf("%d steps, bypass %v: %d commits when it was killed", steps, bypass, landed); steps > 40 {
				t.Fatal("it never ends")
			}
		}
	}
}

// carried is how many commits were made for the request 1.
func (w *world) carried() (n int) {
	for _, c := range must.Get(w.repo.History(context.Background(), w.head(), repository.Page{}))(w.t) {
		if strings.Contains(c.Message, "\nSvc-Request: 1\n") {
			n++
		}
	}
	return n
}

// TestARequestThatChangesWhileItIsApplied: between the steps of one who applies it others do
// what makes it another one. It is applied as it was approved, or not at all.
func TestARequestThatChangesWhileItIsApplied(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world, author, approver, path string){
		"the approval is taken back": func(w *world, _, approver, path string) { w.as(approver, "DELETE", path+"/approvals", "") },
		"its operations change": func(w *world, author, _, path string) {
			w.as(author, "PATCH", path, `{"operations": [{"op": "delete", "type": "feature_flag", "key": "checkout.redesign"}]}`)
		},
		"it is closed":      func(w *world, author, _, path string) { w.as(author, "POST", path+"/close", "") },
		"it is applied":     func(w *world, author, _, path string) { w.as(author, "POST", path+"/apply", "") },
		"the role is taken": func(w *world, _, _, _ string) { w.roles("member") },
		"the flag changes": func(w *world, _, _, _ string) {
			w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true}`)
		},
		"another one changes": func(w *world, _, _, _ string) {
			w.do("PATCH", "/flags/colour/environments/staging", `{"value": "red"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for at := range 8 {
				w := reviewing(t, `{"production": {}}`)
				author, approver := w.newKey(access.KindUser, "engineer"), w.newKey(access.KindUser, "engineer")
				path := w.propose(author, darkInProd)
				w.approve(approver, path).ok()
				others := w.handler
				n, busy := 0, false
				p := &process{left: forever}
				w.stepped(p)
				applying := w.handler
				p.between = func() {
					if n++; busy || n != at+1 {
						return
					}
					busy = true
					w.handler = others
					meanwhile(w, author, approver, path)
					w.handler = applying
				}
				a := w.as(author, "POST", path+"/apply", "")
				p.between = nil
				carried := w.carried()
				state := w.get(path).ok()
				if carried > 1 || (carried == 1) != (state.text("/state") == "applied") || a.status == 200 && carried != 1 {
					t.Fatalf("between %d: %d commits, answered %d %s, and it is %s", at, carried, a.status, a.body, state.body)
				}
				if text := string(w.get("/flags/checkout.redesign/document").body); carried == 1 && !strings.Contains(text, "production") {
					t.Fatalf("between %d: applied as something else: %s", at, text)
				}
				if carried == 1 && !strings.Contains(string(state.body), `"op":"patch"`) {
					t.Fatalf("between %d: it says %s", at, state.body)
				}
			}
		})
	}
}

func TestApplyingByManyAtOnce(t *testing.T) {
	w := reviewing(t, `{"production": {}}`)
	path := w.propose(w.newKey(access.KindUser, "engineer"), darkInProd)
	w.approve(w.newKey(access.KindUser, "engineer"), path).ok()
	var all sync.WaitGroup
	commits := make([]string, 8)
	for i := range commits {
		key := w.newKey(access.KindUser, "engineer")
		all.Go(func() { commits[i] = w.as(key, "POST", path+"/apply", "").text("/commitSha") })
	}
	all.Wait()
	for _, c := range commits {
		if c != w.head().Commit {
			t.Errorf("answered %v", commits)
		}
	}
	if n := w.carried(); n != 1 {
		t.Errorf("%d commits", n)
	}
}
