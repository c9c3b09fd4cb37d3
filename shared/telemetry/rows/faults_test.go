package rows_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	bbolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/telemetrytest"
	"svc.example/svc/shared/testing/testenv"
)

var ctx = context.Background()

// open makes a store over a wire.
func open(t *testing.T) (s *rows.Store, table string, w *standin.Wire) {
	t.Helper()
	w = &standin.Wire{}
	table = newTable(t, standin.DynamoDBClient(t))
	return rows.New(dynamo.New(standin.DynamoDBClient(t, w.Client), table), 0), table, w
}

func report(number int, keys ...string) telemetry.Batch {
	b := telemetry.Batch{ID: sha256.Sum256(fmt.Append(nil, number)), Received: telemetrytest.Now}
	for _, key := range keys {
		b.Pairs = append(b.Pairs, telemetry.Pair{Month: telemetrytest.Month, Type: "user", Key: key})
		b.Contexts = append(b.Contexts, telemetry.Saved{Environment: "production", Type: "user", Key: key, LastSeen: telemetrytest.Now.Add(time.Duration(number) * time.Second)})
	}
	b.Shapes = []telemetry.KnownShape{{Type: "user", Fields: map[string][]telemetry.Kind{"key": {telemetry.String}}}}
	return b
}

// later is a report that is received an hour after the others.
func later(number int, keys ...string) telemetry.Batch {
	b := report(number, keys...)
	b.Received = b.Received.Add(time.Hour)
	return b
}

// ofTypes is a batch with a context and a shape of each of n types.
func ofTypes(number, n int) telemetry.Batch {
	b := later(number)
	b.Shapes = nil
	for i := range n {
		name := fmt.Sprintf("made-%04d", i)
		b.Contexts = append(b.Contexts, telemetry.Saved{Environment: "production", Type: name, Key: "k", LastSeen: telemetrytest.Now})
		b.Shapes = append(b.Shapes, telemetry.KnownShape{Type: name, Fields: map[string][]telemetry.Kind{"key": {telemetry.String}}})
	}
	return b
}

// TestRequests: what a batch and a search cost does not grow with what is
// stored, and nothing scans. In a file a batch is one transaction, which is flushed, and one
// more where evaluations are counted at once.
func TestRequests(t *testing.T) {
	hosted, name, w := open(t)
	path := filepath.Join(t.TempDir(), "svc.db")
	stores := []*rows.Store{hosted, inFile(path)}
	record := func(b telemetry.Batch) func(*rows.Store) {
		return func(s *rows.Store) {
			must.Get(s.Record(ctx, "ws", b))(t)
		}
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint("u-", i))
	}
	search := func(q telemetry.Query) func(*rows.Store) {
		return func(s *rows.Store) {
			must.Get(s.Contexts(ctx, "ws", q))(t)
		}
	}
	unseen := report(4, many...)
	unseen.Contexts = nil
	// An hour that is full.
	full := telemetrytest.Now.Add(2 * time.Hour)
	for _, in := range []table.Table{dynamo.New(standin.DynamoDBClient(t), name), bolt.New(database.New(path))} {
		must.Do(t, in.Batch(ctx, []table.Write{{Key: table.Key{Partition: fmt.Sprintf("telemetry/ws/new/%d", full.Unix()/3600), Sort: "new"}, Put: table.Attributes{"n": table.Number(telemetry.MaxNewKeys)}}}))
	}
	var flood []string
	for i := range 30 {
		flood = append(flood, fmt.Sprint("flood-", i))
	}
	beyond := report(8, flood...)
	beyond.Received, beyond.Shapes = full, nil
	more := ofTypes(9, 4*telemetry.MaxNewTypes)
	more.Contexts, more.Shapes = more.Contexts[telemetry.MaxNewTypes:], more.Shapes[telemetry.MaxNewTypes:]
	for _, test := range []struct {
		name    string
		work    func(*rows.Store)
		want    string
		commits int
	}{
		{"the first batch", record(report(1, "a")), "1 BatchGetItem, 4 PutItem, 1 UpdateItem, 2 TransactWriteItems", 1},
		{"30 new contexts", record(report(2, many...)), "1 BatchGetItem, 1 PutItem, 1 UpdateItem, 2 TransactWriteItems", 1},
		{"the same, seen again", record(report(3, many...)), "1 BatchGetItem, 1 PutItem, 1 TransactWriteItems", 1},
		{"nothing new", record(unseen), "1 BatchGetItem, 1 PutItem", 1},
		{"a replay", record(report(3, many...)), "1 BatchGetItem", 0},
		{"a search", search(telemetry.Query{Type: "user", Text: "u-2", Limit: 20}), "2 Query", 0},
		{"a search for a type that there is not", search(telemetry.Query{Type: "nothing", Limit: 20}), "1 Query", 0},
		{"a search for a key", search(telemetry.Query{Environment: "production", Type: "user", Key: "u-2", Limit: 20}), "2 BatchGetItem, 1 Query", 0},
		{"a search for a key that there is not", search(telemetry.Query{Type: "user", Key: "nobody", Limit: 20}), "1 BatchGetItem, 1 Query", 0},
		{"an hour later", record(later(5, many...)), "1 BatchGetItem, 3 PutItem, 1 TransactWriteItems", 1},
		{"more types than there may be", record(ofTypes(6, 3*telemetry.MaxGroups)), "13 BatchGetItem, 53 PutItem, 1 UpdateItem, 2 TransactWriteItems", 1},
		{"new types in an hour that is full of them", record(more), "4 BatchGetItem, 1 PutItem", 1},
		{"30 new contexts in an hour that is full", record(beyond), "1 BatchGetItem, 1 PutItem, 1 UpdateItem", 1},
		{"10 items that were not evaluated yet", record(evaluations(10, 0, 10)), "2 BatchGetItem, 10 PutItem", 2},
		{"the same within a minute", record(evaluations(11, 10, 10)), "1 BatchGetItem, 1 PutItem", 1},
		{"the same a minute later", record(evaluations(12, 70, 10)), "2 BatchGetItem, 9 PutItem", 2},
		{"1000 items", record(evaluations(13, 80, 1000)), "2 BatchGetItem, 10 PutItem", 2},
		{"100 reports, by a relay", record(reports(14, 90, 0, 100)), "2 BatchGetItem, 1 PutItem, 4 BatchWriteItem", 1},
		{"the same, and one of them is new", record(reports(15, 95, 1, 101)), "2 BatchGetItem, 1 PutItem, 1 BatchWriteItem", 1},
		{"an item's evaluations", func(s *rows.Store) { _, _ = s.Evaluations(ctx, "ws", "flag-1", "2026-10-01", "2026-11-30") }, "1 Query", 0},
		{"when items were evaluated last", func(s *rows.Store) { _, _ = s.Evaluated(ctx, "ws") }, "1 BatchGetItem", 0},
		{"the same again", func(s *rows.Store) { _, _ = s.Evaluated(ctx, "ws") }, "", 0},
		{"usage", func(s *rows.Store) { _, _ = s.Usage(ctx, "ws", telemetrytest.Month) }, "1 Query", 0},
	} {
		if got := w.Requests(func() { test.work(stores[0]) }); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		before := transactions(t, path)
		if test.work(stores[1]); transactions(t, path) != before+test.commits {
			t.Errorf("%s: %d transactions, want %d", test.name, transactions(t, path)-before, test.commits)
		}
	}
}

// transactions is how many have changed a file.
func transactions(t *testing.T, path string) (n int) {
	t.Helper()
	must.Do(t, database.New(path).View(ctx, func(tx *bbolt.Tx) error { n = tx.ID(); return nil }))
	return n
}

// TestLostRequestsAndAnswers: whatever is lost between store and table, a batch that is
// repeated until it is acknowledged counts each pair once, and its evaluations at most once.
func TestLostRequestsAndAnswers(t *testing.T) {
	testenv.Slow(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, name, w := open(t)
	outage := 0 // requests that are lost in a row: more than are repeated
	w.Lose = func(string) (before, after bool) {
		if outage--; outage < 0 && random.IntN(25) == 0 {
			outage = 10
		}
		return outage > 0 || random.IntN(5) == 0, random.IntN(3) == 0
	}
	distinct := map[string]bool{}
	failed := 0
	const batches, items = 12, 5
	for i := range batches {
		var keys []string
		for range 6 {
			key := fmt.Sprint("u-", random.IntN(25))
			if !distinct[fmt.Sprint(i, key)] {
				keys = append(keys, key)
			}
			distinct[key], distinct[fmt.Sprint(i, key)] = true, true
		}
		b := report(i, keys...)
		b.Evaluations, b.Received = evaluations(i, 61*i, items).Evaluations, b.Received.Add(time.Duration(61*i)*time.Second)
		for {
			_, err := s.Record(ctx, "ws", b)
			if err == nil {
				break
			}
			if failed++; !errors.Is(err, telemetry.ErrBusy) {
				t.Fatal(err)
			}
		}
	}
	if failed == 0 {
		t.Error("nothing was lost")
	}
	w.Lose = nil
	want := 0
	for key := range distinct {
		if strings.HasPrefix(key, "u-") {
			want++
		}
	}
	usage, err := s.Usage(ctx, "ws", telemetrytest.Month)
	if err != nil || usage.Keys != want {
		t.Errorf("%d are counted, there are %d: %v", usage.Keys, want, err)
	}
	found, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 100})
	if err != nil || len(found) != want {
		t.Errorf("%d are saved, there are %d: %v", len(found), want, err)
	}
	record(t, s, evaluations(batches, 61*batches, items))
	for i := range items {
		// A batch of which it is not known whether it was remembered counts nothing when it
		// comes again.
		found, err := s.Evaluations(ctx, "ws", fmt.Sprint("flag-", i), "2026-11-20", "2026-11-20")
		if all := found["production"]; err != nil || len(all) != 1 || all[0].Total < 1 || all[0].Total > batches+1 {
			t.Errorf("flag-%d: %v in %d batches; %v", i, all, batches+1, err)
		}
	}
	e, err := rows.New(dynamo.New(standin.DynamoDBClient(t), name), 0).Evaluated(ctx, "ws")
	if err != nil || len(e.Days) != items || e.Since != "2026-11-20" {
		t.Errorf("%v %v", e, err)
	}
}

// evaluations is a batch that is received some seconds on, with as many items that
// were evaluated.
func evaluations(number, seconds, n int) telemetry.Batch {
	b := telemetry.Batch{ID: sha256.Sum256(fmt.Append(nil, "evaluations", number)), Received: telemetrytest.Now.Add(time.Duration(seconds) * time.Second)}
	for i := range n {
		b.Evaluations = append(b.Evaluations, telemetry.Evaluation{Environment: "production", Key: fmt.Sprint("flag-", i), Value: "true", At: b.Received, Count: 1})
	}
	return b
}

// reports are a batch of those that a relay passes on, each of one evaluation.
func reports(number, seconds, from, until int) telemetry.Batch {
	b := evaluations(number, seconds, 0)
	for i := from; i < until; i++ {
		b.Reports = append(b.Reports, telemetry.Reported{ID: sha256.Sum256(fmt.Append(nil, "report", i)),
			Evaluations: []telemetry.Evaluation{{Environment: "production", Key: "flag-1", Value: "true", At: b.Received, Count: 1}}})
	}
	return b
}

// TestRowsOfTalliesExpire.
func TestRowsOfTalliesExpire(t *testing.T) {
	client := standin.DynamoDBClient(t)
	name := newTable(t, client)
	record(t, rows.New(dynamo.New(client, name), 0), evaluations(0, 0, 3))
	all := must.Get(client.Scan(ctx, &dynamodb.ScanInput{TableName: &name}))(t)
	want := strconv.FormatInt(time.Date(2027, 1, 21, 0, 0, 0, 0, time.UTC).Unix(), 10)
	for _, row := range all.Items {
		if strings.Contains(row["pk"].(*types.AttributeValueMemberS).Value, "/tallies/") {
			if expires, is := row["expires"].(*types.AttributeValueMemberN); !is || expires.Value != want {
				t.Errorf("it expires at %v, want %s", row["expires"], want)
			}
		}
	}
}

// TestATableThatIsMissing is one to ask again later, as for the ledger: it may be put back.
func TestATableThatIsMissing(t *testing.T) {
	s := rows.New(dynamo.New(standin.DynamoDBClient(t), "svc-test-nowhere"), 0)
	if _, err := s.Record(ctx, "ws", report(1, "a")); !errors.Is(err, telemetry.ErrBusy) {
		t.Error(err)
	}
	if _, err := s.Usage(ctx, "ws", telemetrytest.Month); !errors.Is(err, telemetry.ErrBusy) {
		t.Error(err)
	}
}

// TestWhatExpiryLeavesBehind: rows of one context expire one by one, and a
// place that is left of an earlier time is not found.
func TestWhatExpiryLeavesBehind(t *testing.T) {
	client := standin.DynamoDBClient(t)
	name := newTable(t, client)
	s := rows.New(dynamo.New(client, name), 0)
	record(t, s, report(1, "a", "b"))
	all := must.Get(client.Scan(ctx, &dynamodb.ScanInput{TableName: &name}))(t)
	for _, row := range all.Items {
		if pk := row["pk"].(*types.AttributeValueMemberS).Value; strings.Contains(pk, "/context/") {
			if row["expires"] == nil {
				t.Error("it never expires")
			}
			must.Get(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name,
				Key: map[string]types.AttributeValue{"pk": row["pk"], "sk": row["sk"]}}))(t)
		}
	}
	record(t, s, report(2, "a"))
	if found, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 10}); err != nil || len(found) != 2 || found[0].Key != "a" || found[1].Key != "b" {
		t.Errorf("%+v %v", found, err)
	}
}

func record(t *testing.T, s *rows.Store, b telemetry.Batch) {
	t.Helper()
	must.Get(s.Record(ctx, "ws", b))(t)
}
