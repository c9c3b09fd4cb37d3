package local

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"svc.example/svc/shared/repository"
)

// fastImport makes a line of commits on main, each of which sets one of some
// flags.
func fastImport(t testing.TB, g repo, commits, flags int) {
	t.Helper()
	cmd := exec.Command("git", "fast-import", "--quiet", "--force")
	cmd.Dir = g.dir
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	w := bufio.NewWriterSize(in, 1<<16)
	for n := range commits {
		text := fmt.Sprintf("{\"revision\": %d}\n", n)
		message := fmt.Sprintf("production: enabled set to %t\n\nSvc-Principal: service_account/0123456789abcdef\n", n%2 == 0)
		fmt.Fprintf(w, "commit refs/heads/main\nauthor Ada Lovelace <ada@example.com> %d +0100\ncommitter svc <noreply@svc> %[1]d +0000\n", 1_700_000_000+n)
		fmt.Fprintf(w, "data %d\n%sM 100644 inline feature-flags/flag-%d.json\ndata %d\n%s\n", len(message), message, n%flags, len(text), text)
	}
	must(t, w.Flush())
	must(t, in.Close())
	must(t, cmd.Wait())
}

// The sizes of the budget: how a start and the reads grow with history.
//
//	go test -run '^$' -bench . ./shared/ledger/local
func BenchmarkHistory(b *testing.B) {
	for _, commits := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("commits=%d", commits), func(b *testing.B) {
			l := started(b)
			fastImport(b, gitIn(b, l.Repository()), commits, 100)
			dir := l.dir
			must(b, l.Close())
			b.Run("start without cache", func(b *testing.B) {
				for b.Loop() {
					must(b, os.Remove(filepath.Join(dir, cacheName)))
					opened(b, dir, Options{}).Close()
				}
			})
			b.Run("start", func(b *testing.B) {
				for b.Loop() {
					opened(b, dir, Options{}).Close()
				}
			})
			benchmarkReads(b, opened(b, dir, Options{}))
		})
	}
}

func benchmarkReads(b *testing.B, l *Ledger) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	at := head(b, l)
	const path = "feature-flags/flag-7.json"
	rows, err := l.History(background, at, repository.Page{Path: path, Limit: 1})
	must(b, err)
	old, err := l.Since(background, at, at.Sequence-at.Sequence/2)
	must(b, err)
	revision := old[0].SHA[:12]
	old = nil
	for name, do := range map[string]func() error{
		"head":    func() error { _, err := l.Head(background); return err },
		"since":   func() error { _, err := l.Since(background, at, at.Sequence-5); return err },
		"page":    func() error { _, err := l.History(background, at, repository.Page{Path: path, Limit: 30}); return err },
		"feed":    func() error { _, err := l.History(background, at, repository.Page{Limit: 30}); return err },
		"at":      func() error { _, _, err := l.At(background, at, path, revision); return err },
		"touches": func() error { _, err := l.LastTouches(background, at); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, do())
			}
		})
	}
	b.Run("advance", func(b *testing.B) {
		for b.Loop() {
			from := head(b, l)
			b.StopTimer()
			c := draft(b, l.Repository(), from.Commit, "flag-7", fmt.Sprint(rows[0].SHA, from.Sequence))
			b.StartTimer()
			_, err := l.Advance(background, from, c)
			must(b, err)
		}
	})
	rows = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("%d commits: %.1f MB in use", at.Sequence, float64(after.HeapAlloc)/(1<<20))
	runtime.KeepAlive(l)
}
