package apitest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	rows "svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/testing/apiload"
)

const (
	// instances is how many of the service there are. A single one lets its own
	// writers take turns, so that they never race at the table.
	instances = 4
	writers   = 16
)

// harm breaks what a function's clients are told; nil breaks nothing.
type harm func(*middleware.Stack) error

// changing is a harm that changes transactions before they are sent.
func changing(change func(*dynamodb.TransactWriteItemsInput)) harm {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Changing", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if t, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
				change(t)
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	}
}

// misreading is a harm that changes the rows that were read by their keys.
func misreading(change func([]row) []row) harm {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Misreading", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if read, ok := out.Result.(*dynamodb.BatchGetItemOutput); ok && err == nil {
				for table, items := range read.Responses {
					read.Responses[table] = change(items)
				}
			}
			return out, metadata, err
		}), middleware.Before)
	}
}

type row = map[string]types.AttributeValue

// unconditional lets every transaction that moves the head go through: the later of two
// writers overwrites what came between.
func unconditional(t *dynamodb.TransactWriteItemsInput) {
	for _, item := range t.TransactItems {
		// The condition is still there: a name that nothing uses is refused.
		const always = " OR attribute_exists(pk)" // once, however often it is tried
		if u := item.Update; u != nil && !strings.HasSuffix(aws.ToString(u.ConditionExpression), always) {
			u.ConditionExpression = aws.String("(" + aws.ToString(u.ConditionExpression) + ")" + always)
		}
	}
}

// forgetful keeps no row of what was made under an Idempotency-Key.
func forgetful(t *dynamodb.TransactWriteItemsInput) {
	t.TransactItems = slices.DeleteFunc(t.TransactItems, func(i types.TransactWriteItem) bool {
		return i.Put != nil && strings.HasPrefix(rows.TextOf(i.Put.Item, rows.HashKey), "once/")
	})
}

// hiding does not always find what waits in the queue: its owner takes it for removed, and
// others commit it.
func hiding(items []row) []row {
	return slices.DeleteFunc(items, func(i row) bool {
		return strings.HasPrefix(rows.TextOf(i, rows.HashKey), "queue/") && rand.IntN(2) == 0
	})
}

// outdated now and then reads an earlier head that any of the instances has seen. Writes
// are safe with it, since they compare the head; reads are not.
func outdated() harm {
	var lock sync.Mutex
	var seen []row
	sequence := func(r row) int64 { return rows.NumberOf(r, "sequence") }
	return misreading(func(items []row) []row {
		lock.Lock()
		defer lock.Unlock()
		for i, item := range items {
			if item["commit"] == nil {
				continue
			}
			if len(seen) == 0 || sequence(seen[len(seen)-1]) < sequence(item) {
				seen = append(seen, item)
			}
			if rand.IntN(4) == 0 {
				items[i] = seen[max(0, len(seen)-6)]
			}
		}
		return items
	})
}

// TestABrokenStoreIsCaught has the same clients work on a sound table and on broken ones,
// and the same judges find nothing, and find it out. TestFaultsAndKills is what the sound
// one has to bear.
func TestABrokenStoreIsCaught(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func() harm
		by   apiload.Judges
	}{
		{"a sound table", func() harm { return nil }, apiload.Judges{}},
		{"a table without its condition", func() harm { return changing(unconditional) }, apiload.Judges{Porcupine: true, History: true}},
		{"a table that forgets keys", func() harm { return changing(forgetful) }, apiload.Judges{History: true}},
		{"a table that hides waiting writes", func() harm { return misreading(hiding) }, apiload.Judges{History: true}},
		{"a table with old news", outdated, apiload.Judges{Porcupine: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.by.Catch(t, func() apiload.Findings {
				h := create(t, apiload.Fixture(), writers)
				l := apiload.New(t, h.serveInstances(t, test.harm()))
				l.Run(background(t), apiload.Seed(t), h.keys, 10)
				return l.JudgeAll(t, h.copied(t))
			})
		})
	}
}

// serveInstances serves a workspace by several instances at one address, each
// request by any of them.
func (h *service) serveInstances(t *testing.T, broken harm) (base string) {
	t.Helper()
	j := h.newJudge(t)
	var handlers []http.Handler
	for range instances {
		handler, err := h.New(background(t), func(function string, c *aws.Config) {
			j.watch(function, c)
			if broken != nil {
				c.APIOptions = append(c.APIOptions, broken)
			}
		}, slog.New(slog.DiscardHandler))
		must(t, err)
		handlers = append(handlers, handler)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[rand.IntN(instances)].ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
