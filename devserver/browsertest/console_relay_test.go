package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/testing/freeport"
)

// A relay leads to its service's console, where a key is asked for, and the view that
// somebody has asked for is opened there.
func TestConsoleOfARelay(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	file := filepath.Join(t.TempDir(), "relay.key")
	must(t, os.WriteFile(file, []byte(w.applicationKey(t, "secret", "production")), 0o600))
	port := freeport.Take()
	if problem := launch(t, "serve", "--url", w.base, "--key-file", file, "--port", port, "--console"); problem != "" {
		t.Fatal(problem)
	}
	p := blankTab(t, desk)
	p.load(t, "http://127.0.0.1:"+port+"/console/#/flags/new-checkout?edit=staging&kind=value&set=true")
	p.wait(t, "#key")
	if at := call[string](t, p.tab, `() => location.origin`); at != w.base {
		t.Errorf("a key is asked for at %s", at)
	}
	p.signIn(t, w.key(t, "Ada", "protected_engineer"))
	p.says(t, "dialog .messages", "staging enabled set to true")
	p.apply(t)
	p.quiet(t)
}
