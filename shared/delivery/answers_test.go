package delivery

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/bodies"
)

// unread is an answer to a client that takes nothing of it.
type unread struct {
	discard
	held     *atomic.Int64
	most     *atomic.Int64
	deadline time.Time
	status   int
}

func (u *unread) WriteHeader(status int)              { u.status = status }
func (u *unread) SetWriteDeadline(at time.Time) error { u.deadline = at; return nil }

func (u *unread) Write(p []byte) (int, error) {
	if u.status != http.StatusOK {
		return len(p), nil
	}
	var bytes int64
	_, _ = fmt.Sscan(u.header.Get("Content-Length"), &bytes)
	held := u.held.Add(bytes)
	defer u.held.Add(-bytes)
	for most := u.most.Load(); held > most && !u.most.CompareAndSwap(most, held); most = u.most.Load() {
	}
	if u.deadline.IsZero() {
		time.Sleep(time.Hour)
	}
	time.Sleep(time.Until(u.deadline))
	return 0, os.ErrDeadlineExceeded
}

func large(t testing.TB, flags int) *Table {
	var docs []string
	for i := range flags {
		docs = append(docs, fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"string","default":{"rules":[{"criteria":[],"value":{"type":"string","value":%q}}]}}`, i, strings.Repeat("x", 100_000)))
	}
	return newTable(sources(t, "["+strings.Join(docs, ",")+"]"), "production", "v1")
}

// TestClientsThatDoNotReadHoldLittle: all of them together, and not for long.
func TestClientsThatDoNotReadHoldLittle(t *testing.T) {
	table := large(t, 30)
	for name, request := range map[string][3]string{"poll": {"GET", evalPrefix + "e30", ""}, "bulk": {"POST", ofrepFlags, "{}"}} {
		synctest.Test(t, func(t *testing.T) {
			h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now}).Mux()
			var held, most atomic.Int64
			var all sync.WaitGroup
			statuses := make(chan int, 60)
			ask := func(w http.ResponseWriter, from string) {
				r, err := http.NewRequest(request[0], "http://svc.test"+request[1], strings.NewReader(request[2]))
				if err != nil {
					t.Error(err)
				}
				r.RemoteAddr = from
				h.ServeHTTP(w, r)
			}
			begin := time.Now()
			for range cap(statuses) {
				all.Go(func() {
					u := &unread{discard: discard{http.Header{}}, held: &held, most: &most}
					ask(u, "192.0.2.1:1")
					statuses <- u.status
				})
			}
			synctest.Wait()
			other := httptest.NewRecorder()
			ask(other, "192.0.2.2:1")
			if other.Body.Len() < 3_000_000 || time.Since(begin) > 0 {
				t.Errorf("%s: another client gets %d bytes after %v", name, other.Body.Len(), time.Since(begin))
			}
			all.Wait()
			if most := most.Load(); most > bodies.FreelyHeld+bodies.HeldByOne || most < bodies.FreelyHeld/2 {
				t.Errorf("%s: %d bytes are held at once", name, most)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("%s: they stand still for %v", name, took)
			}
			served := 0
			for range cap(statuses) {
				switch status := <-statuses; status {
				case http.StatusOK:
					served++
				case http.StatusServiceUnavailable:
				default:
					t.Errorf("%s: %d", name, status)
				}
			}
			if served < 10 {
				t.Errorf("%s: %d are served", name, served)
			}
		})
	}
}
