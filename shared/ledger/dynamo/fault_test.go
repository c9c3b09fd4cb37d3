package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithymiddleware "github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// fate is what becomes of a request.
type fate struct {
	before error  // instead of the request
	after  error  // instead of its answer
	then   func() // what happens before that
}

// fates decide over the requests of an operation, one after the other; those
// after the last are left alone.
type fates struct {
	mu     sync.Mutex
	coming map[string][]fate
	met    int
}

func (f *fates) set(operation string, coming ...fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming, f.met = map[string][]fate{operation: coming}, 0
}

// and decides over another operation too.
func (f *fates) and(operation string, coming ...fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming[operation] = coming
}

func (f *fates) next(operation string) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.met++
	left := f.coming[operation]
	if len(left) == 0 {
		f.met--
		return fate{}
	}
	f.coming[operation] = left[1:]
	return left[0]
}

func (f *fates) inject(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *smithymiddleware.Stack) error {
		// Every attempt is a request of its own.
		return stack.Deserialize.Add(smithymiddleware.DeserializeMiddlewareFunc("fate", func(
			ctx context.Context, in smithymiddleware.DeserializeInput, next smithymiddleware.DeserializeHandler,
		) (smithymiddleware.DeserializeOutput, smithymiddleware.Metadata, error) {
			fate := f.next(middleware.GetOperationName(ctx))
			if fate.before != nil {
				return smithymiddleware.DeserializeOutput{}, smithymiddleware.Metadata{}, fate.before
			}
			out, meta, err := next.HandleDeserialize(ctx, in)
			if fate.then != nil {
				fate.then()
			}
			if fate.after != nil && err == nil {
				return smithymiddleware.DeserializeOutput{}, meta, fate.after
			}
			return out, meta, err
		}), smithymiddleware.Before)
	})
}

func said(code string) error { return &smithy.GenericAPIError{Code: code, Message: "injected"} }

func cancelledBy(codes ...string) error {
	e := &types.TransactionCanceledException{Message: aws.String("injected")}
	for _, c := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(c)})
	}
	return e
}

var (
	errReset  = errors.New("connection reset by peer")
	throttled = said("ProvisionedThroughputExceededException")
	conflict  = cancelledBy("TransactionConflict", "None", "None", "None")
	internal  = &smithy.GenericAPIError{Code: "InternalServerError", Message: "injected", Fault: smithy.FaultServer}
)

func times(n int, f fate) []fate { return slices.Repeat([]fate{f}, n) }

// commitOn makes a commit that stands for itself: no objects.
func commitOn(head repository.Head, n int) repository.Commit {
	text := []byte(fmt.Sprint("text ", n))
	return repository.Commit{
		SHA: fmt.Sprintf("%040x", 0xabc0000+n), Parent: head.Commit, Tree: strings.Repeat("1", 40), Message: "m\n",
		Author:    repository.Signature{Name: "Ada", When: noon},
		Committer: repository.Signature{Name: "svc", When: noon},
		Touched:   []repository.Touch{{Path: "configs/a.json", Blob: blobOf(text), Text: text}},
	}
}

// TestAdvanceUnderFaults: an Advance is never said to have failed when it has
// landed, nor the other way round.
func TestAdvanceUnderFaults(t *testing.T) {
	f := &fates{}
	table := newTable(t, f.inject)
	const operation = "TransactWriteItems"
	for name, test := range map[string]struct {
		coming []fate
		landed bool
		want   error // nil with landed: success; nil without: some other error
	}{
		"throttled":                 {times(3, fate{before: throttled}), true, nil},
		"conflicts":                 {times(3, fate{before: conflict}), true, nil},
		"reset before":              {times(2, fate{before: errReset}), true, nil},
		"answer lost":               {times(1, fate{after: errReset}), true, nil},
		"answer lost, then busy":    {append(times(1, fate{after: errReset}), times(3, fate{before: throttled})...), true, nil},
		"internal error, but done":  {times(1, fate{after: internal}), true, nil},
		"throttled for good":        {times(100, fate{before: throttled}), false, repository.ErrBusy},
		"conflicts for good":        {times(100, fate{before: conflict}), false, repository.ErrBusy},
		"reset for good":            {times(100, fate{before: errReset}), false, nil},
		"reset once, then busy":     {append(times(1, fate{before: errReset}), times(100, fate{before: throttled})...), false, nil},
		"not allowed":               {times(1, fate{before: said("AccessDeniedException")}), false, repository.ErrFailed},
		"done, and never an answer": {append(times(1, fate{after: errReset}), times(100, fate{before: errReset})...), true, errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			ws := newWorkspace(t, table)
			ledger := table.Ledger(ws)
			from := must.Get(ledger.Head(background))(t)
			c := commitOn(from, 1)
			patience := time.Minute
			if len(test.coming) >= 100 { // nothing else ends it
				patience = time.Second
			}
			ctx, cancel := context.WithTimeout(background, patience)
			defer cancel()
			f.set(operation, test.coming...)
			head, err := ledger.Advance(ctx, from, c)
			f.set(operation)
			now, headErr := ledger.Head(background)
			must.Do(t, headErr)
			if landed := now.Commit == c.SHA; landed != test.landed {
				t.Fatalf("landed: %t, want %t (%v)", landed, test.landed, err)
			}
			switch {
			case test.landed && test.want == nil:
				if err != nil || head != now {
					t.Errorf("it landed, and the answer is %+v, %v", head, err)
				}
			case err == nil, errors.Is(err, repository.ErrMoved):
				t.Errorf("the answer is %+v, %v", head, err)
			case test.want == nil || test.landed:
				if errors.Is(err, repository.ErrBusy) {
					t.Errorf("whether it landed is unknown, and the answer is %v", err)
				}
			case !errors.Is(err, test.want):
				t.Errorf("the answer is %v, want %v", err, test.want)
			}
			// Asked again, it lands or has landed.
			if again, err := ledger.Advance(background, from, c); err != nil || again.Commit != c.SHA {
				t.Errorf("asked again: %+v, %v", again, err)
			}
		})
	}
}

// TestAnswerLostThenOvertaken: the answer of an Advance that has landed is lost,
// and others build on it. The table knows the attempt by its token; and when it
// has forgotten that, and is too busy to tell more, that is no refusal.
func TestAnswerLostThenOvertaken(t *testing.T) {
	for name, forgotten := range map[string]bool{"the token is known": false, "the token is forgotten": true} {
		t.Run(name, func(t *testing.T) {
			f := &fates{}
			table := newTable(t, f.inject)
			ledger := table.Ledger(newWorkspace(t, table))
			from := must.Get(ledger.Head(background))(t)
			c := commitOn(from, 1)
			f.set("TransactWriteItems", fate{after: errReset, then: func() {
				head, err := ledger.Head(background)
				for n := range 2 {
					if err == nil {
						head, err = ledger.Advance(background, head, commitOn(head, 10+n))
					}
				}
				must.Report(t, err)
				f.set("GetItem", times(100, fate{before: throttled})...)
				if forgotten {
					f.and("TransactWriteItems", fate{before: cancelledBy("ConditionalCheckFailed")})
				}
			}})
			patience := time.Minute
			if forgotten { // nothing else ends it
				patience = time.Second
			}
			ctx, cancel := context.WithTimeout(background, patience)
			defer cancel()
			head, err := ledger.Advance(ctx, from, c)
			switch {
			case !forgotten && (err != nil || head.Commit != c.SHA):
				t.Errorf("it landed, and the answer is %+v, %v", head, err)
			case forgotten && (err == nil || errors.Is(err, repository.ErrBusy) || errors.Is(err, repository.ErrMoved) || errors.Is(err, repository.ErrFailed)):
				t.Errorf("whether it landed is unknown, and the answer is %v", err)
			}
			f.set("GetItem")
			if again, err := ledger.Advance(background, from, c); err != nil || again.Commit != c.SHA {
				t.Errorf("asked again: %+v, %v", again, err)
			}
		})
	}
}

// TestTornRead: a key that was read before its revocation, beside a head that
// was read after it, is not accepted.
func TestTornRead(t *testing.T) {
	var stale map[string]types.AttributeValue
	torn := 0
	table := newTable(t, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *smithymiddleware.Stack) error {
			return stack.Initialize.Add(smithymiddleware.InitializeMiddlewareFunc("torn", func(
				ctx context.Context, in smithymiddleware.InitializeInput, next smithymiddleware.InitializeHandler,
			) (smithymiddleware.InitializeOutput, smithymiddleware.Metadata, error) {
				out, meta, err := next.HandleInitialize(ctx, in)
				if batch, ok := out.Result.(*dynamodb.BatchGetItemOutput); ok {
					for _, rows := range batch.Responses {
						for n, row := range rows {
							if sk := row["sk"].(*types.AttributeValueMemberS).Value; !strings.HasPrefix(sk, "key/") {
								continue
							}
							switch {
							case stale == nil:
								stale = row
							case torn < 2:
								torn++
								rows[n] = stale
							}
						}
					}
				}
				return out, meta, err
			}), smithymiddleware.After)
		})
	})
	ws := newWorkspace(t, table)
	key := admit(t, table, ws)
	must.Get(table.Authenticate(background, key, ""))(t)
	must.Get(table.Registry(ws).RevokeKey(background, key.ID(), noon))(t)
	e := must.Get(table.Authenticate(background, key, ""))(t)
	if err := e.Key.LiveAt(noon); !errors.Is(err, access.ErrKeyRevoked) || torn != 2 {
		t.Errorf("after %d torn reads the key is %v", torn, err)
	}
}

// TestEditsUnderFaults: an edit is made once, whatever becomes of its answers.
func TestEditsUnderFaults(t *testing.T) {
	f := &fates{}
	table := newTable(t, f.inject)
	ws := newWorkspace(t, table)
	for n, broken := range []fate{{before: conflict}, {before: errReset}, {after: errReset}} {
		f.set("TransactWriteItems", broken)
		w := access.Workspace{ID: string(newID(t)), Name: "shop", Secret: []byte("s")}
		if err := table.CreateWorkspace(background, w); err != nil {
			t.Errorf("creating a workspace, fate %d: %v", n, err)
		}
		if err := table.CreateWorkspace(background, w); !errors.Is(err, dynamo.ErrExists) {
			t.Errorf("creating it again: %v", err)
		}
	}
	registry := table.Registry(ws)
	p := access.Principal{Type: access.PrincipalUser, ID: newID(t), Name: "Ada", Email: "ada@example.com", Roles: []string{"engineer"}}
	for n, broken := range []fate{{before: conflict}, {before: errReset}, {after: errReset}} {
		f.set("TransactWriteItems", broken)
		p.ID, p.Email = newID(t), fmt.Sprint(n, "@example.com")
		_, _, err := registry.EnsurePrincipal(background, p)
		must.Do(t, err)
		f.set("TransactWriteItems", broken)
		must.Do(t, registry.SetRoles(background, p.ID, []string{"protected_engineer"}))
		f.set("TransactWriteItems", broken)
		must.Do(t, registry.SetWorkspace(background, func(w *access.Workspace) { w.Name = fmt.Sprint("shop ", n) }))
	}
	// So often that the transaction itself is given up, whose answer, or which
	// itself, was lost: it is not said to have failed when it was made.
	for n, broken := range []fate{{before: errReset}, {after: errReset}} {
		registry := table.Registry(ws).By("tester")
		f.set("TransactWriteItems", times(6, broken)...)
		key, _, err := registry.IssueKey(background, access.KeyRequest{Kind: access.KindUser, Name: "a key", Email: p.Email})
		if err != nil {
			t.Errorf("creating a key, fate %d: %v", n, err)
		}
		f.set("TransactWriteItems", times(6, broken)...)
		if record, err := registry.RevokeKey(background, key.ID(), noon); err != nil || record.RevokedAt.IsZero() {
			t.Errorf("revoking it, fate %d: %+v, %v", n, record, err)
		}
		told := 0
		entries := must.Get(registry.Audit(background, 0))(t)
		for _, e := range entries {
			if strings.Contains(fmt.Sprint(e), string(key.ID())) {
				told++
			}
		}
		if told != 2 {
			t.Errorf("fate %d: told %d times", n, told)
		}
	}
	f.set("TransactWriteItems")
	if principals := must.Get(registry.Principals(background))(t); len(principals) != 3 {
		t.Errorf("%d principals, want 3", len(principals))
	}
	f.set("TransactWriteItems", times(100, fate{before: throttled})...)
	ctx, cancel := context.WithTimeout(background, 200*time.Millisecond)
	defer cancel()
	p.ID, p.Email = newID(t), "late@example.com"
	if _, _, err := registry.EnsurePrincipal(ctx, p); !errors.Is(err, repository.ErrBusy) {
		t.Errorf("a busy table: %v", err)
	}
}

var _ control.Authenticator = (*dynamo.Table)(nil)

// TestAKeyIsTakenOnce: whatever a writer has read, no second commit lands under an
// id but in the place of the one that it names.
func TestAKeyIsTakenOnce(t *testing.T) {
	s := newShop(t)
	s.fill(3, 1)
	id := strings.Repeat("a", 32)
	version := 10
	write := func(request, instead string) (*repository.Snapshot, error) {
		base := must.Get(s.repo.Snapshot(background, s.enter()))(t)
		version++
		draft := s.draft(document(1, version))
		draft.Once = &repository.Once{ID: id, Request: strings.Repeat(request, 32), Until: s.now.Add(change.Remembered), Instead: instead}
		return s.repo.Commit(background, base, draft)
	}
	first := must.Get(write("1", ""))(t)
	other := s.write(s.repo, document(2, 10))
	for _, instead := range []string{"", other.Head.Commit} {
		if _, err := write("2", instead); !errors.Is(err, repository.ErrMoved) {
			t.Errorf("instead of %q: %v, want ErrMoved", instead, err)
		}
	}
	if head := s.enter(); head.Commit != other.Head.Commit {
		t.Errorf("the head is %s, want %s", head.Commit, other.Head.Commit)
	}
	second := must.Get(write("3", first.Head.Commit))(t)
	e := must.Get(s.table.Authenticate(background, s.key, id))(t)
	if e.Landed == nil || e.Landed.Commit != second.Head.Commit || e.Landed.Request != strings.Repeat("3", 32) || e.Now.IsZero() {
		t.Errorf("found %+v at %v", e.Landed, e.Now)
	}
}
