package rows_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	bbolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	tables "svc.example/svc/shared/dynamo"
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

func inFile(path string) *rows.Store { return rows.New(bolt.New(database.New(path)), 0) }

// seen is a batch of contexts that were seen so many days ago, with a name each.
func seen(number, daysAgo int, keys ...string) telemetry.Batch {
	b := report(number, keys...)
	b.Secret = true
	for i := range b.Contexts {
		c := &b.Contexts[i]
		c.LastSeen = c.LastSeen.AddDate(0, 0, -daysAgo)
		c.Properties = []telemetry.Property{{Name: "name", Kind: telemetry.String, Text: "name-of-" + c.Key}}
	}
	return b
}

// TestNothingStaysInTheFile: who is forgotten, who is too many and who was seen long ago
// cannot be found in the file's bytes; all others can.
func TestNothingStaysInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	db := bolt.New(database.New(path))
	s := rows.New(db, 0)
	const batches, each, kept = 20, 50, 600
	for n := range batches {
		var old, fresh []string
		for i := range each {
			old, fresh = append(old, fmt.Sprintf("old-%d-%d.", n, i)), append(fresh, fmt.Sprintf("new-%d-%d.", n, i))
		}
		record(t, s, seen(2*n, 100, old...))
		record(t, s, seen(2*n+1, 0, fresh...))
	}
	now := telemetrytest.Now
	for range 2 { // another time changes nothing
		must.Do(t, s.Trim(ctx, "ws", batches*each+kept, batches))
		if removed, err := db.Tidy(ctx, now); err != nil || removed < kept && removed > 0 {
			t.Fatal(removed, err)
		}
	}
	for n := range batches {
		if found, err := s.Forget(ctx, "ws", nil, "user", fmt.Sprintf("new-%d-4.", n), now); err != nil || !found {
			t.Fatal(found, err)
		}
	}
	text := must.Get(os.ReadFile(path))(t)
	for n := range batches {
		for i := range each {
			if old := fmt.Sprintf("old-%d-%d.", n, i); bytes.Contains(text, []byte(old)) {
				t.Errorf("%s is still there", old)
			}
			key := fmt.Sprintf("new-%d-%d.", n, i)
			if there := bytes.Contains(text, []byte("name-of-"+key)); there == (i == 4) {
				t.Errorf("%s: %v", key, there)
			}
		}
	}
	must.Do(t, s.Trim(ctx, "ws", 5, 1))
	known := 0
	if err := db.Scan(ctx, "telemetry/ws/batch/", func(table.Row) error { known++; return nil }); err != nil || known != 1 {
		t.Errorf("%d batches are known, %v", known, err)
	}
	record(t, s, seen(100, 0, "new-19-7.", "new-19-1."))
	found, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 10_000})
	var left []string
	for _, c := range found {
		left = append(left, c.Key)
	}
	if want := []string{"new-19-1.", "new-19-7."}; err != nil || len(left) < 6 || !slices.Equal(left[:2], want) {
		t.Errorf("%q are left, %v", left, err)
	}
	if u, err := s.Usage(ctx, "ws", telemetrytest.Month); err != nil || u.Keys != 2*batches*each {
		t.Errorf("%d count, %v", u.Keys, err)
	}
}

// TestCountsThatWait are written by Flush, once.
func TestCountsThatWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	s := inFile(path)
	for i := range 3 {
		record(t, s, evaluations(i, i, 1))
	}
	for _, want := range []int64{1, 3, 3} {
		found, err := inFile(path).Evaluations(ctx, "ws", "flag-0", "2026-11-20", "2026-11-20")
		if err != nil || len(found["production"]) != 1 || found["production"][0].Total != want {
			t.Errorf("%v, want %d; %v", found, want, err)
		}
		must.Do(t, s.Flush(ctx))
	}
}

// The variables that make this test's program one of several that report.
const (
	childFile   = "SVC_TELEMETRY_CHILD"
	childNumber = "SVC_TELEMETRY_NUMBER"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		reportForever(path)
	}
	os.Exit(m.Run())
}

const keysOfAll = 40

// keysOf are those of a batch of a process.
func keysOf(process, batch int) (keys []string) {
	for k := range 5 {
		keys = append(keys, fmt.Sprint("u-", (process*7+batch*3+k)%keysOfAll))
	}
	return keys
}

// reportForever reports overlapping keys again and again and says after each batch how far
// it is, until it is killed.
func reportForever(path string) {
	process, _ := strconv.Atoi(os.Getenv(childNumber))
	s := inFile(path)
	for i := 0; ; i++ {
		if _, err := s.Record(ctx, "ws", report(process*1_000_000+i, keysOf(process, i)...)); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// TestCountedOnceBySeveralProcessesThatAreKilled: processes report at once and are killed
// at any point; what each was told to be recorded is there, each key counts once, and the
// file is undamaged.
func TestCountedOnceBySeveralProcessesThatAreKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	acknowledged := map[string]bool{}
	for round := range 3 {
		var children []*exec.Cmd
		var lines []*bufio.Scanner
		for p := range 3 {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childFile+"="+path, childNumber+"="+strconv.Itoa(round*10+p))
			out, err := child.StdoutPipe()
			if err == nil {
				err = child.Start()
			}
			must.Do(t, err)
			defer child.Process.Kill()
			children, lines = append(children, child), append(lines, bufio.NewScanner(out))
		}
		for p, scanner := range lines {
			for range 4 + 3*p {
				scanner.Scan()
				i, err := strconv.Atoi(scanner.Text())
				if err != nil {
					t.Fatalf("a process ended early: %s", scanner.Text())
				}
				for _, key := range keysOf(round*10+p, i) {
					acknowledged[key] = true
				}
			}
			_ = children[p].Process.Kill()
			_ = children[p].Wait()
		}
	}
	s := inFile(path)
	all := must.Get(s.Contexts(ctx, "ws", telemetry.Query{Limit: 1000}))(t)
	found := map[string]bool{}
	for _, c := range all {
		if found[c.Key] {
			t.Errorf("%s is saved twice", c.Key)
		}
		found[c.Key] = true
	}
	for key := range acknowledged {
		if !found[key] {
			t.Errorf("%s was acknowledged and is gone", key)
		}
	}
	if u, err := s.Usage(ctx, "ws", telemetrytest.Month); err != nil || u.Keys != len(found) {
		t.Errorf("%d are counted, %d are saved; %v", u.Keys, len(found), err)
	}
	err := database.New(path).View(ctx, func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	})
	must.Report(t, err)
}

// BenchmarkRecord is a batch of nine contexts and 20 counts in a file.
func BenchmarkRecord(b *testing.B) {
	for _, fresh := range []bool{false, true} {
		b.Run(map[bool]string{false: "known", true: "new"}[fresh], func(b *testing.B) {
			s := inFile(filepath.Join(b.TempDir(), "svc.db"))
			for i := 0; b.Loop(); i++ {
				batch := evaluations(i, i, 20)
				for k := range 9 {
					n := 9*i + k
					if !fresh {
						n %= 500
					}
					more := seen(i, 0, fmt.Sprint("user-", n))
					batch.Pairs, batch.Contexts = append(batch.Pairs, more.Pairs...), append(batch.Contexts, more.Contexts...)
					batch.Contexts[k].LastSeen = batch.Received
				}
				batch.Secret = true
				must.Get(s.Record(ctx, "ws", batch))(b)
			}
		})
	}
}

// BenchmarkWalk is a walk through 10,000 contexts of six properties.
func BenchmarkWalk(b *testing.B) {
	s := inFile(filepath.Join(b.TempDir(), "svc.db"))
	for n := range 10 {
		batch := telemetry.Batch{ID: [32]byte{byte(n)}, Received: telemetrytest.Now}
		for i := range 1000 {
			c := telemetry.Saved{Environment: "production", Type: "user", Key: fmt.Sprint("u-", 1000*n+i), LastSeen: telemetrytest.Now.Add(time.Duration(i))}
			for _, name := range strings.Fields("key name email plan country") {
				c.Properties = append(c.Properties, telemetry.Property{Name: name, Kind: telemetry.String, Text: c.Key + "@" + name})
			}
			c.Properties = append(c.Properties, telemetry.Property{Name: "orders", Kind: telemetry.Int, Text: "42"})
			batch.Contexts = append(batch.Contexts, c)
		}
		must.Get(s.Record(ctx, "ws", batch))(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := s.Walk(ctx, "ws", telemetry.Walk{Environment: "production"}, func(telemetry.Saved) bool { n++; return true }); err != nil || n != 10_000 {
			b.Fatal(n, err)
		}
	}
}

// TestForgettingLeavesNothing: no row tells of who is forgotten, not even a place in
// the time index whose context had expired before it came back.
func TestForgettingLeavesNothing(t *testing.T) {
	client := standin.DynamoDBClient(t)
	name := newTable(t, client)
	s := rows.New(dynamo.New(client, name), 1)
	record(t, s, report(1, "ada", "grace"))
	scan := func() []map[string]types.AttributeValue {
		all := must.Get(client.Scan(ctx, &dynamodb.ScanInput{TableName: &name}))(t)
		return all.Items
	}
	for _, row := range scan() {
		if pk := row["pk"].(*types.AttributeValueMemberS).Value; !strings.Contains(pk, "/context/") {
			continue
		}
		expires, err := strconv.ParseInt(row["expires"].(*types.AttributeValueMemberN).Value, 10, 64)
		seen, err2 := strconv.ParseInt(row["seen"].(*types.AttributeValueMemberN).Value, 10, 64)
		if err != nil || err2 != nil || time.Unix(expires, 0).Sub(time.UnixMilli(seen)).Round(time.Hour) != 24*time.Hour {
			t.Errorf("what is kept for a day expires at %d, seen at %d", expires, seen)
		}
		must.Get(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: map[string]types.AttributeValue{"pk": row["pk"], "sk": row["sk"]}}))(t)
	}
	record(t, s, later(2, "ada"))
	found, err := s.Forget(ctx, "ws", nil, "user", "ada", later(3).Received)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	for _, row := range scan() {
		if doc, is := row["doc"].(*types.AttributeValueMemberS); is && strings.Contains(doc.Value, `"ada"`) {
			t.Errorf("still there: %s", doc.Value)
		}
	}
	left, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 10})
	if err != nil || len(left) != 1 || left[0].Key != "grace" {
		t.Errorf("left are %+v, %v", left, err)
	}
}

// newTable makes an empty table with the keys of the ledger's.
func newTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	name := standin.Table(t, client)
	must.Do(t, tables.New(client, name, nil).Create(context.Background()))
	return name
}

func TestStore(t *testing.T) {
	client := standin.DynamoDBClient(t)
	telemetrytest.Run(t, func(t *testing.T) func() telemetry.Store {
		name := newTable(t, client)
		return func() telemetry.Store { return rows.New(dynamo.New(client, name), 0) }
	})
}

func TestStoreInAFile(t *testing.T) {
	testenv.Slow(t)
	telemetrytest.Run(t, func(t *testing.T) func() telemetry.Store {
		file := bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db")))
		return func() telemetry.Store { return rows.New(file, 0) }
	})
}
