//go:build unix

package relay

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// TestACacheThatOthersHaveMade is written through no link, and no pipe in it is waited for.
func TestACacheThatOthersHaveMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	secret := w.key(access.KindSecretSDK, "production")
	key := must.Get(access.ParseKey(secret))(w)
	options := Options{URL: w.front.URL, Keys: []string{secret}, Cache: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	lock, elsewhere := filepath.Join(options.Cache, "lock"), filepath.Join(t.TempDir(), "made")
	must.Do(w, os.Symlink(elsewhere, lock))
	if _, err := Open(options); err == nil || !strings.Contains(err.Error(), lock+" is no file but a link") {
		t.Errorf("a lock that is a link: %v", err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("a file is made outside")
	}
	for _, name := range []string{keysFile, "state-" + string(key.ID()) + ".json.gz"} {
		options.Cache = t.TempDir()
		pipe := filepath.Join(options.Cache, name)
		must.Do(w, syscall.Mkfifo(pipe, 0o600))
		waiting := time.AfterFunc(time.Minute, func() {
			t.Errorf("%s is waited for", name)
			if f, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
				f.Close()
			}
		})
		r := w.relay(options)
		must.Do(w, r.Await(t.Context()))
		r.end()
		waiting.Stop()
		if log := w.log.String(); !strings.Contains(log, pipe+": it is no file") {
			t.Errorf("it does not say that %s is no file:\n%s", name, log)
		}
	}
}
