package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithy "github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// sweep lets a ledger remove all that is left over, however young it is.
func sweep(l *dynamo.Ledger) (removed int, err error) {
	left, err := l.Leftovers(background)
	if err != nil {
		return 0, err
	}
	fence, err := l.RaiseFence(background)
	if err != nil {
		return 0, err
	}
	return l.Sweep(background, left, fence)
}

// TestFence: once it was raised, nothing lands that rests on what was read
// before; what is read afterwards lands.
func TestFence(t *testing.T) {
	_, wantHead, objects := origin(t, history(12))
	reader := objects.Reader(background)
	defer reader.Close()
	table := newTable(t)
	for name, land := range map[string]func(l *dynamo.Ledger, from repository.Head) error{
		"a commit": func(l *dynamo.Ledger, from repository.Head) error {
			_, err := l.Advance(background, from, commitOn(from, 2))
			return err
		},
		"a large commit": func(l *dynamo.Ledger, from repository.Head) error {
			_, err := l.Advance(background, from, largeCommit(from, 2, 150))
			return err
		},
		"an import": func(l *dynamo.Ledger, from repository.Head) error {
			_, err := l.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Objects: objects, Fence: from.Fence})
			return err
		},
		"a compaction": func(l *dynamo.Ledger, from repository.Head) error {
			return l.Compacted(background, dynamo.Compaction{Pack: strings.Repeat("a", 40), Fence: from.Fence})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := table.Ledger(newWorkspace(t, table))
			empty := must.Get(ledger.Head(background))(t)
			from := must.Get(ledger.Advance(background, empty, commitOn(empty, 1)))(t)
			for n := range int64(2) {
				if fence, err := ledger.RaiseFence(background); err != nil || fence != n+1 {
					t.Errorf("the fence is %d, %v", fence, err)
				}
			}
			if err := land(ledger, from); !errors.Is(err, repository.ErrMoved) {
				t.Errorf("beyond the fence: %v", err)
			}
			now := must.Get(ledger.Head(background))(t)
			if now.Fence != 2 || now.Commit != from.Commit || now.Access != from.Access {
				t.Errorf("the head is %+v, and was %+v", now, from)
			}
			if packs, err := ledger.Packs(background); err != nil || len(packs) != 0 {
				t.Errorf("it names %v, %v", packs, err)
			}
			if err := land(ledger, now); err != nil {
				t.Errorf("at the fence: %v", err)
			}
		})
	}
}

// TestReindexStopsAtTheFence: rows that were begun before may be gone.
func TestReindexStopsAtTheFence(t *testing.T) {
	_, wantHead, objects := origin(t, history(12))
	reader := objects.Reader(background)
	defer reader.Close()
	table := newTable(t)
	ledger := table.Ledger(newWorkspace(t, table))
	before := must.Get(ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Objects: objects}))(t)
	_, err := ledger.Reindex(background, reader, dynamo.ImportOptions{Objects: objects, Progress: func(done, _ int) {
		if done == 5 {
			must.Get(sweep(ledger))(t)
		}
	}})
	if !errors.Is(err, repository.ErrMoved) {
		t.Errorf("%v", err)
	}
	now := must.Get(ledger.Head(background))(t)
	if now.Index != before.Index {
		t.Errorf("the head names %s, and not %s", now.Index, before.Index)
	}
	if rows, err := ledger.History(background, now, repository.Page{}); err != nil || len(rows) != int(now.Sequence) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	// And what it has left goes.
	removed, err := sweep(ledger)
	if left, listErr := ledger.Leftovers(background); err != nil || listErr != nil || removed == 0 || len(left) > 0 {
		t.Errorf("%d rows are gone, %v is left, %v, %v", removed, left, err, listErr)
	}
}

// TestTheSameCommitAgain: a large commit that was refused because of a sweep is
// made again, under the same keys. The sweep, which comes to its rows late,
// leaves those of the second time alone.
func TestTheSameCommitAgain(t *testing.T) {
	table := newTable(t)
	ledger := table.Ledger(newWorkspace(t, table))
	from := must.Get(ledger.Head(background))(t)
	must.Get(ledger.RaiseFence(background))(t)
	c := largeCommit(from, 1, 2000) // touches lie in rows of their own
	if _, err := ledger.Advance(background, from, c); !errors.Is(err, repository.ErrMoved) {
		t.Fatal(err)
	}
	left := must.Get(ledger.Leftovers(background))(t)
	if len(left) != 1 {
		t.Fatalf("left over are %v", left)
	}
	fence := must.Get(ledger.RaiseFence(background))(t)
	for _, pause := range []string{"before it landed", "after it landed"} {
		if pause == "after it landed" {
			now := must.Get(ledger.Head(background))(t)
			must.Get(ledger.Advance(background, now, c))(t)
		}
		must.Get(ledger.Sweep(background, left, fence))(t)
	}
	head := must.Get(ledger.Head(background))(t)
	if rows, err := ledger.Since(background, head, 0); err != nil || len(rows) != 1 || len(rows[0].Touched) != 2000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, n := range []int{0, 1000, 1999} {
		page := repository.Page{Path: c.Touched[n].Path}
		if commits, err := ledger.History(background, head, page); err != nil || len(commits) != 1 {
			t.Errorf("%s has %d commits, %v", page.Path, len(commits), err)
		}
	}
}

// namedTable makes a table, and tells its name.
func namedTable(t *testing.T) (*dynamo.Table, string) {
	t.Helper()
	client := standin.DynamoDBClient(t)
	name := standin.Table(t, client)
	table := dynamo.New(client, name)
	must.Do(t, table.Create(background))
	return table, name
}

// holdUp holds a client up at its first request of an operation.
func holdUp(operation string, held, goOn chan struct{}) func(*dynamodb.Options) {
	var once sync.Once
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *smithy.Stack) error {
			return stack.Initialize.Add(smithy.InitializeMiddlewareFunc("hold up", func(
				ctx context.Context, in smithy.InitializeInput, next smithy.InitializeHandler,
			) (smithy.InitializeOutput, smithy.Metadata, error) {
				if middleware.GetOperationName(ctx) == operation {
					once.Do(func() { close(held); <-goOn })
				}
				return next.HandleInitialize(ctx, in)
			}), smithy.After)
		})
	}
}

// TestACompactionThatWasHeldUp: one that relocates rows late does not undo what
// a later one did, and names nothing that the later one has retired.
func TestACompactionThatWasHeldUp(t *testing.T) {
	held, goOn := make(chan struct{}), make(chan struct{})
	table, name := namedTable(t)
	ws := newWorkspace(t, table)
	slow := dynamo.New(standin.DynamoDBClient(t, holdUp("UpdateItem", held, goOn)), name)
	ledger := table.Ledger(ws)
	head, names := advanceStored(t, ledger, 3)
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	done := make(chan error, 1)
	go func() {
		done <- slow.Ledger(ws).Compacted(background, dynamo.Compaction{Retired: names, Pack: one})
	}()
	<-held
	must.Do(t, ledger.Compacted(background, dynamo.Compaction{Retired: append(names, one), Pack: two}))
	close(goOn)
	must.Do(t, <-done)
	if packs, err := ledger.Packs(background); err != nil || fmt.Sprint(packs) != fmt.Sprint([]string{two}) {
		t.Errorf("packs %v, %v", packs, err)
	}
	rows := must.Get(ledger.History(background, head, repository.Page{}))(t)
	for _, c := range rows {
		if c.Pack != two {
			t.Errorf("%s lies in %s", c.SHA, c.Pack)
		}
	}
}

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
	must.Get(r.client.DeleteItem(background, &dynamodb.DeleteItemInput{TableName: &r.name, Key: row{"pk": i["pk"], "sk": i["sk"]}}))(r.t)
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
				head := must.Get(ledger.Head(background))(t)
				stop(writes)
				_, err := ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{})
				if f.set(""); err == nil {
					t.Fatal("the import went on to its end")
				}
				left := must.Get(ledger.Leftovers(background))(t)
				fence := must.Get(ledger.RaiseFence(background))(t)
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
				from := must.Get(ledger.Head(background))(t)
				for n, files := range []int{1, wideFiles} {
					from = must.Get(ledger.Advance(background, from, largeCommit(from, n, files)))(t)
				}
				for key, i := range client.rows() {
					if strings.HasPrefix(key, partition) && strings.Contains(key, from.Index) {
						spoil(client, i)
						break
					}
				}
				must.Get(ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Objects: objects}))(t)
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
				head := must.Get(ledger.Head(background))(t)
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
	from := must.Get(ledger.Head(background))(t)
	must.Get(ledger.RaiseFence(background))(t)
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
