package browsertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"svc.example/svc/shared/testing/must"
)

// jsonEditor is the editor in a dialog. It takes the place of a plain field once it is loaded.
const jsonEditor = "dialog .cm-content"

// caret puts the caret behind a text that stands in the editor.
func (p docsPage) caret(t *testing.T, behind string) {
	t.Helper()
	found := call[bool](t, p.tab, `(selector, behind) => {
		const editor = document.querySelector(selector).cmTile.root.view, at = editor.state.doc.toString().indexOf(behind);
		editor.focus();
		editor.dispatch({ selection: { anchor: at + behind.length } });
		return at >= 0;
	}`, jsonEditor, behind)
	if !found {
		t.Fatalf("the editor does not hold %q", behind)
	}
}

// suggest presses Ctrl and Space.
func (p docsPage) suggest(t *testing.T) {
	t.Helper()
	p.chord(t, control, " ", keySpace)
}

// marked waits until these parts of the text are marked as wrong.
func (p docsPage) marked(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q are marked", want), func() (any, bool) {
		got := call[[]string](t, p.tab, `() => [...document.querySelectorAll("dialog .cm-lintRange")].map((e) => e.textContent)`)
		return got, slices.Equal(got, want)
	})
}

// What is no JSON is marked where it ceases to be, and what the server refuses where it
// points to: in a document, a value and a schema.
func TestConsoleMarksWhatIsWrongInJSON(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/configs/home.banner/document?raw=1", w.key(t, "Ada", "protected_engineer"))
	p.wait(t, jsonEditor)
	text := call[string](t, p.tab, textIn, jsonEditor)
	p.marked(t)
	p.write(t, jsonEditor, strings.Replace(text, `"standard"`, `"nobody"`, 1))
	p.says(t, "dialog .review", "access is one of")
	p.marked(t, `"nobody"`)
	p.wait(t, "dialog .cm-lint-marker-error")
	p.write(t, jsonEditor, strings.Replace(text, `"dismissable": true`, `"strange": true`, 1))
	p.marked(t, `true`)
	p.press(t, kb.F8)
	p.says(t, "dialog .cm-tooltip-lint", "the schema does not allow this member here")
	p.write(t, jsonEditor, strings.Replace(text, `"access": "standard",`, `"access": "standard"; "a": [,`, 1))
	p.says(t, "dialog .problem", "This is not JSON")
	p.marked(t, ";")
	p.write(t, jsonEditor, strings.Replace(text, `"standard"`, `"support"`, 1))
	p.marked(t)
	p.says(t, "dialog .messages", "support")

	p.visit(t, "#/configs/home.banner?edit=default&kind=value")
	p.says(t, "dialog h2", "default")
	p.write(t, jsonEditor, `{"text": {"a": 5}, "dismissable": 7}`)
	p.marked(t, `"text"`, "7")
	p.says(t, "dialog .problem", "/dismissable: ")

	p.visit(t, "#/configs/home.banner?schema=1")
	p.says(t, "dialog h2", "Schema")
	p.write(t, jsonEditor, `{"type": "thing", "properties": {"a/b": {"minLength": -1}}}`)
	p.marked(t, `"thing"`, "-1")
	p.quietBut(t, "status of 4")
}

// Names and values are offered from the schema: of documents, of a config's values, and of
// schemas themselves.
func TestConsoleOffersWhatASchemaHas(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, nil))
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/configs/home.banner?edit=default&kind=value")
	p.write(t, jsonEditor, `{"text": "Hello"}`)
	p.caret(t, `"Hello"`)
	p.hold(t, "/v1/schemas/")
	p.press(t, ",")
	p.held(t)
	p.press(t, `"`) // while the schema is on its way
	p.late(t)
	p.says(t, "dialog .cm-tooltip-autocomplete", `"dismissable"`)
	if all := call[string](t, p.tab, `() => document.querySelector("dialog .cm-tooltip-autocomplete").innerText`); strings.Contains(all, "text") {
		t.Errorf("a name is offered that is there already: %s", all)
	}
	p.settled(t)
	p.chord(t, 0, "Enter", 13)
	p.press(t, "t")
	p.says(t, "dialog .cm-tooltip-autocomplete", "true")
	p.settled(t)
	p.chord(t, 0, "Enter", 13)
	p.holds(t, jsonEditor, `{"text": "Hello","dismissable": true}`)
	p.says(t, "dialog .messages", "Hello")

	p.visit(t, "#/flags/new-checkout/document?raw=1")
	p.says(t, "dialog h2", "new-checkout")
	p.wait(t, jsonEditor)
	p.caret(t, `"access": "`)
	p.suggest(t)
	p.says(t, "dialog .cm-tooltip-autocomplete", `"protected-all-envs"`)
	p.says(t, "dialog .cm-completionInfo", "Edits need config.edit.support.") // of the first: they stand as in the schema
	p.press(t, escape)                                                        // closes what is offered, and not the dialog
	p.gone(t, "dialog .cm-tooltip-autocomplete")
	p.caret(t, `"criteria": [`)
	p.press(t, `{`, `"`)
	p.says(t, "dialog .cm-tooltip-autocomplete", `"propertyName"`)
	p.press(t, "o", "p")
	p.settled(t)
	p.chord(t, 0, "Enter", 13)
	p.suggest(t)
	p.says(t, "dialog .cm-tooltip-autocomplete", `"PROP_IS_ONE_OF"`)
	if n := len(p.log.answered(base + "/schemas/")); n != 1 {
		t.Errorf("the schema of documents is read %d times", n)
	}

	p.visit(t, "#/configs/home.banner?schema=1")
	p.says(t, "dialog h2", "Schema")
	p.write(t, jsonEditor, `{"type": "object", "properties": {"a": {}}}`)
	p.caret(t, `"a": {`)
	p.press(t, `"`, "m", "a", "x", "L")
	p.says(t, "dialog .cm-tooltip-autocomplete", `"maxLength"`)
	p.quiet(t)
}

// settled waits until what is offered may be taken: not before a person can have seen it.
func (p docsPage) settled(t *testing.T) {
	t.Helper()
	call[bool](t, p.tab, `() => new Promise((done) => setTimeout(() => done(true), 100))`)
}

// Keys do in the editor what they do in a field: Tab leaves it, Escape closes the dialog, what
// was written can be taken back, and a reader of the screen is told what it is.
func TestConsoleEditorIsAField(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, nil))
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/configs/home.banner/document?raw=1")
	p.wait(t, jsonEditor)
	eventually(t, "the editor has the focus", func() (any, bool) {
		at := call[string](t, p.tab, `() => document.activeElement.className`)
		return at, strings.Contains(at, "cm-content")
	})
	if said := call[[]string](t, p.tab, `(selector) => {
		const field = document.querySelector(selector), of = (name) => field.getAttribute(name).split(" ").map((id) => document.getElementById(id)?.textContent ?? "nothing").join(" ");
		return [field.role, of("aria-labelledby"), of("aria-describedby")];
	}`, jsonEditor); said[0] != "textbox" || said[1] != "Document, as JSON" || !strings.Contains(said[2], "Tab") || strings.Contains(said[2], "nothing") {
		t.Errorf("%q", said)
	}
	text := call[string](t, p.tab, textIn, jsonEditor)
	p.caret(t, `"key": "`)
	p.press(t, "/", "x") // which opens no palette
	p.holds(t, jsonEditor, strings.Replace(text, `"key": "`, `"key": "/x`, 1))
	p.chord(t, control, "z", 90)
	p.holds(t, jsonEditor, text)
	p.press(t, "\t")
	if at := call[string](t, p.tab, `() => document.activeElement.closest("dialog") ? document.activeElement.className : "outside"`); strings.Contains(at, "cm-") || at == "outside" {
		t.Errorf("Tab leads to %q", at)
	}
	p.caret(t, `"key": "`)
	p.press(t, escape)
	p.gone(t, "dialog")
	p.quiet(t)
}

// largeValue is JSON of about a megabyte.
func largeValue() string {
	rows := make([]string, 12_000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id": %d, "name": "Somebody %d", "tags": ["a", "b", "c"], "on": true}`, i, i)
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// While somebody types into a megabyte nothing reads all of it, and nothing is asked. Once they
// pause it is asked once, and what they leave before that is kept too.
func TestConsoleReadsNoLargeTextAtEachKey(t *testing.T) {
	t.Parallel()
	value := largeValue()
	base := serveConsole(t, copySample(t, map[string]string{"configs/large.json": config("large", "json", value)}))
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/configs/large?edit=default&kind=value")
	p.wait(t, jsonEditor)
	p.says(t, "dialog .review", "Nothing")
	type work struct{ Reads, Requests, Longest int }
	typed := call[work](t, p.tab, `async (selector) => {
		const work = window.work = { reads: 0, requests: 0, longest: 0 };
		for (const name of ["parse", "stringify"]) {
			const was = JSON[name];
			JSON[name] = (...args) => { const made = was.apply(JSON, args); work.reads += (name === "parse" ? args[0] : made ?? "").length > 500_000; return made };
		}
		// No pause is long enough on a busy machine: the page's clock stands while somebody types.
		const { setTimeout: start, clearTimeout: stop } = window, held = new Map();
		let n = 0;
		window.setTimeout = (run, ms, ...args) => ms >= 100 ? (held.set(--n, [run, ms, ...args]), n) : start(run, ms, ...args);
		window.clearTimeout = (id) => held.delete(id) || stop(id);
		const ask = window.fetch;
		window.fetch = (...args) => { work.requests += String(args[0]).includes("dryRun"); return ask(...args) };
		const editor = document.querySelector(selector).cmTile.root.view;
		editor.focus();
		editor.dispatch({ selection: { anchor: editor.state.doc.toString().indexOf("Somebody 0") } });
		for (const letter of "abcdefghijklmnopqrst") {
			const began = performance.now();
			document.execCommand("insertText", false, letter);
			work.longest = Math.max(work.longest, Math.round(performance.now() - began));
			await new Promise((done) => requestAnimationFrame(done));
		}
		const { reads, requests, longest } = work;
		window.setTimeout = start;
		for (const waits of held.values()) start(...waits);
		return { Reads: reads, Requests: requests, Longest: longest };
	}`, jsonEditor)
	t.Logf("a key takes %d ms", typed.Longest)
	if typed.Reads >= 20 || typed.Requests > 0 { // the dry run that was just answered may have it read
		t.Errorf("while 20 letters are typed the text is read %d times, and asked about %d times", typed.Reads, typed.Requests)
	}
	p.says(t, "dialog .review", "abcdefghijklmnopqrstSomebody 0")
	if asked := call[int](t, p.tab, `() => window.work.requests`); asked != 1 {
		t.Errorf("for one pause it is asked %d times", asked)
	}
	call[bool](t, p.tab, `() => { document.execCommand("insertText", false, "left"); location.hash = "#/configs"; return true }`)
	p.gone(t, "dialog")
	p.visit(t, "#/configs/large?edit=default&kind=value")
	p.says(t, "dialog .resumed", "Your draft is restored")
	p.wait(t, jsonEditor)
	if got := call[string](t, p.tab, textIn, jsonEditor); !strings.Contains(got, "abcdefghijklmnopqrstleftSomebody 0") {
		t.Error("what was typed last is lost")
	}
	p.quiet(t)
}

// Whoever has no editor has the plain field.
func TestConsoleDoesWithoutTheEditor(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, nil))
	p := blankTab(t, desk)
	p.block(t, base+"/console/*/editor.js")
	p.load(t, base+"/console/#/configs/home.banner?edit=default&kind=value")
	p.write(t, "dialog textarea", `{"text": 5}`)
	p.says(t, "dialog .problem", "/text: ")
	p.write(t, "dialog textarea", `{"text": "Plain"}`)
	p.says(t, "dialog .messages", "Plain")
	p.apply(t)
	for _, complaint := range p.complaints.all() {
		if !strings.Contains(complaint, "editor.js") && !strings.Contains(complaint, "status of 4") {
			t.Error(complaint)
		}
	}
}

// What no first view needs is loaded after it, once. Where it cannot be had, a view says so
// and the others go on.
func TestConsoleLoadsTheRestLater(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, nil))
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/flags")
	p.says(t, ".row .key", "new-checkout")
	loads := func() (n int) {
		for _, x := range p.log.answered(base + "/console/") {
			if strings.HasSuffix(x.URL, "/later.js") {
				n++
			}
		}
		return n
	}
	eventually(t, "the rest is loaded", func() (any, bool) { return loads(), loads() == 1 })
	p.visit(t, "#/compare")
	p.says(t, "h1", "Compare")
	if n := loads(); n != 1 {
		t.Errorf("the rest is loaded %d times", n)
	}
	p.quiet(t)

	lost := blankTab(t, desk)
	lost.block(t, base+"/console/*/later.js")
	lost.load(t, base+"/console/#/compare")
	lost.says(t, "main [role=alert]", "could not be loaded")
	lost.wait(t, "main [role=alert] button")
	lost.visit(t, "#/flags/new-checkout")
	lost.says(t, "main", "Everyone")
}

// The editor is loaded where somebody edits JSON, and nowhere else.
func TestConsoleLoadsTheEditorWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, nil))
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/flags/new-checkout?edit=staging&kind=value&set=true")
	p.says(t, "dialog .messages", "staging")
	loads := func() (n int) {
		for _, x := range p.log.answered(base + "/console/") {
			if strings.HasSuffix(x.URL, "/editor.js") {
				n++
			}
		}
		return n
	}
	if loads() != 0 {
		t.Error("the editor is loaded where there is no JSON")
	}
	p.visit(t, "#/flags/new-checkout/document?raw=1")
	p.wait(t, jsonEditor)
	p.visit(t, "#/configs/home.banner?schema=1")
	p.says(t, "dialog h2", "Schema")
	p.wait(t, jsonEditor)
	if n := loads(); n != 1 {
		t.Errorf("the editor is loaded %d times", n)
	}
	p.quiet(t)
}

// A text that somebody means no good with does nothing but stand there.
func TestConsoleEditorHoldsHostileTexts(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, map[string]string{"schemas/evil.json": evilSchema, "configs/evil.json": strings.Replace(config("evil", "json", `{"a": 1}`), `"access"`, `"schemaKey": "evil", "access"`, 1)}))
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/configs/evil?edit=default&kind=value")
	p.wait(t, jsonEditor)
	key := strings.Repeat("k", 200)
	word := must.Get(json.Marshal(evil + "\u202e\u2066\u200b"))(t)
	hold := func(text string) {
		t.Helper()
		call[bool](t, p.tab, `(selector, text) => {
			const editor = document.querySelector(selector).cmTile.root.view;
			editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
			return true;
		}`, jsonEditor, text)
	}
	for name, text := range map[string]string{
		"levels": strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000), "open": strings.Repeat(`{"a":`, 20_000), "long line": `"` + strings.Repeat("x", 900_000) + `"`,
		"key": `{"` + key + `": {"` + key + `": 1}}`, "html": `{` + string(word) + `: [` + string(word) + `]}`, "no JSON": "\u2028<img src=x onerror=alert(1)>\u0000",
	} {
		hold(text)
		p.drawnOnce(t)
		p.press(t, "x", "\b")
		p.suggest(t)
		p.drawnOnce(t)
		if owned := call[string](t, p.tab, `() => document.querySelector("dialog img:not(.cm-widgetBuffer), dialog script") ? "an element" : document.title === "owned" ? "a title" : ""`); owned != "" {
			t.Errorf("%s: a text has made %s", name, owned)
		}
	}
	hold(strings.Repeat("[", 50_000)) // which is not parsed: what comes after it is again
	hold(`{"a": 1, "b": {}}`)
	p.caret(t, `{`)
	p.suggest(t)
	p.says(t, "dialog .cm-tooltip-autocomplete", "<img")
	p.caret(t, `"b": {`)
	p.suggest(t)
	p.says(t, "dialog .review", "What changes")
	p.quietBut(t, "status of 4")
}

// evilSchema refers to itself, over and over, and describes its members in HTML.
var evilSchema = `{"type": "object", "anyOf": [{"additionalProperties": {"$ref": "#"}}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
	"properties": {"<img src=x onerror=document.title='owned'>": {"description": "<img src=x onerror=document.title='owned'>", "default": "<script>"}},
	"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}, {}]}, "b": {"anyOf": [{"items": {"$ref": "#/$defs/a"}}, {"$ref": "#/$defs/c"}, {"$ref": "#/$defs/c"}, {}]}, "c": {"additionalProperties": {"$ref": "#/$defs/c"}}}}`

// What is written in the editor stays where somebody else changes the document meanwhile, where
// the key may not do it, and where it is revoked.
func TestConsoleEditorKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"configs/shape.json": config("shape", "json", `{"a": 1}`)}))
	key, other := w.key(t, "Ada", "protected_engineer"), w.key(t, "Grace", "protected_engineer")
	p := openConsole(t, w, desk, "#/configs/shape/document?raw=1", key)
	p.wait(t, jsonEditor)
	p.caret(t, `"a": `)
	p.insert(t, "2")
	p.says(t, "dialog .messages", `{"a":21}`)
	w.send(t, other, "PATCH", "/v1/configs/shape/environments/default", `{"value": {"a": 3}}`)
	p.insert(t, "2")
	p.says(t, "dialog .box.warn", "Someone else changed this")
	p.click(t, "dialog .box.warn button:not(.time)")
	p.says(t, "dialog .messages", `{"a":221}`)
	text := call[string](t, p.tab, textIn, jsonEditor)
	id := get[struct{ KeyID string }](t, w.base+"/v1/whoami", key).KeyID
	p.caret(t, `"a": 221`)
	p.insert(t, "0")
	svc(t, "key", "revoke", "--data", w.data, id) // which the page may hear of before it is asked for anything
	p.says(t, ".signin .problem", "Key revoked or expired")
	want := strings.Replace(text, `"a": 221`, `"a": 2210`, 1)
	p.signIn(t, w.key(t, "Alan", "engineer_nonprotected"))
	p.says(t, "dialog .resumed", "Your draft is restored")
	p.says(t, "dialog .box", "You don't have permission")
	p.holds(t, jsonEditor, want)
	p.quietBut(t, "status of 4")
}
