package browsertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

// config is a document that serves one value to everyone.
func config(key, valueType, value string) string {
	return fmt.Sprintf(`{"key": %q, "type": "config", "valueType": %[2]q, "access": "standard", "default": {"rules": [
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": %[2]q, "value": %[3]s}}]}}`, key, valueType, value)
}

// focused is the text of the field that has the focus.
func (p docsPage) focused(t *testing.T) string {
	t.Helper()
	return call[string](t, p.tab, textIn, "")
}

// holds waits until a field has a text.
func (p docsPage) holds(t *testing.T, selector, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s holds %q", selector, want), func() (any, bool) {
		got := call[string](t, p.tab, textIn, selector)
		return fmt.Sprintf("%q", got), got == want
	})
}

// A field that becomes another while somebody types would take the focus away, and what
// is typed after that.
func TestConsoleKeepsTheFieldThatATextIsTypedInto(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, map[string]string{"configs/text.json": config("text", "string", `"a"`)}))
	for _, form := range []struct{ name, place, first, field string }{
		{"a value", "#/configs/text?edit=default&kind=value", "", "dialog .field :is(input, textarea)"},
		{"the value of a rule", "#/configs/text?edit=default&kind=rules", ".draft:nth-child(1) .edit", ".gets-fields :is(input, textarea)"},
	} {
		t.Run(form.name, func(t *testing.T) {
			p := blankTab(t, desk)
			p.load(t, base+"/console/"+form.place)
			if form.first != "" {
				p.click(t, form.first)
			}
			p.write(t, form.field, strings.Repeat("x", 58))
			want := strings.Repeat("x", 58)
			for _, letter := range "abcdef" {
				p.insert(t, string(letter))
				want += string(letter)
				p.drawnOnce(t)
			}
			if got := p.focused(t); got != want {
				t.Errorf("what is typed over 60 characters became %q", got)
			}
			p.holds(t, form.field, want)
			call[bool](t, p.tab, `(selector) => {
				const field = document.querySelector(selector);
				field.value = "one\ntwo";
				field.setSelectionRange(4, 4);
				return field.dispatchEvent(new Event("input", { bubbles: true }));
			}`, form.field)
			p.drawnOnce(t)
			for _, key := range []string{"\b", "a", "b"} { // takes the line break away
				p.press(t, key)
				p.drawnOnce(t)
			}
			if got := p.focused(t); got != "oneabtwo" {
				t.Errorf("without its line break the text became %q", got)
			}
		})
	}
}

// drawnOnce waits until what an event did is drawn.
func (p docsPage) drawnOnce(t *testing.T) {
	t.Helper()
	call[bool](t, p.tab, `() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// form is a form of the console, and a field of it that somebody writes in.
type form struct{ name, place, field string }

var forms = []form{
	{"a document", "#/configs/text/document?raw=1", jsonEditor},
	{"a value", "#/configs/text?edit=default&kind=value", "dialog .field :is(input, textarea)"},
	{"a new flag", "#/flags?new=1", "dialog .field:last-of-type :is(input, textarea)"},
	{"a logger", "#/log-levels/log-level.storefront?edit=default&kind=value", `dialog input`},
	{"a schema", "#/configs/text?schema=1", jsonEditor},
}

// What is typed is there again however a form was left, and Cancel can be undone.
func TestConsoleKeepsWhatIsTypedInAForm(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"configs/text.json": config("text", "string", `"a"`)}))
	key := w.key(t, "Ada", "protected_engineer")
	var p docsPage
	leave := []func(){ // one way for each form: all forms are in the same dialog
		func() { p.press(t, escape) },
		func() { p.click(t, "dialog header [aria-label=Close]") },
		func() { p.back(t) },
		func() { p.visit(t, "#/segments") },
		func() { p.do(t, "clicking beside the dialog", chromedp.MouseClickXY(3, 890)) },
	}
	for i, form := range forms {
		p = openConsole(t, w, desk, "#/flags", key) // Chromium ignores a page that goes to hundreds of places in seconds
		p.visit(t, form.place)
		const text = "typed"
		p.write(t, form.field, text)
		leave[i]()
		p.gone(t, "dialog")
		p.visit(t, "#/flags")
		p.wait(t, ".row")
		p.visit(t, form.place)
		p.holds(t, form.field, text)
		p.says(t, "dialog .resumed", "Your draft is restored")
		p.click(t, "dialog .dialog-foot button:first-child")
		p.gone(t, "dialog")
		p.says(t, ".notice", "Draft discarded")
		p.click(t, ".notice .link")
		p.holds(t, form.field, text)
		p.click(t, "dialog .resumed button")
		p.gone(t, "dialog .resumed")
		if got := call[string](t, p.tab, textIn, form.field); got == text {
			t.Errorf("%s, begun anew, holds %q", form.name, got)
		}
		p.write(t, form.field, text)
	}
	if kept := call[string](t, p.tab, `() => JSON.stringify([{...localStorage}, {...sessionStorage}])`); strings.Contains(kept, "typed") {
		t.Errorf("what is typed on a workspace is kept in %s", kept)
	}
}

// What others do to an item while work on it lies aside is not overwritten unseen.
func TestConsoleTellsWhatWasDoneBesideWorkThatLayAside(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"configs/text.json": config("text", "string", `"a"`)}))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/configs/text/document", key)
	p.visit(t, "#/configs/text/document?raw=1")
	p.write(t, jsonEditor, config("text", "string", `"mine"`))
	p.says(t, "dialog .messages", "mine")
	p.press(t, escape)
	p.gone(t, "dialog")
	w.send(t, w.key(t, "Grace", "protected_engineer"), "PATCH", "/v1/configs/text/environments/default", `{"value": "theirs"}`)
	p.says(t, ".document pre", "theirs")
	p.visit(t, "#/configs/text/document?raw=1")
	p.says(t, "dialog .box.warn", "Someone else changed this")
	p.says(t, "dialog .box.warn", "theirs")

	// Before work is lost the page asks. Of a workspace nothing is kept over a reload.
	p.asks(t)
	p.wait(t, "#key")
	p.signIn(t, key)
	p.wait(t, forms[0].field)
	if got := call[string](t, p.tab, textIn, forms[0].field); strings.Contains(got, "mine") {
		t.Error("a document of a workspace is kept over a reload")
	}
	p.reload(t) // nobody asks
	p.wait(t, "#key")
}

// asks reloads the page, which must ask first, and says yes to that.
func (p docsPage) asks(t *testing.T) {
	t.Helper()
	asked := make(chan page.DialogType, 8)
	must.Do(t, chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*page.EventJavascriptDialogOpening); ok {
			asked <- e.Type
			go func() {
				_, _ = chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}()
		}
	}))
	must.Get(chromedp.Call(p.ctx, page.Enable, page.EnableParams{}))(t)
	p.reload(t)
	select {
	case kind := <-asked:
		if kind != page.DialogTypeBeforeunload {
			t.Errorf("the page shows a dialog of type %s", kind)
		}
	default:
		t.Error("the page is loaded anew without a question")
	}
}

// A page belongs to one run of the server. What was typed is there after it was loaded anew.
func TestConsoleOfADirectoryKeepsWorkOverARestart(t *testing.T) {
	t.Parallel()
	dir, port := copySample(t, map[string]string{"configs/text.json": config("text", "string", `"a"`)}), freeport.Take()
	start := func() *svcbinary.Server {
		server := must.Get(svcbinary.Here("serve", "--console", "--datadir", dir, "--port", port))(t)
		t.Cleanup(func() { _ = server.Stop() })
		opensConsole(t, server)
		return server
	}
	server := start()
	again := func(p docsPage) {
		t.Helper()
		must.Do(t, server.Stop())
		server = start()
		p.says(t, "main", "The server was restarted")
		p.says(t, "main", "Your draft is there again")
		p.write(t, "#key", server.Console())
		loaded := make(chan struct{}, 8)
		must.Do(t, chromedp.Listen(p.ctx, func(event any) {
			if _, ok := event.(*page.EventLoadEventFired); ok {
				loaded <- struct{}{}
			}
		}))
		must.Get(chromedp.Call(p.ctx, page.Enable, page.EnableParams{}))(t)
		p.click(t, "main form button")
		select { // a page that is on its way out cannot be asked
		case <-loaded:
		case <-time.After(patience):
			t.Fatal("the page is not loaded anew")
		}
	}
	const place = "http://127.0.0.1:%s/console/%s"
	p := blankTab(t, desk)
	p.load(t, fmt.Sprintf(place, port, forms[0].place))
	p.write(t, forms[0].field, config("text", "string", `"typed"`))
	again(p)
	p.says(t, "dialog .messages", "typed")
	p.apply(t)

	p = blankTab(t, desk)
	p.load(t, fmt.Sprintf(place, port, "#/flags/search.suggestions?edit=production&kind=rules"))
	p.click(t, ".draft:nth-child(1) .remove")
	p.click(t, ".add-rule")
	p.write(t, ".draft.opened [aria-label=Property]", "user.typed")
	p.write(t, ".draft.opened .chips input", "vip")
	p.press(t, "\r")
	p.says(t, "dialog .messages", "rule changed")
	again(p)
	p.says(t, ".targeting > .resumed", "Your draft is restored")
	p.says(t, ".draft", "user.typed")
	p.says(t, "dialog .messages", "rule changed")
	p.apply(t)
	if text := readFile(t, filepath.Join(dir, "feature-flags", "search.suggestions.json")); !strings.Contains(string(text), "user.typed") || !strings.Contains(string(text), "weighted_values") {
		t.Errorf("%s", text)
	}
}

// Who leaves a dialog is back where it was opened.
func TestConsoleLeadsTheFocusBack(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, nil))
	for place, openers := range map[string][]string{
		"#/flags":                       {".heading .primary"},
		"#/flags/new-checkout":          {`[aria-label="Edit rules in staging"]`, ".here .actions button:last-child"},
		"#/flags/new-checkout/document": {".document button:last-child"},
		"#/configs/home.banner":         {".facts button"},
	} {
		p := blankTab(t, desk)
		p.load(t, base+"/console/"+place)
		for _, opener := range openers {
			p.wait(t, opener)
			call[bool](t, p.tab, `(selector) => { document.querySelector(selector).focus(); return true }`, opener)
			p.press(t, "\r")
			p.wait(t, "dialog .dialog-foot")
			p.press(t, escape)
			p.gone(t, "dialog")
			eventually(t, opener+" has the focus again", func() (any, bool) {
				at := call[string](t, p.tab, `(selector) => document.activeElement?.matches(selector) ? "" : document.activeElement?.outerHTML.slice(0, 120) ?? "nothing"`, opener)
				return at, at == ""
			})
		}
	}
}

// Where a file cannot be read, the item's page and the list say what is served of it.
func TestConsoleSaysThatTheLastGoodFileIsServed(t *testing.T) {
	t.Parallel()
	dir := copySample(t, nil)
	p := blankTab(t, desk)
	p.load(t, serveConsole(t, dir)+"/console/#/flags/new-checkout")
	p.wait(t, ".scope")
	write(t, dir, "feature-flags/new-checkout.json", "{ broken")
	p.says(t, ".broken", "This file cannot be read as it stands. What is served of it is the last good version")
	p.visit(t, "#/flags")
	p.says(t, ".broken", "1 document cannot be read as it stands")
	p.says(t, ".row", "Cannot be read as it stands; the last good version is served.")
	p.click(t, ".broken a")
	p.says(t, ".feed", "new-checkout.json")
	edit(t, dir, "feature-flags/search.suggestions.json", "{", "{ ")
	p.visit(t, "#/flags/search.suggestions")
	p.wait(t, ".scope")
	p.gone(t, ".broken")
}
