package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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

	"svc.example/svc/shared/testing/apiload"
)

// crowd is writers of one workspace that know nothing of each other: an instance for
// each, as on Lambda, with one request at a time, on stores that take their time.
type crowd struct {
	*service
	t     *testing.T
	apis  []http.Handler
	packs atomic.Int64

	mu    sync.Mutex
	took  []time.Duration
	codes map[int]int
	made  map[string]string // commits that were acknowledged, and what was before them
}

// What a request to the table and to the bucket takes.
const (
	tableTakes  = 6 * time.Millisecond
	bucketTakes = 25 * time.Millisecond
)

func newCrowd(t *testing.T, writers int) *crowd {
	t.Helper()
	files := apiload.Fixture()
	for i := range writers {
		key := fmt.Sprintf("crowd.%02d", i)
		files[apiload.PathOf("flags", key)] = strings.Replace(files[apiload.PathOf("flags", "redesign")], `"redesign"`, fmt.Sprintf("%q", key), 1)
	}
	c := &crowd{service: create(t, files, 2), t: t, codes: map[int]int{}, made: map[string]string{}}
	for range writers {
		api, err := c.New(background(t), func(_ string, config *aws.Config) {
			config.APIOptions = append(config.APIOptions, c.slow)
		}, slog.New(slog.DiscardHandler))
		must(t, err)
		c.apis = append(c.apis, api)
	}
	return c
}

// slow makes requests take their time, and counts packs.
func (c *crowd) slow(stack *middleware.Stack) error {
	return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("Slow", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (middleware.FinalizeOutput, middleware.Metadata, error) {
		takes := tableTakes
		if awsmiddleware.GetServiceID(ctx) == awss3.ServiceID {
			takes = bucketTakes
		}
		time.Sleep(takes)
		out, metadata, err := next.HandleFinalize(ctx, in)
		if put, ok := out.Result.(*awss3.PutObjectOutput); ok && put != nil && awsmiddleware.GetOperationName(ctx) == "PutObject" {
			c.packs.Add(1)
		}
		return out, metadata, err
	}), middleware.After)
}

// send sends a request as one of the writers, and notes what came of it.
func (c *crowd) send(writer int, method, path, body string) int {
	r := httptest.NewRequest(method, path, bytes.NewReader([]byte(body)))
	r.Header.Set("Authorization", "Bearer "+c.keys[0])
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	began := time.Now()
	c.apis[writer].ServeHTTP(w, r)
	took := time.Since(began)
	var answer struct{ CommitSHA, PreviousCommitSHA string }
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.codes[w.Code]++
	c.took = append(c.took, took)
	switch {
	case w.Code >= 500:
		c.t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	case w.Code < 300 && method != "GET":
		if _, twice := c.made[answer.CommitSHA]; twice || answer.CommitSHA == "" {
			c.t.Errorf("%s %s is answered with the commit %q, of somebody else", method, path, answer.CommitSHA)
		}
		c.made[answer.CommitSHA] = answer.PreviousCommitSHA
	}
	return w.Code
}

// run has all writers write until the time is over, at least so often.
func (c *crowd) run(most time.Duration, least int, write func(writer, n int)) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for writer := range c.apis {
		all.Go(func() {
			for n := 0; n < least || time.Since(began) < most; n++ {
				write(writer, n)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// judge holds what was acknowledged against git.
func (c *crowd) judge(took time.Duration, packsPerCommit float64) {
	c.t.Helper()
	g := c.copied(c.t)
	g.Sound(c.t)
	parents := map[string]string{}
	for _, line := range g.Lines(c.t, "rev-list", "--parents", "refs/heads/main") {
		sha, parent, _ := strings.Cut(line, " ")
		parents[sha] = parent
	}
	for sha, previous := range c.made {
		parent, landed := parents[sha]
		if !landed || previous != "" && previous != parent {
			c.t.Errorf("the commit %s was acknowledged after %q; git has it after %q", sha, previous, parent)
		}
	}
	if n := len(parents) - 1; n != len(c.made) {
		c.t.Errorf("%d commits were acknowledged, and %d are there", len(c.made), n)
	}
	slices.Sort(c.took)
	at := func(share float64) time.Duration {
		return c.took[int(share*float64(len(c.took)-1))].Round(time.Millisecond)
	}
	packs := float64(c.packs.Load()) / 2 / float64(len(c.made)) // each has its index
	rate := float64(len(c.made)) / took.Seconds()
	c.t.Logf("%d writers: %d commits in %v, %.0f a second; p50 %v, p99 %v, the longest %v; %.2f packs a commit; answers %v",
		len(c.apis), len(c.made), took.Round(time.Millisecond), rate, at(0.5), at(0.99), at(1), packs, c.codes)
	if packs > packsPerCommit {
		c.t.Errorf("%.2f packs were stored for a commit", packs)
	}
}

// TestWritersOfOneWorkspaceTakeTurns: none is told to come again, however many there
// are, and few store what nobody names.
func TestWritersOfOneWorkspaceTakeTurns(t *testing.T) {
	writers, most, least := 6, time.Duration(0), 8
	if full() {
		writers, most = 32, time.Minute
	}
	flag := func(n int) string { return fmt.Sprintf("/v1/flags/crowd.%02d", n) }
	toggle := func(n int) string { return fmt.Sprintf(`{"enabled": %t}`, n%2 == 0) }
	t.Run("on items of their own", func(t *testing.T) {
		c := newCrowd(t, writers)
		took := c.run(most, least, func(writer, n int) {
			c.send(writer, "PATCH", flag(writer)+"/environments/default", toggle(n))
		})
		c.judge(took, 1.3)
		if c.codes[200] != len(c.took) {
			t.Errorf("answers %v", c.codes)
		}
	})
	t.Run("on one item", func(t *testing.T) {
		c := newCrowd(t, writers)
		took := c.run(most/3, least, func(writer, n int) {
			c.send(writer, "PATCH", "/v1/configs/timeout/environments/default", fmt.Sprintf(`{"value": %d}`, 1000*(writer+1)+n))
		})
		c.judge(took, 3)
	})
}
