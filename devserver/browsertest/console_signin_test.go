package browsertest

import (
	"strings"
	"testing"
)

// login is an address that signs somebody in, once.
func (w *workspace) login(t *testing.T, name string, roles ...string) string {
	t.Helper()
	args := []string{"login", "--data", w.data, "--name", name, "--email", strings.ToLower(name) + "@acme.example", "--public-url", w.base}
	for _, role := range roles {
		args = append(args, "--role", role)
	}
	return svc(t, args...)
}

// openSignedIn opens the console for somebody who has a session.
func openSignedIn(t *testing.T, w *workspace, s screen, place, name string, roles ...string) docsPage {
	t.Helper()
	p := blankTab(t, s)
	p.load(t, w.login(t, name, roles...))
	p.click(t, ".signin .primary")
	p.wait(t, ".frame nav")
	p.visit(t, place)
	p.wait(t, "main h1")
	return p
}

// Somebody is signed in by an address, once, stays so across reloads, and is signed out
// everywhere at once.
func TestConsoleSignsAPersonInOnce(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	address := w.login(t, "Ada", "engineer")
	p := blankTab(t, desk)
	p.load(t, address)
	p.says(t, ".signin", "signs one person in, once")
	if shown := call[string](t, p.tab, `() => location.href`); strings.Contains(shown, "svc_ot_") {
		t.Errorf("the key stays in the address: %s", shown)
	}
	p.click(t, ".signin .primary")
	p.says(t, ".me", "ada@acme.example")
	p.reload(t)
	p.says(t, ".me", "ada@acme.example")
	if kept := call[string](t, p.tab, `() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)`); strings.Contains(kept, "svc_") {
		t.Errorf("a script can read the session: %s", kept)
	}
	p.visit(t, "#/flags/dark-mode")
	p.says(t, "main", "dark-mode")
	p.load(t, address)
	p.click(t, ".signin .primary")
	p.says(t, ".signin", "signs nobody in")
	p.click(t, ".signin button:not(.primary)")
	p.says(t, ".me", "ada@acme.example") // who was signed in still is
	p.click(t, `[aria-label="Sign out"]`)
	p.wait(t, "#key")
	p.reload(t)
	p.wait(t, "#key")
}
