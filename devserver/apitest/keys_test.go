package apitest

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

const (
	bystanders = 4 // clients whose keys nobody touches
	hands      = 3 // requests that the holder of the key sends at a time
	enough     = 9 // answers that have to agree
)

// holder works with one key, on and on, while others change what it may.
type holder struct {
	t      *testing.T
	w      workplace
	base   string
	client *http.Client
	key    string
	email  string
	bare   apiload.Git

	mu       sync.Mutex
	attempts []attempted
}

// attempted is one request of the holder.
type attempted struct {
	call    time.Time
	writes  bool
	status  int
	commit  string
	changed bool
}

// TestKeysChangeUnderLoad changes a key and its principal from another
// process. A request that begins when the command has ended is answered as
// the command wants it; and once that is a refusal, nothing more of the holder
// lands, not even what had begun before.
func TestKeysChangeUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, apiload.Fixture(), bystanders)
	h := &holder{t: t, w: w, client: apiload.NewHTTPClient(t), email: "holder@example.com", bare: gitIn(t, w.repository())}
	h.key = w.issueKey(t, access.KeyRequest{Kind: access.KindUser, Name: "Holder", Email: h.email, Roles: []string{"protected_engineer"}})
	p := launch(t, svcbinary.Watched, w, freeport.Take())
	h.base = p.base

	ctx, stop := context.WithCancel(background(t))
	l := apiload.New(t, p.base)
	var working sync.WaitGroup
	seed := apiload.Seed(t)
	working.Go(func() { l.Run(ctx, seed, w.keys, math.MaxInt) })
	for i := range hands {
		working.Go(func() { h.work(ctx, apiload.Dice(seed, clients+i)) })
	}
	h.expect(http.StatusOK)
	h.changes(http.StatusUnauthorized, "principal", "disable", h.email)
	h.changes(http.StatusOK, "principal", "enable", h.email)
	h.changes(http.StatusForbidden, "principal", "roles", h.email, "support")
	h.changes(http.StatusOK, "principal", "roles", h.email, "support", "engineer")
	h.changes(http.StatusForbidden, "principal", "roles", h.email, "member")
	h.changes(http.StatusOK, "principal", "roles", h.email, "protected_engineer")
	h.newKeys()
	h.changes(http.StatusUnauthorized, "key", "revoke", string(keyID(t, h.key)))
	stop()
	working.Wait()
	h.landed()
	l.Report(t)
	undisturbed(t, l)
	p.stop(t)
	quiet(t, p.Log)
}

func keyID(t testing.TB, text string) access.ID {
	t.Helper()
	key, err := access.ParseKey(text)
	must(t, err)
	return key.ID()
}

// work is one hand of the holder: it reads, or changes something.
func (h *holder) work(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		o := &apiload.Operation{Kind: apiload.Serve, Family: "configs", Key: apiload.IntConfig, Scope: apiload.OneOf(r, apiload.Scopes...), Value: r.IntN(1_000_000)}
		if r.IntN(3) == 0 {
			o = &apiload.Operation{Kind: apiload.ReadDocument, Family: o.Family, Key: o.Key}
		}
		a := attempted{call: time.Now(), writes: o.Writes()}
		status, body, err := apiload.SendOnce(context.WithoutCancel(ctx), h.client, h.base+"/v1", h.key, o)
		if err != nil {
			h.t.Error(err)
			return
		}
		answer, err := o.Read(status, body)
		if err != nil {
			h.t.Error(err)
			return
		}
		a.status, a.commit, a.changed = status, answer.Commit, answer.Changed
		if status == http.StatusServiceUnavailable {
			continue // too many at a time: says nothing of the key
		}
		h.mu.Lock()
		h.attempts = append(h.attempts, a)
		h.mu.Unlock()
	}
}

// since returns the answers to requests that began after a time.
func (h *holder) since(begin time.Time) []attempted {
	h.mu.Lock()
	defer h.mu.Unlock()
	var later []attempted
	for _, a := range h.attempts {
		if a.call.After(begin) {
			later = append(later, a)
		}
	}
	return later
}

// expect waits for some answers and demands that all writes get this one.
func (h *holder) expect(status int) {
	h.t.Helper()
	begin := time.Now()
	for deadline := begin.Add(apiload.Patience); len(h.since(begin)) < enough; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("no answers for %s", apiload.Patience)
		}
	}
	for _, a := range h.since(begin) {
		want := status
		if status == http.StatusForbidden && !a.writes {
			want = http.StatusOK // reading needs no permission
		}
		if a.status != want {
			h.t.Errorf("the key's holder got %d, want %d (to a write: %t)", a.status, want, a.writes)
		}
	}
}

// changes runs another svc and demands what it leads to.
func (h *holder) changes(status int, args ...string) {
	h.t.Helper()
	begin := time.Now()
	h.run(args...)
	before := h.commits()
	h.expect(status)
	if status != http.StatusOK {
		if after := h.commits(); len(after) != len(before) {
			h.t.Errorf("after svc %s, %d more commits of the holder landed", strings.Join(args, " "), len(after)-len(before))
		}
	}
	h.t.Logf("svc %s: %d requests meanwhile", strings.Join(args, " "), len(h.since(begin)))
}

// run runs another svc on the data directory.
func (h *holder) run(args ...string) string {
	h.t.Helper()
	full := append([]string{args[0], args[1], "--data", h.w.dir}, args[2:]...)
	out, err := command(background(h.t), svcbinary.Swift, full...)
	must(h.t, err)
	return out
}

// commits are those that the holder has made.
func (h *holder) commits() []string {
	h.t.Helper()
	return h.bare.Lines(h.t, "log", "--format=%H", "--fixed-strings", "--author=<"+h.email+">", "refs/heads/main")
}

// landed: the holder was told of each commit that it made, and of no other.
func (h *holder) landed() {
	h.t.Helper()
	told := 0
	made := h.commits()
	for _, a := range h.attempts {
		switch {
		case !a.changed:
		case slices.Contains(made, a.commit):
			told++
		default:
			h.t.Errorf("the holder was told of %s, which is not there", a.commit)
		}
	}
	if told < len(made) {
		h.t.Errorf("the holder made %d commits and was told of %d", len(made), told)
	}
}

// newKeys: a key works from the moment that it is printed, and an SDK key is
// refused from the moment that it is revoked.
func (h *holder) newKeys() {
	h.t.Helper()
	key := h.printed("--kind", "service-account", "--name", "bot", "--role", "engineer")
	var who struct{ Principal struct{ Name string } }
	apiload.Get(h.t, h.client, h.base, key, "/whoami", &who)
	if who.Principal.Name != "bot" {
		h.t.Errorf("the new key is %+v", who)
	}
	sdk := h.printed("--kind", "public", "--name", "web", "--environment", "production")
	if status := h.poll(sdk); status != http.StatusOK {
		h.t.Errorf("a poll with a new SDK key: %d", status)
	}
	h.run("key", "revoke", string(keyID(h.t, sdk)))
	if status := h.poll(sdk); status != http.StatusUnauthorized {
		h.t.Errorf("a poll with a revoked SDK key: %d", status)
	}
}

// printed is the key that svc key create prints, among what it says of it.
func (h *holder) printed(args ...string) string {
	h.t.Helper()
	for _, line := range strings.Fields(h.run(append([]string{"key", "create"}, args...)...)) {
		if _, err := access.ParseKey(line); err == nil {
			return line
		}
	}
	h.t.Fatal("svc key create prints no key")
	return ""
}

// poll asks as a browser does.
func (h *holder) poll(key string) int {
	h.t.Helper()
	r, err := http.NewRequestWithContext(background(h.t), "GET", h.base+"/api/v2/configs/eval-with-context/e30", nil)
	must(h.t, err)
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
	response, err := h.client.Do(r)
	must(h.t, err)
	response.Body.Close()
	return response.StatusCode
}

// undisturbed: those whose keys nobody touched never noticed.
func undisturbed(t testing.TB, l *apiload.Load) {
	t.Helper()
	for _, r := range l.Records {
		if s := r.Answer.Status; s == http.StatusUnauthorized || s == http.StatusForbidden {
			t.Errorf("client %d, whose key nobody touched, got %s to %s", r.Client, fmt.Sprint(r.Answer), r.Op)
		}
	}
}
