package local

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/telemetry"
)

var (
	ctx = context.Background()
	now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

const month telemetry.Month = "2026-11"

// report is a batch of its own number with pairs and contexts of these keys.
func report(number int, at time.Time, keys ...string) telemetry.Batch {
	b := telemetry.Batch{ID: sha256.Sum256([]byte(strconv.Itoa(number))), Received: at}
	for _, key := range keys {
		b.Pairs = append(b.Pairs, telemetry.Pair{Month: telemetry.MonthOf(at), Type: "user", Key: key})
		b.Contexts = append(b.Contexts, telemetry.Saved{Environment: "production", Type: "user", Key: key, LastSeen: at})
	}
	return b
}

func mustRecord(t *testing.T, s *Store, b telemetry.Batch) int {
	t.Helper()
	done, err := s.Record(ctx, "ws", b)
	if err != nil {
		t.Fatal(err)
	}
	return done.Counted
}

func usage(t *testing.T, s *Store, m telemetry.Month) int {
	t.Helper()
	u, err := s.Usage(ctx, "ws", m)
	if err != nil {
		t.Fatal(err)
	}
	return u.Keys
}

func saved(t *testing.T, s *Store) []string {
	t.Helper()
	found, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, c := range found {
		keys = append(keys, c.Key)
	}
	return keys
}

// TestTheOldestContextsGo: the number of saved contexts is bounded and the
// count is not.
func TestTheOldestContextsGo(t *testing.T) {
	s := New(t.TempDir())
	s.kept = 5
	for i := range 12 {
		mustRecord(t, s, report(i, now.Add(time.Duration(i)*time.Second), fmt.Sprint("u-", i)))
	}
	mustRecord(t, s, report(100, now.Add(time.Minute), "u-8"))
	mustRecord(t, s, report(101, now, "late")) // seen before all that are kept
	if got := strings.Join(saved(t, s), " "); got != "u-8 u-11 u-10 u-9 u-7" {
		t.Errorf("kept are %s", got)
	}
	if n := usage(t, s, month); n != 13 {
		t.Errorf("%d are counted", n)
	}
}

// TestAClosedMonthKeepsItsCount, and nothing can change it any more.
func TestAClosedMonthKeepsItsCount(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	mustRecord(t, s, report(1, now, "a", "b"))
	open := time.Date(2026, 12, 2, 23, 0, 0, 0, time.UTC)
	late := report(2, open, "c")
	late.Pairs = append(late.Pairs, telemetry.Pair{Month: month, Type: "user", Key: "c"})
	if n := mustRecord(t, s, late); n != 2 {
		t.Errorf("%d were counted", n)
	}
	mustRecord(t, s, report(3, open.Add(2*time.Hour), "d"))
	late.ID, late.Pairs = [32]byte{9}, []telemetry.Pair{{Month: month, Type: "user", Key: "e"}, {Month: month, Type: "user", Key: "a"}}
	if n := mustRecord(t, s, late); n != 0 {
		t.Errorf("a closed month counted %d", n)
	}
	if a, b := usage(t, s, month), usage(t, s, "2026-12"); a != 3 || b != 2 {
		t.Errorf("%d and %d", a, b)
	}
	must(t, s.read(ctx, "ws", func(root *bolt.Bucket) error {
		if root.Bucket(months).Bucket([]byte(month)).Bucket(pairs) != nil {
			t.Error("the pairs of a closed month are kept")
		}
		return nil
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBatchesAreForgotten after a day, so that the file does not grow with
// their number.
func TestBatchesAreForgotten(t *testing.T) {
	s := New(t.TempDir())
	for i := range 50 {
		mustRecord(t, s, report(i, now.Add(time.Duration(i)*time.Hour), "a"))
	}
	must(t, s.read(ctx, "ws", func(root *bolt.Bucket) error {
		if n := root.Bucket(batches).Stats().KeyN; n != 25 || root.Bucket(received).Stats().KeyN != n || count(root, size) != n {
			t.Errorf("%d batches are remembered", n)
		}
		return nil
	}))
}

// TestReadingMakesNoFile: a workspace without telemetry stays as it is.
func TestReadingMakesNoFile(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	usage(t, s, month)
	saved(t, s)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
	mustRecord(t, s, report(1, now, "a"))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

// TestADamagedFileFailsAndNothingElse.
func TestADamagedFileFailsAndNothingElse(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"not a database": func([]byte) []byte { return []byte(strings.Repeat("no", 9000)) },
		"cut short":      func(b []byte) []byte { return b[:len(b)/3] },
		"scribbled on": func(b []byte) []byte {
			for i := 3 * 4096; i < len(b); i++ {
				b[i] ^= 0x5a
			}
			return b
		},
	} {
		dir := t.TempDir()
		s := New(dir)
		for i := range 20 {
			mustRecord(t, s, report(i, now, fmt.Sprint(i)))
		}
		path := filepath.Join(dir, Name)
		content, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, spoil(content), 0o600))
		if _, err := s.Record(ctx, "ws", report(99, now, "x")); err == nil {
			t.Errorf("%s: it was written to", name)
		}
		if _, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 10}); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}

// TestTheLockIsWaitedFor, and not for ever.
func TestTheLockIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	mustRecord(t, s, report(1, now, "a"))
	db, err := bolt.Open(filepath.Join(dir, Name), 0o600, nil)
	must(t, err)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := s.Record(short, "ws", report(2, now, "b")); !errors.Is(err, telemetry.ErrBusy) {
		t.Errorf("a locked file: %v", err)
	}
	recorded := make(chan error)
	go func() {
		_, err := s.Record(ctx, "ws", report(3, now, "c"))
		recorded <- err
	}()
	must(t, db.Close())
	if err := <-recorded; err != nil {
		t.Error(err)
	}
	if n := usage(t, s, month); n != 2 {
		t.Errorf("%d", n)
	}
}

// The variables that make this test's program one of several that report.
const (
	childDir    = "SVC_TELEMETRY_CHILD"
	childNumber = "SVC_TELEMETRY_NUMBER"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		reportForever(dir)
	}
	os.Exit(m.Run())
}

const keysOfAll = 40

// reportForever reports overlapping keys again and again and says after each
// batch how far it is, until it is killed.
func reportForever(dir string) {
	number, _ := strconv.Atoi(os.Getenv(childNumber))
	s := New(dir)
	for i := 0; ; i++ {
		var keys []string
		for k := range 5 {
			keys = append(keys, fmt.Sprint("u-", (number*7+i*3+k)%keysOfAll))
		}
		if _, err := s.Record(ctx, "ws", report(number*1_000_000+i, now.Add(time.Duration(i)*time.Millisecond), keys...)); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// TestCountedOnceBySeveralProcessesThatAreKilled: processes report at once and
// are killed at any point; what each was told to be recorded is there, each
// key counts once, and the file is sound.
func TestCountedOnceBySeveralProcessesThatAreKilled(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for round := range 3 {
		var children []*exec.Cmd
		var lines []*bufio.Scanner
		for p := range 3 {
			child := exec.Command(os.Args[0])
			number := round*10 + p
			child.Env = append(os.Environ(), childDir+"="+dir, childNumber+"="+strconv.Itoa(number))
			out, err := child.StdoutPipe()
			must(t, err)
			must(t, child.Start())
			defer child.Process.Kill()
			children, lines = append(children, child), append(lines, bufio.NewScanner(out))
		}
		for p, scanner := range lines {
			for range 4 + 3*p {
				if !scanner.Scan() {
					t.Fatal("a process ended early")
				}
				i, err := strconv.Atoi(scanner.Text())
				if err != nil {
					t.Fatal(scanner.Text())
				}
				for k := range 5 {
					acknowledged[fmt.Sprint("u-", ((round*10+p)*7+i*3+k)%keysOfAll)] = true
				}
			}
			must(t, children[p].Process.Kill())
			_ = children[p].Wait()
		}
	}
	s := New(dir)
	found := map[string]bool{}
	for _, key := range saved(t, s) {
		if found[key] {
			t.Errorf("%s is saved twice", key)
		}
		found[key] = true
	}
	for key := range acknowledged {
		if !found[key] {
			t.Errorf("%s was acknowledged and is gone", key)
		}
	}
	if n := usage(t, s, month); n != len(found) {
		t.Errorf("%d are counted, %d are saved", n, len(found))
	}
	must(t, s.View(ctx, func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	}))
}

func FuzzParts(f *testing.F) {
	f.Add([]byte("\x01a\x02bc"), "a", "b")
	f.Add([]byte("\xff\xff"), "", "\x00")
	f.Fuzz(func(t *testing.T, row []byte, a, b string) {
		_ = parts(row)
		if got := parts(name(a, b)); len(got) != 2 || got[0] != a || got[1] != b {
			t.Errorf("%q %q came back as %q", a, b, got)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	s := New(b.TempDir())
	for i := 0; b.Loop(); i++ {
		if _, err := s.Record(ctx, "ws", report(i, now, fmt.Sprint(i%1000))); err != nil {
			b.Fatal(err)
		}
	}
}

// TestASearchIsBounded: it looks at the contexts that were seen last, of
// however many groups, and at no others.
func TestASearchIsBounded(t *testing.T) {
	s := New(t.TempDir())
	s.searched = 10
	for i := range 30 {
		b := report(i, now.Add(time.Duration(i)*time.Second), fmt.Sprintf("u-%02d", i))
		b.Contexts[0].Type = fmt.Sprint("type-", i%3)
		mustRecord(t, s, b)
	}
	for text, want := range map[string]string{
		"u-": "u-29 u-28 u-27 u-26 u-25 u-24 u-23 u-22 u-21 u-20", "u-20": "u-20", "u-19": "", "u-00": "",
	} {
		found, err := s.Contexts(ctx, "ws", telemetry.Query{Text: text, Limit: 100})
		must(t, err)
		var keys []string
		for _, c := range found {
			keys = append(keys, c.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	found, err := s.Contexts(ctx, "ws", telemetry.Query{Type: "type-0", Text: "u-03", Limit: 100})
	must(t, err)
	if len(found) != 1 {
		t.Errorf("a search of one type looks no further back: %v", found)
	}
}

// TestALongPairTakesLittleRoom, and is counted once, also one that an earlier
// version has counted.
func TestALongPairTakesLittleRoom(t *testing.T) {
	s := New(t.TempDir())
	long := strings.Repeat("k", telemetry.MaxKey)
	mustRecord(t, s, report(0, now, "short"))
	must(t, s.change(ctx, "ws", func(root *bolt.Bucket) error {
		return root.Bucket(months).Bucket([]byte(month)).Bucket(pairs).Put(name("user", long+"earlier"), []byte{1})
	}))
	for i, key := range []string{long + "1", long + "2", long + "1", long + "earlier", "short"} {
		if n := mustRecord(t, s, report(1+i, now, key)); n != map[bool]int{true: 1, false: 0}[i < 2] {
			t.Errorf("key %d: %d were counted", i, n)
		}
	}
	must(t, s.read(ctx, "ws", func(root *bolt.Bucket) error {
		return root.Bucket(months).Bucket([]byte(month)).Bucket(pairs).ForEach(func(row, _ []byte) error {
			if len(row) > longPair && !strings.HasSuffix(string(row), "earlier") {
				t.Errorf("a row of %d bytes", len(row))
			}
			return nil
		})
	}))
}

// TestAClockThatIsSetBackDoesNotStopSaving: the hour is whichever it is now.
func TestAClockThatIsSetBackDoesNotStopSaving(t *testing.T) {
	s := New(t.TempDir())
	root := func(work func(*bolt.Bucket) error) { must(t, s.change(ctx, "ws", work)) }
	root(func(b *bolt.Bucket) error {
		return putHourly(b, telemetry.Batch{Received: now.AddDate(10, 0, 0)}, telemetry.Hourly{Keys: telemetry.MaxNewKeys, Types: telemetry.MaxNewTypes})
	})
	mustRecord(t, s, report(1, now, "a"))
	if got := saved(t, s); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestAFileThatCannotGrow: bbolt returns the words of the system's error alone.
func TestAFileThatCannotGrow(t *testing.T) {
	for cause, full := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
		words := fmt.Errorf("file resize error: %s", &fs.PathError{Op: "truncate", Path: Name, Err: cause})
		s := New(t.TempDir())
		err := s.change(ctx, "ws", func(*bolt.Bucket) error { return words })
		if got := fault.Of(telemetry.Fault(err)); (got.Kind == fault.Unavailable) != full || full != (got.Message == fault.FullDisk) {
			t.Errorf("%v: %v", cause, got)
		}
	}
}
