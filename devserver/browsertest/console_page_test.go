package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/must"
)

// see has applications report contexts.
func (w *workspace) see(t *testing.T, environment string, people ...string) {
	t.Helper()
	key := w.applicationKey(t, "secret", environment)
	var examples []string
	for i, name := range people {
		examples = append(examples, fmt.Sprintf(`{"timestamp": %d, "contextSet": {"contexts": [{"type": "user", "values": {"key": "user-%d", "name": %s, "email": "user-%d@acme.example", "plan": "%s"}}]}}`,
			time.Now().UnixMilli(), i+1, quoted(name), i+1, []string{"free", "pro", "enterprise"}[i%3]))
	}
	r := must.Get(http.NewRequest("POST", w.base+"/api/v1/telemetry/", strings.NewReader(`{"instanceHash": "t", "events": [{"exampleContexts": {"examples": [`+strings.Join(examples, ",")+`]}}]}`)))(t)
	r.SetBasicAuth("1", key)
	a := must.Get(http.DefaultClient.Do(r))(t)
	defer a.Body.Close()
	if a.StatusCode != 202 {
		t.Fatalf("telemetry: %s", a.Status)
	}
}

func quoted(text string) string {
	word, _ := json.Marshal(text)
	return string(word)
}

// copySample makes a directory of the sample, with some files more.
func copySample(t *testing.T, more map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS("../sample/directory")))
	for path, content := range more {
		write(t, dir, path, content)
	}
	return dir
}

// boolFlag is a flag that is off, as a document.
func boolFlag(key, rest string) string {
	return fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": "bool", "access": "standard"%s, "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}}`, key, rest)
}

// openConsole opens the console at a place, with a key.
func openConsole(t *testing.T, w *workspace, s screen, place, key string) docsPage {
	t.Helper()
	p := blankTab(t, s)
	p.load(t, w.base+"/console/"+place)
	p.signIn(t, key)
	p.wait(t, "main h1")
	return p
}

func (p docsPage) signIn(t *testing.T, key string) {
	t.Helper()
	p.write(t, "#key", key)
	p.click(t, ".signin .primary")
}

// says waits until a part of the page has a text.
func (p docsPage) says(t *testing.T, selector, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s says %q", selector, want), func() (any, bool) {
		got := call[string](t, p.tab, `(selector) => [...document.querySelectorAll(selector)].map((e) => e.innerText).join("\n")`, selector)
		return fmt.Sprintf("%q", got), strings.Contains(got, want)
	})
}

// gone waits until nothing fits a selector.
func (p docsPage) gone(t *testing.T, selector string) {
	t.Helper()
	eventually(t, selector+" is gone", func() (any, bool) {
		seen := p.sees(t, selector)
		return seen, !seen
	})
}

// visit leads to a place in the console, as a link would.
func (p docsPage) visit(t *testing.T, place string) {
	t.Helper()
	call[bool](t, p.tab, `(place) => { location.hash = place; return true }`, place)
}

// back is the browser's own button.
func (p docsPage) back(t *testing.T) {
	t.Helper()
	call[bool](t, p.tab, `() => { history.back(); return true }`)
}

// press presses keys, one after the other.
func (p docsPage) press(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		p.do(t, "pressing "+key, chromedp.KeyEvent(key))
	}
}

// slash presses the key that opens the palette, which a page can keep from
// becoming a character: chromedp.KeyEvent sends the character all the same.
func (p docsPage) slash(t *testing.T) {
	t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		key := input.DispatchKeyEventParams{Type: kind, Key: "/", Code: "Slash", WindowsVirtualKeyCode: 191}
		must.Get(chromedp.Call(p.ctx, input.DispatchKeyEvent, key))(t)
	}
}

// insert types into what has the focus.
func (p docsPage) insert(t *testing.T, text string) {
	t.Helper()
	must.Get(chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}))(t)
}

// apply waits for the dry run, and applies the change.
func (p docsPage) apply(t *testing.T) {
	t.Helper()
	p.wait(t, "dialog .review .messages")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
}
