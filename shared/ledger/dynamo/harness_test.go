package dynamo_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithy "github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/ledgertest"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/standin"
)

var (
	background = context.Background()
	noon       = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

// requests counts what a client sends, by operation.
type requests struct {
	mu   sync.Mutex
	sent []string
}

func (r *requests) count(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *smithy.Stack) error {
		return stack.Deserialize.Add(smithy.DeserializeMiddlewareFunc("count", func(
			ctx context.Context, in smithy.DeserializeInput, next smithy.DeserializeHandler,
		) (smithy.DeserializeOutput, smithy.Metadata, error) {
			r.mu.Lock()
			r.sent = append(r.sent, middleware.GetOperationName(ctx))
			r.mu.Unlock()
			return next.HandleDeserialize(ctx, in)
		}), smithy.After)
	})
}

// take returns the operations since the last time.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

// newTable makes a table.
func newTable(t testing.TB, options ...func(*dynamodb.Options)) *dynamo.Table {
	t.Helper()
	client := standin.DynamoDBClient(t, options...)
	table := dynamo.New(client, standin.Table(t, client))
	must.Do(t, table.Create(background))
	return table
}

func newID(t testing.TB) access.ID {
	t.Helper()
	return must.Get(access.NewID(rand.Reader))(t)
}

// newWorkspace makes a workspace in a table.
func newWorkspace(t testing.TB, table *dynamo.Table) access.ID {
	t.Helper()
	id := newID(t)
	must.Do(t, table.CreateWorkspace(background, access.Workspace{ID: string(id), Name: "shop", Secret: []byte("cursor secret")}))
	return id
}

// admit adds a person with a key.
func admit(t testing.TB, table *dynamo.Table, ws access.ID) access.Key {
	t.Helper()
	key, _, err := table.Registry(ws).IssueKey(background, access.KeyRequest{
		Kind: access.KindUser, Name: "Ada", Email: string(newID(t)) + "@example.com", Roles: []string{"engineer"}})
	must.Do(t, err)
	return key
}

// gitDir makes a bare repository for objects.
func gitDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repository.git")
	realgit.Run(t, t.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", dir)
	return dir
}

// snapshotStore is objects beside which snapshots are kept, in memory. It counts what is
// asked of it.
type snapshotStore struct {
	repository.Objects
	mu        sync.Mutex
	snapshots map[string][]byte
	calls     []string
}

func keeper(objects repository.Objects) *snapshotStore {
	return &snapshotStore{Objects: objects, snapshots: map[string][]byte{}}
}

func (s *snapshotStore) note(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

func (s *snapshotStore) PutSnapshot(ctx context.Context, name string, content []byte) error {
	s.note("PutSnapshot")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots[name] = content
	return ctx.Err()
}

func (s *snapshotStore) Snapshot(ctx context.Context, name string) ([]byte, error) {
	s.note("Snapshot")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshots[name], ctx.Err()
}

func (s *snapshotStore) PutPack(ctx context.Context, name string, pack, index []byte) error {
	s.note("PutPack")
	return s.Objects.PutPack(ctx, name, pack, index)
}

func (s *snapshotStore) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	s.note("Blob")
	return s.Objects.Blob(ctx, touch)
}

func (s *snapshotStore) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	s.note("Tree")
	return s.Objects.Tree(ctx, head)
}

func (s *snapshotStore) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func TestSuite(t *testing.T) {
	table := newTable(t)
	ledgertest.Run(t, func(t *testing.T) ledgertest.Subject {
		ws := newWorkspace(t, table)
		return subject(table, ws)
	})
}

func subject(table *dynamo.Table, ws access.ID) ledgertest.Subject {
	registry := table.Registry(ws)
	return ledgertest.Subject{
		Ledger: table.Ledger(ws), Authenticator: table, Workspace: ws,
		Put:      func(testing.TB, object.Kind, []byte) {},
		Registry: registry,
		Reopen:   func(testing.TB) ledgertest.Subject { return subject(table, ws) },
	}
}
