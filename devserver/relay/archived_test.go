package relay

import (
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/testenv"
)

// environments declares which the workspace has, as git does.
func (w *world) environments(text string) {
	w.Helper()
	bare := apiload.Git{Program: testenv.Program(w.T, "on Debian, apt-get install git", "git"), Dir: filepath.Join(w.dir, "repository.git")}
	file := filepath.Join(w.TempDir(), "svc.json")
	w.must(os.WriteFile(file, []byte(`{"environments":`+text+`}`), 0o600))
	w.Setenv("GIT_INDEX_FILE", filepath.Join(w.TempDir(), "index"))
	bare.Run(w.T, "read-tree", "refs/heads/main")
	bare.Run(w.T, "update-index", "--cacheinfo", "100644,"+bare.Run(w.T, "hash-object", "-w", file)+",svc.json")
	commit := bare.Run(w.T, "commit-tree", bare.Run(w.T, "write-tree"), "-p", "refs/heads/main", "-m", "Change")
	bare.Run(w.T, "update-ref", "refs/heads/main", commit)
}

// TestAnEnvironmentThatIsArchived is served by no relay either, until it is back. Others
// of the same relay are.
func TestAnEnvironmentThatIsArchived(t *testing.T) {
	testenv.Slow(t)
	const archived = `["development",{"name":"production","archived":true}]`
	w := newWorld(t, shop)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "development")
	r := w.relay(Options{Keys: []string{secret, w.key(access.KindSecretSDK, "development")}, Cache: t.TempDir()})
	frontend := w.relay(Options{Keys: []string{secret}, FrontendKey: "web"})
	w.must(r.Await(t.Context()))
	w.must(frontend.Await(t.Context()))
	events := w.eventsOf(r.Server, public)
	unseen := w.eventsOf(w.front, w.key(access.KindPublicSDK, "development"))
	made := events[:len(events)-4] + "AAAA"
	statuses := func(want map[string]int) func() bool {
		return func() bool {
			for name, ask := range map[string]func() answer{
				"a browser":             func() answer { return w.ask(r.Server, "GET", polls+someone, public, "") },
				"OFREP":                 func() answer { return w.ask(r.Server, "POST", "/ofrep/v1/evaluate/flags", public, "{}") },
				"a stream":              func() answer { return w.ask(r.Server, "HEAD", events, "", "") },
				"the one key":           func() answer { return w.ask(frontend.Server, "GET", polls+someone, "web", "") },
				"a server":              func() answer { return w.ask(r.Server, "GET", "/api/v2/configs", secret, "") },
				"another environment":   func() answer { return w.ask(r.Server, "GET", polls+someone, other, "") },
				"a stream of the other": func() answer { return w.ask(r.Server, "HEAD", unseen, "", "") },
				"a made-up token":       func() answer { return w.ask(r.Server, "HEAD", made, "", "") },
			} {
				if got := ask(); want[name] != 0 && got.status != want[name] {
					return false
				}
			}
			return true
		}
	}
	gone := map[string]int{"a browser": 401, "OFREP": 401, "a stream": 401, "the one key": 401, "a server": 401,
		"another environment": 200, "a stream of the other": 200, "a made-up token": 401}
	w.environments(archived)
	w.eventually("the environment is refused", statuses(gone))
	w.environments(`["development","production"]`)
	w.eventually("it is served again", statuses(map[string]int{"a browser": 200, "OFREP": 200, "a stream": 200, "the one key": 200, "a server": 200, "another environment": 200}))
	w.environments(`["development","prod"]`)
	w.eventually("one that has another name now is refused", statuses(gone))
}
