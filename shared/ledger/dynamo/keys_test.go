package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithy "github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/ledgertest"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// TestKnownKeysCostOneRow: of a key that is known the head alone is read, whatever is
// committed, until a key or a principal changes. It lasts a few seconds, and not
// beyond a clock that goes backwards.
func TestKnownKeysCostOneRow(t *testing.T) {
	var rows []int // of each request
	table := newTable(t, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *smithy.Stack) error {
			return stack.Initialize.Add(smithy.InitializeMiddlewareFunc("rows", func(
				ctx context.Context, in smithy.InitializeInput, next smithy.InitializeHandler,
			) (smithy.InitializeOutput, smithy.Metadata, error) {
				if batch, is := in.Parameters.(*dynamodb.BatchGetItemInput); is {
					for _, asked := range batch.RequestItems {
						rows = append(rows, len(asked.Keys))
					}
				}
				return next.HandleInitialize(ctx, in)
			}), smithy.Before)
		})
	})
	ws := newWorkspace(t, table)
	key := admit(t, table, ws)
	now := noon
	keys := table.WithoutSecret().Keys(func() time.Time { return now })
	for _, tt := range []struct {
		what   string
		before func()
		want   string
	}{
		{"a key that is new", func() {}, "[3]"},
		{"one that is known", func() {}, "[1]"},
		{"again", func() { now = now.Add(4 * time.Second) }, "[1]"},
		{"some seconds after it was read", func() { now = now.Add(time.Second) }, "[3]"},
		{"before it was read", func() { now = now.Add(-time.Second) }, "[3]"},
		{"after another key was made", func() { admit(t, table, ws) }, "[1 3]"},
		{"once more", func() {}, "[1]"},
		{"after it was revoked", func() {
			must.Get(table.Registry(ws).RevokeKey(background, key.ID(), noon))(t)
		}, "[1 3]"},
	} {
		tt.before()
		rows = nil
		got := must.Get(keys.Authenticate(background, key, ""))(t)
		if asked := fmt.Sprint(rows); asked != tt.want {
			t.Errorf("%s: read %s rows, want %s", tt.what, asked, tt.want)
		}
		want, err := table.WithoutSecret().Authenticate(background, key, "")
		if want.Now.Sub(got.Now).Abs() > time.Minute {
			t.Errorf("%s: it is %s, want %s", tt.what, got.Now, want.Now)
		}
		if got.Now = want.Now; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: is %+v, want %+v, %v", tt.what, got, want, err)
		}
	}
	stranger := must.Get(access.NewKey(rand.Reader, access.KindPublicSDK, ws, newID(t)))(t)
	for range 2 {
		if _, err := keys.Authenticate(background, stranger, ""); err == nil {
			t.Error("a key that is nobody's was taken")
		}
	}
}

func blobOf(text []byte) string { return object.Hash(object.Blob, text).String() }

func TestWorkspaces(t *testing.T) {
	table := newTable(t)
	if all, err := table.Workspaces(background); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	a, b := newWorkspace(t, table), newWorkspace(t, table)
	w := access.Workspace{ID: string(a), Name: "again", Secret: []byte("s")}
	if err := table.CreateWorkspace(background, w); !errors.Is(err, dynamo.ErrExists) {
		t.Errorf("a second one of the same id: %v", err)
	}
	must.Do(t, table.Registry(b).SetWorkspace(background, func(w *access.Workspace) { w.Name, w.Provisioning, w.BillingInactive = "other", true, true }))
	all := must.Get(table.Workspaces(background))(t)
	if len(all) != 2 {
		t.Fatalf("%v", all)
	}
	for _, w := range all {
		if other := w.ID == string(b); w.Provisioning != other || w.BillingInactive != other || (w.Name == "other") != other || string(w.Secret) != "cursor secret" {
			t.Errorf("%+v", w)
		}
	}
	for _, bad := range []access.Workspace{{ID: "x", Secret: []byte("s")}, {ID: string(newID(t))}} {
		if err := table.CreateWorkspace(background, bad); err == nil {
			t.Errorf("%+v was created", bad)
		}
	}
	nowhere := table.Registry(newID(t))
	if _, err := nowhere.Workspace(background); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("a workspace that is not there: %v", err)
	}
	if _, err := nowhere.Keys(background); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("its keys: %v", err)
	}
}

func TestAudit(t *testing.T) {
	ledgertest.RunAudit(t, func(t *testing.T) *access.Registry {
		table := newTable(t)
		return table.Registry(newWorkspace(t, table)).By("Ada")
	})
}

func TestLastUses(t *testing.T) {
	sent := &requests{}
	table := newTable(t, sent.count)
	ws, other := newWorkspace(t, table), newWorkspace(t, table)
	a, b := newID(t), newID(t)
	sent.take()
	must.Do(t, table.MarkUsed(background, ws, a, "2026-11-21"))
	if took := sent.take(); !slices.Equal(took, []string{"UpdateItem"}) {
		t.Errorf("a use took %v", took)
	}
	for _, day := range []string{"2026-11-22", "2026-11-22", "2026-11-20"} {
		must.Do(t, table.MarkUsed(background, ws, a, day))
	}
	must.Do(t, table.MarkUsed(background, other, b, "2026-11-22"))
	days := must.Get(table.Registry(ws).LastUses(background))(t)
	if want := map[access.ID]string{a: "2026-11-22"}; !maps.Equal(days, want) {
		t.Errorf("%v, want %v", days, want)
	}
}

// TestACaptureIsOfOneMoment: a key that was read before it was revoked is read again, where
// the head tells of it.
func TestACaptureIsOfOneMoment(t *testing.T) {
	f := &fates{}
	table := newTable(t, f.inject)
	ws := newWorkspace(t, table)
	key := admit(t, table, ws)
	f.set("Query", fate{then: func() {
		must.Get(table.Registry(ws).RevokeKey(background, key.ID(), noon))(t)
	}})
	c := must.Get(table.Capture(background, ws))(t)
	head := must.Get(table.Ledger(ws).Head(background))(t)
	if len(c.Keys) != 1 || !strings.Contains(string(c.Keys[0]), "revokedAt") || c.Head.Access != head.Access {
		t.Errorf("%s at %d, and the head is at %d", c.Keys, c.Head.Access, head.Access)
	}
}

// TestATableWithoutSecretTellsAllElse: an attribute that is added to the rows
// that authentication reads has to be listed, if functions without a right to
// secrets may read it.
func TestATableWithoutSecretTellsAllElse(t *testing.T) {
	client := standin.DynamoDBClient(t)
	name := standin.Table(t, client)
	table := dynamo.New(client, name)
	must.Do(t, table.Create(background))
	ws := newWorkspace(t, table)
	key := admit(t, table, ws)

	whole := must.Get(table.Authenticate(background, key, ""))(t)
	open := must.Get(table.WithoutSecret().Authenticate(background, key, ""))(t)
	if len(whole.Workspace.Secret) == 0 || len(open.Workspace.Secret) != 0 {
		t.Errorf("the secret is %q, and without it %q", whole.Workspace.Secret, open.Workspace.Secret)
	}
	whole.Workspace.Secret = nil
	if !reflect.DeepEqual(open, whole) {
		t.Errorf("without the secret it is %+v, want %+v", open, whole)
	}

	rows := must.Get(client.Scan(background, &dynamodb.ScanInput{TableName: &name}))(t)
	stored := map[string]bool{}
	for _, row := range rows.Items {
		for attribute := range row {
			stored[attribute] = true
		}
	}
	delete(stored, "secret")
	delete(stored, "made") // an order for lists, which no request reads
	for attribute := range stored {
		if !slices.Contains(dynamo.OpenAttributes, attribute) {
			t.Errorf("the attribute %s is stored and not asked for", attribute)
		}
	}
}
