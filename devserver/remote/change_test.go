package remote

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// TestAnAnswerThatIsLost: a change set is sent again under its key where the second
// does no harm; where the outcome is not known, the error says so.
func TestAnAnswerThatIsLost(t *testing.T) {
	const lost, done, nonsense = 0, 200, 1
	for name, tt := range map[string]struct {
		answers         []int
		once, dry       bool
		unknown, failed bool
	}{
		"answered":              {answers: []int{done}},
		"lost once":             {answers: []int{lost, done}},
		"always lost":           {answers: []int{lost, lost, lost}, unknown: true, failed: true},
		"refused":               {answers: []int{409}, failed: true},
		"lost, and refused":     {answers: []int{lost, 409}, unknown: true, failed: true},
		"a server's fault":      {answers: []int{500, done}},
		"a gateway's":           {answers: []int{502, lost, 504}, unknown: true, failed: true},
		"busy":                  {answers: []int{429, 503, done}},
		"not to be sent again":  {answers: []int{lost}, once: true, unknown: true, failed: true},
		"busy before that":      {answers: []int{429, 503}, once: true, unknown: true, failed: true},
		"no answer":             {answers: []int{nonsense}, unknown: true, failed: true},
		"a dry run":             {answers: []int{lost}, dry: true, failed: true},
		"a dry run's bad luck":  {answers: []int{503, 500}, dry: true, failed: true},
		"a dry run of a server": {answers: []int{503, done}, dry: true},
	} {
		var lock sync.Mutex // a connection that is cut off orders nothing
		times, keys := 0, map[string]bool{}
		c, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
			lock.Lock()
			defer lock.Unlock()
			keys[r.Header.Get("Idempotency-Key")] = true
			if times++; times > len(tt.answers) {
				t.Errorf("%s: sent %d times", name, times)
				return
			}
			switch status := tt.answers[times-1]; status {
			case lost:
				connection, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					_ = connection.Close()
				}
			case done:
				fmt.Fprint(w, `{"commitSha":"1","results":[]}`)
			case nonsense:
				fmt.Fprint(w, `{}`)
			default:
				w.WriteHeader(status)
				fmt.Fprint(w, `{"message":"no"}`)
			}
		})
		_, err := c.Change(ctx, ChangeSet{Body: []byte(`{}`), DryRun: tt.dry, Repeatable: !tt.once})
		lock.Lock()
		if unknown := errors.As(err, new(*Unknown)); unknown != tt.unknown || (err != nil) != tt.failed || times != len(tt.answers) || len(keys) != 1 || keys[""] != tt.dry {
			t.Errorf("%s: sent %d times under %v: %v", name, times, keys, err)
		}
		lock.Unlock()
	}
	c, err := New("http://127.0.0.1:1/v1", "key")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Change(ctx, ChangeSet{Repeatable: true}); err == nil || errors.As(err, new(*Unknown)) {
		t.Errorf("where nobody listens: %v", err)
	}
}
