package browsertest

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
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
	p.says(t, ".signin", "works once, for one person")
	if shown := call[string](t, p.tab, `() => location.href`); strings.Contains(shown, "svc_ot_") {
		t.Errorf("the key stays in the address: %s", shown)
	}
	p.click(t, ".signin .primary")
	p.says(t, ".me", "ada@acme.example")
	p.says(t, "h1", "Flags")
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

// issuer is a provider of OpenID Connect that runs.
type issuer struct{ base string }

const clientSecret = "the secret of a client that signs people in"

// startIssuer starts one that knows a service at an address.
func startIssuer(t *testing.T, base string) issuer {
	t.Helper()
	needsPackages(t)
	i := issuer{"http://127.0.0.1:" + freeport.Take()}
	cmd := exec.Command(testenv.Program(t, "on Debian, apt-get install nodejs", "node"), filepath.Join("testdata", "issuer.mjs"), i.base, "svc", clientSecret, base+"/console/api/oidc/callback")
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the issuer says %q, %v", line, err)
	}
	return i
}

// is changes what the issuer says, of an account or of itself.
func (i issuer) is(t *testing.T, what string) {
	t.Helper()
	answer := must.Get(http.Post(i.base+"/test", "application/json", strings.NewReader(what)))(t)
	must.Do(t, answer.Body.Close())
}

// at signs somebody in at the issuer's own pages.
func (p docsPage) at(t *testing.T, name string) {
	t.Helper()
	p.click(t, ".signin .primary")
	p.wait(t, "[name=login]")
	p.write(t, "[name=login]", name)
	p.write(t, "[name=password]", "any")
	p.click(t, "[type=submit]")
	p.says(t, "body", "Authorize") // the same page asks whether svc may know
	p.click(t, "[type=submit]")
}

// People sign in with a provider, as who they are there, with the roles that it says.
func TestConsoleSignsPeopleInWithAProvider(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	w.halt()
	i := startIssuer(t, w.base)
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte(clientSecret+"\n"), 0o600))
	w.start(t, "--public-url", w.base, "--oidc-issuer", i.base, "--oidc-client-id", "svc", "--oidc-client-secret-file", secret,
		"--oidc-scope", "groups", "--oidc-roles-claim", "groups", "--oidc-role", "platform=protected_engineer", "--oidc-role", "ops=admin")
	open := func(name string) docsPage {
		p := blankTab(t, desk)
		p.load(t, w.base+"/console/")
		p.says(t, ".signin", "Sign in with 127.0.0.1")
		p.at(t, name)
		return p
	}
	open("eve").says(t, ".signin", "Nobody has let you in here yet") // who is in no group

	i.is(t, `{"account": "ada", "claims": {"groups": ["platform", "people"]}}`)
	p := open("ada")
	p.says(t, ".me", "ada@acme.example")
	p.visit(t, "#/flags/dark-mode?edit=production&kind=value")
	p.wait(t, "dialog")
	if audit := svc(t, "audit", "--data", w.data); !strings.Contains(audit, "protected_engineer (claimed)") || !strings.Contains(audit, "signs in as: ada of "+i.base) {
		t.Errorf("the audit trail:\n%s", audit)
	}

	// Settings tell an admin whom people sign in with, and no secret.
	admin := openSignedIn(t, w, desk, "#/settings/sign-in", "Root", "admin")
	for _, want := range []string{i.base, "svc", "groups", "platform gives protected_engineer", w.base + "/console/api/oidc/callback", "Whoever has a role by the claim"} {
		admin.says(t, ".told", want)
	}
	if answer := call[string](t, admin.tab, `async () => (await fetch("api/settings/sign-in", { headers: { "Svc-Console": "1" } })).text()`); strings.Contains(answer, clientSecret) || !strings.Contains(answer, i.base) {
		t.Errorf("the settings of signing in: %s", answer)
	}

	// Who links themselves is told that it worked.
	i.is(t, `{"account": "grace", "claims": {}}`)
	grace := openSignedIn(t, w, desk, "#/settings/you", "Grace", "engineer")
	grace.button(t, "Sign in with "+strings.TrimPrefix(i.base, "http://")+" from now on")
	grace.wait(t, "[name=login]")
	grace.write(t, "[name=login]", "grace")
	grace.write(t, "[name=password]", "any")
	grace.click(t, "[type=submit]")
	grace.says(t, "body", "Authorize")
	grace.click(t, "[type=submit]")
	grace.says(t, ".notice", "It worked: you sign in with 127.0.0.1")
	grace.says(t, ".told", "An admin can unlink that.")

	// A key that the issuer signs with from now on is found; so is a role that it no longer gives.
	i.is(t, `{"rotate": "second"}`)
	i.is(t, `{"account": "ada", "claims": {"groups": ["ops"]}}`)
	open("ada").says(t, ".me", "ada@acme.example")
	if list := svc(t, "principal", "list", "--data", w.data); !strings.Contains(list, "admin (claimed)") || strings.Contains(list, "protected_engineer (claimed)") {
		t.Errorf("the roles are not those that the issuer says now:\n%s", list)
	}

	// An issuer that is away signs nobody in, and nobody out.
	i.is(t, `{"gone": true}`)
	p.reload(t)
	p.says(t, ".me", "ada@acme.example")
}
