package browsertest

import (
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
)

const documentedPort = "6580"

// serveAsDocumented starts a server on the port that the guides name, and
// returns the snippet unchanged. Only when that port is taken is it another
// one, in the snippet too.
func serveAsDocumented(t *testing.T, datadir, snippet string) string {
	t.Helper()
	if !strings.Contains(snippet, "http://127.0.0.1:"+documentedPort) {
		t.Fatalf("the snippet does not name the documented address:\n%s", snippet)
	}
	problem := start(t, datadir, documentedPort)
	switch {
	case problem == "":
		return snippet
	case !strings.Contains(problem, "is taken"):
		t.Fatal(problem)
	}
	port := serve(t, datadir)
	t.Logf("port %s is taken, so that the snippet is tried with %s", documentedPort, port)
	return strings.ReplaceAll(snippet, ":"+documentedPort, ":"+port)
}

const (
	oldCheckout = "the old checkout"
	newCheckout = "the new checkout"
)

func TestBrowserSnippet(t *testing.T) {
	dir := copySample(t, nil)
	page := serveAsDocumented(t, dir, guides.Snippet(t, "README.md", "browser"))
	tab := openTab(t, newSite(t, map[string]string{"/": page}).origin("localhost"))
	tab.waitForText(t, newCheckout)

	switchOff(t, dir)
	eventually(t, "an edit is seen by a reload", func() (any, bool) {
		tab.reload(t)
		got := tab.settled(t)
		return got, got == oldCheckout
	})
}

// settled waits until the snippet has written something.
func (tab tab) settled(t *testing.T) string {
	t.Helper()
	var text string
	eventually(t, "the page says something", func() (any, bool) {
		text = tab.text(t)
		return text, text != ""
	})
	return text
}

func TestOpenFeatureWebSnippet(t *testing.T) {
	browser(t)
	dir := copySample(t, nil)
	program := serveAsDocumented(t, dir, guides.Snippet(t, "shared/client/README.md", "openfeature-web"))
	tab := openTab(t, bundleSite(t, program).origin("localhost"))
	tab.waitForText(t, newCheckout)

	switchOff(t, dir)
	tab.waitForText(t, oldCheckout) // by itself
	tab.reload(t)
	if got := tab.settled(t); got != oldCheckout {
		t.Errorf("a page loaded after the edit first says %q", got)
	}
}

func TestOpenFeatureServerSnippet(t *testing.T) {
	dir := copySample(t, nil)
	program := serveAsDocumented(t, dir, guides.Snippet(t, "shared/client/README.md", "openfeature-server"))
	run := func() string {
		cmd := node(t, program)
		cmd.Stderr = t.Output()
		out, err := cmd.Output()
		must(t, err)
		return strings.TrimSpace(string(out))
	}
	if got := run(); got != newCheckout {
		t.Errorf("the program says %q", got)
	}
	switchOff(t, dir)
	eventually(t, "an edit is seen by the next run", func() (any, bool) {
		got := run()
		return got, got == oldCheckout
	})
}
