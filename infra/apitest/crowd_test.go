package apitest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
		}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := apiload.Fixture()
			for i := range writers {
				key := fmt.Sprintf("crowd.%02d", i)
				files[apiload.PathOf("flags", key)] = strings.Replace(files[apiload.PathOf("flags", "redesign")], `"redesign"`, fmt.Sprintf("%q", key), 1)
			}
			h := create(t, files, 1)
			var packs, commits atomic.Int64
			began := time.Now()
			var all sync.WaitGroup
			for writer := range writers {
				api, err := h.New(background(t), slow(&packs), slog.New(slog.DiscardHandler))
				must(t, err)
				all.Go(func() {
					for n := 0; n < least || time.Since(began) < test.most; n++ {
						path, body := test.write(writer, n)
						r := httptest.NewRequest("PATCH", path, strings.NewReader(body))
						r.Header.Set("Authorization", "Bearer "+h.keys[0])
						w := httptest.NewRecorder()
						if api.ServeHTTP(w, r); w.Code != http.StatusOK {
							t.Errorf("PATCH %s: %d %s", path, w.Code, w.Body)
						} else if strings.Contains(w.Body.String(), `"changed":true`) {
							commits.Add(1)
						}
					}
				})
			}
			all.Wait()
			git := h.copied(t)
			git.Sound(t)
			if n := len(git.Lines(t, "rev-list", "refs/heads/main")) - 1; int64(n) != commits.Load() {
				t.Errorf("%d commits were acknowledged, and %d are there", commits.Load(), n)
			}
			perCommit := float64(packs.Load()) / 2 / float64(commits.Load()) // each has its index
			t.Logf("%d writers: %d commits, %.0f a second, %.2f packs for each", writers, commits.Load(), float64(commits.Load())/time.Since(began).Seconds(), perCommit)
			if perCommit > test.packsPerCommit {
				t.Errorf("%.2f packs were stored for a commit", perCommit)
			}
		})
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
