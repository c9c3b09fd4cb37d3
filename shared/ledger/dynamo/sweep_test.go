package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// wideHistory is such a commit, as fast-import reads it.
func wideHistory() string {
	var b strings.Builder
	b.WriteString("commit refs/heads/main\ncommitter Ada <ada@example.com> 1700000000 +0100\ndata 8\ncommit\n\n")
	for i := range wideFiles {
		text := fmt.Sprint(i)
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", widePath(i), len(text), text)
	}
	return b.String()
}

func (r raw) remove(i row) {
	r.t.Helper()
	_, err := r.client.DeleteItem(background, &dynamodb.DeleteItemInput{TableName: &r.name, Key: row{"pk": i["pk"], "sk": i["sk"]}})
	must.Do(r.t, err)
}

// ofIndex are the keys of the rows of an index, and its note.
func (r raw) ofIndex(index string) (keys []string) {
	for key := range r.rows() {
		if strings.Contains(key, index) && !strings.HasPrefix(key, "head/") {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestSweepEndsWhatWasInterrupted: an import that ends at any of its writes, and
// a sweep of it that does, leave nothing that another sweep does not remove.
func TestSweepEndsWhatWasInterrupted(t *testing.T) {
	_, wantHead, objects := origin(t, wideHistory())
	reader := objects.Reader(background)
	defer reader.Close()
	f := &fates{}
	name := ""
	table := func() *dynamo.Table {
		_, name = namedTable(t)
		return dynamo.New(standin.DynamoDBClient(t, f.inject), name)
	}()
	stop := func(after int) {
		f.set("BatchWriteItem", append(times(after, fate{}), times(10_000, fate{before: said("AccessDeniedException")})...)...)
	}
	for _, writes := range []int{2, 3, 20} {
		for _, swept := range []int{1, 20, 36} {
			t.Run(fmt.Sprintf("%d writes and %d of the sweep", writes, swept), func(t *testing.T) {
				ws := newWorkspace(t, table)
				ledger := table.Ledger(ws)
				head, err := ledger.Head(background)
				must.Do(t, err)
				stop(writes)
				_, err = ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{})
				if f.set(""); err == nil {
					t.Fatal("the import went on to its end")
				}
				left, err := ledger.Leftovers(background)
				must.Do(t, err)
				fence, err := ledger.RaiseFence(background)
				must.Do(t, err)
				stop(swept)
				_, err = ledger.Sweep(background, left, fence)
				if f.set(""); err == nil && swept < 2 {
					t.Fatal("the sweep went on to its end")
				}
				if _, err := sweep(ledger); err != nil {
					t.Error(err)
				}
				client := raw{t, standin.DynamoDBClient(t), name}
				for key := range client.rows() {
					if strings.Contains(key, string(ws)) && !strings.HasPrefix(key, "head/") && !strings.HasPrefix(key, "workspaces ") {
						t.Fatalf("%s is left, and the head names %q", key, head.Index)
					}
				}
			})
		}
	}
}

// TestSweepOfDamagedRows: rows that cannot be read any more, which is why they
// were replaced, go all the same.
func TestSweepOfDamagedRows(t *testing.T) {
	_, wantHead, objects := origin(t, history(12))
	reader := objects.Reader(background)
	defer reader.Close()
	table, name := namedTable(t)
	nonsense := &types.AttributeValueMemberB{Value: []byte("nonsense")}
	for what, spoil := range map[string]func(r raw, i row){
		"gone":              func(r raw, i row) { r.remove(i) },
		"nonsense":          func(r raw, i row) { i["c"] = nonsense; r.put(i) },
		"nonsense in parts": func(r raw, i row) { i["c"], i["n"] = nonsense, &types.AttributeValueMemberN{Value: "3"}; r.put(i) },
		"without content":   func(r raw, i row) { delete(i, "c"); r.put(i) },
	} {
		for _, partition := range []string{"log/", "rest/"} {
			t.Run(partition+" "+what, func(t *testing.T) {
				client := raw{t, standin.DynamoDBClient(t), name}
				ledger := table.Ledger(newWorkspace(t, table))
				from, err := ledger.Head(background)
				must.Do(t, err)
				for n, files := range []int{1, wideFiles} {
					from, err = ledger.Advance(background, from, largeCommit(from, n, files))
					must.Do(t, err)
				}
				for key, i := range client.rows() {
					if strings.HasPrefix(key, partition) && strings.Contains(key, from.Index) {
						spoil(client, i)
						break
					}
				}
				_, err = ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Objects: objects})
				must.Do(t, err)
				if _, err := sweep(ledger); err != nil {
					t.Error(err)
				}
				if left, err := ledger.Leftovers(background); err != nil || len(left) > 0 {
					t.Errorf("left over are %v, %v", left, err)
				}
				for _, key := range client.ofIndex(from.Index) {
					if !strings.HasPrefix(key, "item/") { // whose paths are not known any more
						t.Fatalf("%s is left", key)
					}
				}
				head, err := ledger.Head(background)
				must.Do(t, err)
				if rows, err := ledger.History(background, head, repository.Page{}); err != nil || len(rows) == 0 {
					t.Errorf("%d rows, %v", len(rows), err)
				}
			})
		}
	}
}

// TestSweepOfADamagedNote: what is known of a large commit that did not land goes.
func TestSweepOfADamagedNote(t *testing.T) {
	table, name := namedTable(t)
	client := raw{t, standin.DynamoDBClient(t), name}
	ledger := table.Ledger(newWorkspace(t, table))
	from, err := ledger.Head(background)
	must.Do(t, err)
	_, err = ledger.RaiseFence(background)
	must.Do(t, err)
	if _, err := ledger.Advance(background, from, largeCommit(from, 1, 150)); !errors.Is(err, repository.ErrMoved) {
		t.Fatal(err)
	}
	for key, i := range client.rows() {
		if strings.Contains(key, "pending/") {
			i["c"] = &types.AttributeValueMemberB{Value: []byte("nonsense")}
			client.put(i)
		}
	}
	if _, err := sweep(ledger); err != nil {
		t.Error(err)
	}
	if left, err := ledger.Leftovers(background); err != nil || len(left) > 0 {
		t.Errorf("left over are %v, %v", left, err)
	}
}
