package apitest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
)

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
	t.Parallel()
	h := create(t, apiload.Fixture(), writers)
	seed := apiload.Seed(t)
	f := start(t, h, seed, usual(), each(400, 800))
	l := apiload.New(t, f.server.URL)
	l.Commits = each(1, 500)
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
	if counts["no answer"] == 0 || counts["503"] == 0 {
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

// TestWritersOfOneWorkspaceTakeTurns: writers that know nothing of each other, each with
// an instance of its own as on Lambda, on stores that take their time. None is told to come
// again, however many there are, and few store what nobody names.
func TestWritersOfOneWorkspaceTakeTurns(t *testing.T) {
	writers, most, least := 6, time.Duration(0), 8
	if full() {
		writers, most = 32, time.Minute
	}
	for _, test := range []struct {
		name           string
		most           time.Duration
		write          func(writer, n int) (path, body string)
		packsPerCommit float64
	}{
		{"on items of their own", most, func(writer, n int) (string, string) {
			return fmt.Sprintf("/v1/flags/crowd.%02d/environments/default", writer), fmt.Sprintf(`{"enabled": %t}`, n%2 == 0)
		}, 1.3},
		{"on one item", most / 3, func(writer, n int) (string, string) {
			return "/v1/configs/timeout/environments/default", fmt.Sprintf(`{"value": %d}`, 1000*(writer+1)+n)
		}, 1.3},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := apiload.Fixture()
			for i := range writers {
				key := fmt.Sprintf("crowd.%02d", i)
				files[apiload.PathOf("flags", key)] = strings.Replace(files[apiload.PathOf("flags", "redesign")], `"redesign"`, fmt.Sprintf("%q", key), 1)
			}
			h := create(t, files, 1)
			var packs, commits atomic.Int64
			took := make([][]time.Duration, writers)
			began := time.Now()
			var all sync.WaitGroup
			for writer := range writers {
				api := must.Get(h.New(background(t), slow(&packs), slog.New(slog.DiscardHandler)))(t)
				all.Go(func() {
					for n := 0; n < least || time.Since(began) < test.most; n++ {
						path, body := test.write(writer, n)
						r := httptest.NewRequest("PATCH", path, strings.NewReader(body))
						r.Header.Set("Authorization", "Bearer "+h.keys[0])
						w := httptest.NewRecorder()
						sent := time.Now()
						api.ServeHTTP(w, r)
						took[writer] = append(took[writer], time.Since(sent))
						if w.Code != http.StatusOK {
							t.Errorf("PATCH %s: %d %s", path, w.Code, w.Body)
						} else if strings.Contains(w.Body.String(), `"changed":true`) {
							commits.Add(1)
						}
					}
				})
			}
			all.Wait()
			perSecond := float64(commits.Load()) / time.Since(began).Seconds()
			git := h.copied(t)
			git.Sound(t)
			if n := len(git.Lines(t, "rev-list", "refs/heads/main")) - 1; int64(n) != commits.Load() {
				t.Errorf("%d commits were acknowledged, and %d are there", commits.Load(), n)
			}
			perCommit := float64(packs.Load()) / 2 / float64(commits.Load()) // each has its index
			sorted := slices.Sorted(slices.Values(slices.Concat(took...)))
			t.Logf("%d writers: %d commits, %.0f a second, %.2f packs for each; 99 of 100 answered within %v", writers, commits.Load(), perSecond, perCommit, sorted[len(sorted)*99/100])
			if perCommit > test.packsPerCommit {
				t.Errorf("%.2f packs were stored for a commit", perCommit)
			}
		})
	}
}

// TestWritesOfOneItemThatWaitAreCommittedTogether: whoever has the turn commits what waits
// for the same item too, each as it is decided on the one before it.
func TestWritesOfOneItemThatWaitAreCommittedTogether(t *testing.T) {
	const writers, mostPacks = 12, 3
	h := create(t, apiload.Fixture(), 1)
	ctx := background(t)
	db, _, err := h.Clients(ctx)
	must.Do(t, err)
	ledger := dynamo.New(db, h.Table).Ledger(access.ID(h.workspace.ID))
	must.Do(t, ledger.TakeTurn(ctx, "", "8 held 0", repository.Waiting{})) // so that all of them have to wait
	var entered, all sync.WaitGroup
	entered.Add(writers)
	go func() {
		entered.Wait()
		_ = ledger.TakeTurn(ctx, "8 held 0", "8  1", repository.Waiting{})
	}()
	var packs atomic.Int64
	token := must.Get(ledger.Head(ctx))(t).Commit
	const pinned = 2 // of them hold where nobody was faster, so none or one of them does
	codes := make([]int, writers)
	for writer := range writers {
		var once sync.Once
		watch := observe(func(operation string) {
			switch operation {
			case "PutObject":
				packs.Add(1)
			case "TransactWriteItems": // it has come into the queue
				once.Do(func() { entered.Done(); entered.Wait() })
			}
		})
		api := must.Get(h.New(ctx, func(_ string, c *aws.Config) { c.APIOptions = append(c.APIOptions, watch) }, slog.New(slog.DiscardHandler)))(t)
		all.Go(func() {
			body := fmt.Sprintf(`{"value": %d}`, 1000*(writer+1))
			if writer < pinned {
				body = fmt.Sprintf(`{"value": %d, "expectedCommitSha": %q}`, 1000*(writer+1), token)
			}
			r := httptest.NewRequest("PATCH", "/v1/configs/timeout/environments/default", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+h.keys[0])
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			if codes[writer] = w.Code; w.Code != http.StatusOK && (w.Code != http.StatusConflict || writer >= pinned) {
				t.Errorf("PATCH %s: %d %s", body, w.Code, w.Body)
			}
		})
	}
	all.Wait()
	landed := 0
	for _, code := range codes {
		if code == http.StatusOK {
			landed++
		}
	}
	if landed > writers-pinned+1 {
		t.Errorf("%d writes landed: what others have changed since was written over", landed)
	}
	git := h.copied(t)
	git.Sound(t)
	if n := len(git.Lines(t, "rev-list", "refs/heads/main")) - 1; n != landed {
		t.Errorf("%d commits were acknowledged, and %d are there", landed, n)
	}
	if n := packs.Load() / 2; n > mostPacks { // each has its index
		t.Errorf("%d packs were stored for %d commits, want at most %d", n, landed, mostPacks)
	}
}

// observe tells of each request that has succeeded, before whoever sent it goes on.
func observe(done func(operation string)) func(*middleware.Stack) error {
	handle := func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleFinalize(ctx, in)
		if err == nil {
			done(awsmiddleware.GetOperationName(ctx))
		}
		return out, metadata, err
	}
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("Observe", handle), middleware.After)
	}
}

// slow makes requests take their time, and counts packs.
func slow(packs *atomic.Int64) func(string, *aws.Config) {
	handle := func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		takes := 6 * time.Millisecond
		if awsmiddleware.GetServiceID(ctx) == awss3.ServiceID {
			takes = 25 * time.Millisecond
		}
		time.Sleep(takes)
		out, metadata, err := next.HandleFinalize(ctx, in)
		if put, ok := out.Result.(*awss3.PutObjectOutput); ok && put != nil {
			packs.Add(1)
		}
		return out, metadata, err
	}
	return func(_ string, c *aws.Config) {
		c.APIOptions = append(c.APIOptions, func(stack *middleware.Stack) error {
			return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("Slow", handle), middleware.After)
		})
	}
}

// TestAnInstanceGrowsLittleOverManyWorkspaces: one instance of the delivery function that
// has served many workspaces keeps at most 70 MB of them.
func TestAnInstanceGrowsLittleOverManyWorkspaces(t *testing.T) {
	const workspaces, flags, most = 40, 500, 70 << 20
	h := open(t)
	from := source.Source{Name: "many flags", Files: map[string][]byte{}}
	for path, text := range apiload.ManyFlags(flags) {
		from.Files[path] = []byte(text)
	}
	keys := make([]string, workspaces)
	for i := range keys {
		w := must.Get(h.stores.Create(background(t), admin.Creation{Name: fmt.Sprint("workspace ", i), Source: &from, Author: repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()}}))(t)
		key, _, err := w.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "web", Environment: "production"})
		must.Do(t, err)
		keys[i] = key.Reveal()
	}
	api := must.Get(h.New(background(t), nil, slog.New(slog.DiscardHandler)))(t)
	before := memory.InUse()
	for _, key := range keys {
		r := httptest.NewRequest("GET", poll, nil)
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d %.300s", w.Code, w.Body)
		}
	}
	grown := memory.InUse() - before
	t.Logf("%d workspaces of %d flags: %.1f MB more", workspaces, flags, float64(grown)/(1<<20))
	if grown > most {
		t.Errorf("%d workspaces of %d flags take %d bytes, at most %d are allowed", workspaces, flags, grown, most)
	}
	api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/healthz", nil)) // it is still in use
}
