package relay

import (
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/testing/testenv"
)

// TestWhateverAClientHasItHearsOfThePresentState: a version of another environment, of a
// history that was forced away, or none at all.
func TestWhateverAClientHasItHearsOfThePresentState(t *testing.T) {
	t.Parallel()
	program := testenv.Program(t, "install git", "git")
	w := newWorld(t, shop)
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(program, append([]string{"--git-dir", filepath.Join(w.dir, local.RepositoryName)}, args...)...).Output()
		w.must(err)
		return strings.TrimSpace(string(out))
	}
	public, other, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "development"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
	version := func(server *httptest.Server, key string) string {
		t.Helper()
		_, after, _ := strings.Cut(w.ask(server, "GET", polls+someone, key, "").body, `"version":"`)
		version, _, _ := strings.Cut(after, `"`)
		return version
	}
	first, commit := version(w.front, public), git("rev-parse", "refs/heads/main")
	w.patch("flags/timed/environments/production", `{"value":7}`)
	forced := version(w.front, public)
	w.eventually("the relay has what will be forced away", func() bool { return version(r.Server, public) == forced })
	git("update-ref", "refs/heads/main", commit)
	w.eventually("the relay is back at what was first", func() bool { return version(r.Server, public) == first })
	if forced == first || version(w.front, public) != first {
		t.Fatalf("the versions are %s, %s and %s", first, forced, version(w.front, public))
	}
	for name, id := range map[string]string{
		"of another environment":            version(w.front, other),
		"of a history that was forced away": forced,
		"of nobody":                         "\", \xff",
		"empty":                             "",
	} {
		for server, at := range map[string]*httptest.Server{"the service": w.front, "the relay": r.Server} {
			if event := <-w.stream(at, w.eventsOf(at, public), "", "Last-Event-ID", id); strings.Fields(event)[0] != first {
				t.Errorf("a client with a version %s hears from %s of %s", name, server, event)
			}
		}
	}
}
