package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// unread is an answer that nobody reads.
type unread struct {
	header http.Header
	status int
}

func (u *unread) Header() http.Header         { return u.header }
func (u *unread) Write(b []byte) (int, error) { return len(b), nil }
func (u *unread) WriteHeader(status int)      { u.status = status }

// reader asks a service of 100 flags for a path of the REST API.
func reader(t testing.TB, path string, gzip bool) (ask func()) {
	t.Helper()
	files := map[string][]byte{"svc.json": []byte(`{"environments": ["production"]}`)}
	for i := range 100 {
		key := fmt.Sprintf("flag-%d", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]},"environments":[]}`, key)
	}
	dir := filepath.Join(t.TempDir(), "data")
	first := must.Get(Create(t.Context(), dir, Creation{Name: "reads", Files: files}))(t)
	service := must.Get(Open(t.Context(), dir, Options{Limit: ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}, Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { service.Close() })
	r := must.Get(http.NewRequest(http.MethodGet, "http://svc.test/v1"+path, nil))(t)
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Authorization", "Bearer "+first.Key.Reveal())
	if gzip {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	return func() {
		w := unread{header: http.Header{}}
		if service.Handler().ServeHTTP(&w, r); w.status != http.StatusOK {
			t.Fatalf("%s: status %d", path, w.status)
		}
	}
}

var reads = []struct {
	name, path string
	gzip       bool
	most       float64 // allocations
}{{"flag", "/flags/flag-1", false, 35}, {"list", "/flags?limit=100", false, 41}, {"list, gzip", "/flags?limit=100", true, 43}}

func BenchmarkRead(b *testing.B) {
	for _, m := range reads {
		b.Run(m.name, func(b *testing.B) {
			ask := reader(b, m.path, m.gzip)
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	}
}

// TestAWarmReadLeavesLittleGarbage: what a read that finds everything as it left it
// allocates, with the request as it comes from the server.
func TestAWarmReadLeavesLittleGarbage(t *testing.T) {
	for _, m := range reads {
		ask := reader(t, m.path, m.gzip)
		time.Sleep(100 * time.Millisecond) // what has just been written is read again
		ask()
		if made := testing.AllocsPerRun(100, ask); made > m.most {
			t.Errorf("%s: %v allocations, at most %v", m.name, made, m.most)
		}
	}
}

// TestTelemetryOfAnotherDirectoryIsNotWritten, as nothing else is.
func TestTelemetryOfAnotherDirectoryIsNotWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	must.Get(Create(t.Context(), dir, Creation{Name: "moved"}))(t)
	s := must.Get(Open(t.Context(), dir, Options{Logger: slog.New(slog.DiscardHandler)}))(t)
	defer s.Close()
	for n, refused := range []bool{false, true} {
		if refused {
			must.Do(t, errors.Join(os.CopyFS(dir+".copy", os.DirFS(dir)), os.Rename(dir, dir+".old"), os.Rename(dir+".copy", dir)))
		}
		_, err := s.seen.Record(t.Context(), "w", telemetry.Batch{ID: [32]byte{byte(n)}, Received: time.Now()})
		if (err != nil) != refused {
			t.Errorf("batch %d: %v", n, err)
		}
	}
}

// TestCountsOutliveAServer that is stopped in the same minute.
func TestCountsOutliveAServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	must.Get(Create(t.Context(), dir, Creation{Name: "counted"}))(t)
	for n := range 2 {
		s := must.Get(Open(t.Context(), dir, Options{Logger: slog.New(slog.DiscardHandler)}))(t)
		for i := range 2 {
			now := time.Now()
			b := telemetry.Batch{ID: [32]byte{byte(n), byte(i)}, Received: now, Evaluations: []telemetry.Evaluation{{Environment: "production", Key: "a", At: now, Count: 1}}}
			must.Get(s.seen.Record(t.Context(), "w", b))(t)
		}
		must.Do(t, s.Close())
	}
	found, err := rows.New(bolt.New(local.DatabaseIn(dir)), 0).Evaluations(t.Context(), "w", "a", "2000-01-01", "2100-01-01")
	total := int64(0)
	for _, day := range found["production"] {
		total += day.Total
	}
	if err != nil || total != 4 {
		t.Errorf("%d are counted, %v", total, err)
	}
}

// What git brings may be nothing but mistakes, and is brought again at each start.
func TestTheLogOfBrokenFilesIsBounded(t *testing.T) {
	var log bytes.Buffer
	reporter := &reporter{logger: slog.New(slog.NewTextHandler(&log, nil))}
	var broken []served.Broken
	for i := range 400 {
		b := served.Broken{File: &repository.File{Path: fmt.Sprintf("feature-flags/f%03d.json", i), Blob: "1"}, Since: "c"}
		for rule := range 1000 {
			b.Problems = append(b.Problems, workspace.Problem{Severity: workspace.Fatal, File: b.File.Path, Pointer: fmt.Sprintf("/default/rules/%d", rule), Message: "is wrong"})
		}
		broken = append(broken, b)
	}
	seen := func() string {
		defer log.Reset()
		reporter.see(repository.SnapshotOf(repository.Head{Commit: "c"}, repository.Tree{}, nil), broken)
		return log.String()
	}
	first := seen()
	if lines := strings.Count(first, "\n"); lines != maxTold+1 || !strings.Contains(first, "f000.json") || !strings.Contains(first, "more=999") || !strings.Contains(first, "more=380") {
		t.Errorf("%d lines:\n%s", lines, first[:min(len(first), 1000)])
	}
	if again := seen(); again != "" {
		t.Errorf("it is told again: %s", again)
	}
	broken[399].File.Blob = "2"
	if changed := seen(); strings.Count(changed, "\n") != 1 || !strings.Contains(changed, "f399.json") {
		t.Errorf("after one file has changed: %s", changed)
	}
}
