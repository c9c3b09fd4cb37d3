package apitest

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/apiload"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
)

// unconditional lets every transaction that moves the head go through: whoever
// comes late writes over what came between.
func unconditional(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Unconditional", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if t, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
				for _, item := range t.TransactItems {
					// The condition is still there: a name that nothing uses is refused.
					if u := item.Update; u != nil && !strings.Contains(aws.ToString(u.ConditionExpression), " OR ") {
						u.ConditionExpression = aws.String("(" + aws.ToString(u.ConditionExpression) + ") OR attribute_exists(pk)")
					}
				}
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
}

// dated is a gate that now and then tells of a head of before. Writes are safe
// with it, since they compare the head; reads are not.
type dated struct {
	*dynamo.Table
	lock *sync.Mutex
	seen *[]repository.Head
}

// behind is how many heads it is behind the times.
const behind = 6

func (d dated) Enter(ctx context.Context, key access.Key) (control.Entry, error) {
	entry, err := d.Table.Enter(ctx, key)
	if err != nil {
		return entry, err
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	seen := *d.seen
	if len(seen) == 0 || seen[len(seen)-1].Sequence < entry.Head.Sequence {
		seen = append(seen, entry.Head)
		*d.seen = seen
	}
	if rand.IntN(4) == 0 {
		entry.Head = seen[max(0, len(seen)-behind)]
	}
	return entry, nil
}

// attempts bounds how often a broken store may get away.
const attempts = 6

// TestABrokenStoreIsCaught lets the same clients work on stores that are
// broken, and the same judges find it out: each of those named, in one of a
// few attempts.
func TestABrokenStoreIsCaught(t *testing.T) {
	for _, test := range []struct {
		name                   string
		harm                   func() harm
		byPorcupine, byHistory bool
	}{
		{"a table without its condition", func() harm {
			return harm{table: unconditional}
		}, true, true},
		{"a gate with old news", func() harm {
			lock, seen := &sync.Mutex{}, &[]repository.Head{}
			return harm{gate: func(t *dynamo.Table) control.Gate { return dated{t, lock, seen} }}
		}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var order, history bool
			for attempt := 1; attempt <= attempts; attempt++ {
				found := tryBroken(t, test.harm())
				order, history = order || len(found.Order) > 0, history || len(found.History) > 0
				t.Logf("attempt %d: %d keys without an order, %d problems of the history", attempt, len(found.Order), len(found.History))
				if (order || !test.byPorcupine) && (history || !test.byHistory) {
					return
				}
			}
			t.Errorf("porcupine noticed: %t, want %t; the history told: %t, want %t", order, test.byPorcupine, history, test.byHistory)
		})
	}
}

func tryBroken(t *testing.T, broken harm) apiload.Findings {
	t.Helper()
	h := create(t, apiload.Ground(), writers)
	l := apiload.New(t, h.serveInstances(t, broken))
	l.Run(background(t), apiload.Seed(t), h.keys, 10)
	l.Counts(t)
	return l.JudgeAll(t, h.copied(t))
}
