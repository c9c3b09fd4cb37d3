package dynamo_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithy "github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
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
			_, err := table.Registry(ws).RevokeKey(background, key.ID(), noon)
			must.Do(t, err)
		}, "[1 3]"},
	} {
		tt.before()
		rows = nil
		got, err := keys.Authenticate(background, key, "")
		must.Do(t, err)
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
	stranger, err := access.NewKey(rand.Reader, access.KindPublicSDK, ws, newID(t))
	must.Do(t, err)
	for range 2 {
		if _, err := keys.Authenticate(background, stranger, ""); err == nil {
			t.Error("a key that is nobody's was taken")
		}
	}
}
