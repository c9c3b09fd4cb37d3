package browsertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/must"
)

// docsPage is the reference page of a svc api, as a person works with it.
type docsPage struct {
	tab
	complaints *complaints
}

// complaints are what a browser has to say against a page: errors, warnings,
// exceptions, and what the page's policy did not allow.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) record(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if strings.HasSuffix(e.Entry.URL, "/console/api/session") && strings.Contains(e.Entry.Text, "401") {
			return // the page asks once who is signed in, and browsers note that it is nobody
		}
		if strings.Contains(e.Entry.Text, "net::ERR_NETWORK_CHANGED") {
			return // the network of the machine has changed, as it does where containers are started beside this
		}
		c.list = append(c.list, fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, arg := range e.Args {
			words = append(words, arg.Description+string(arg.Value))
		}
		c.list = append(c.list, fmt.Sprintf("console.%s: %s", e.Type, strings.Join(words, " ")))
	case *runtime.EventExceptionThrown:
		c.list = append(c.list, fmt.Sprintf("exception: %v", e.ExceptionDetails))
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			d := e.Issue.Details.ContentSecurityPolicyIssueDetails
			c.list = append(c.list, fmt.Sprintf("policy: %s, %s", d.ViolatedDirective, d.BlockedURL))
		}
	}
}

func (c *complaints) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// screen is what a page is looked at with.
type screen struct {
	width, height int64
	phone         bool
	scheme        string // of the system: light or dark
}

var (
	desk  = screen{1280, 900, false, "light"}
	phone = screen{390, 844, true, "dark"}
)

// impatience has the console look every half second for what others have done, not every five.
const impatience = `(() => { const every = setInterval; window.setInterval = (look, ms) => every(look, ms === 5000 ? 500 : ms) })()`

// blankTab is a tab that shows nothing yet, with somebody to hear complaints.
func blankTab(t *testing.T, s screen) docsPage {
	t.Helper()
	p := docsPage{openTab(t, "about:blank"), &complaints{}}
	must.Do(t, chromedp.Listen(p.ctx, p.complaints.record))
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable, audits.Enable} {
		must.Get(chromedp.Call(p.ctx, enable, cdp.Empty{}))(t)
	}
	if _, err := chromedp.Call(p.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err) // other tests have tabs that are in front too
	}
	must.Get(chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: impatience}))(t)
	var options []chromedp.EmulateViewportOption
	if s.phone {
		options = []chromedp.EmulateViewportOption{chromedp.EmulateMobile, chromedp.EmulateTouch}
	}
	p.do(t, "a screen", chromedp.EmulateViewport(s.width, s.height, options...))
	p.prefer(t, s.scheme)
	return p
}

// prefer makes the system light or dark.
func (p docsPage) prefer(t *testing.T, scheme string) {
	t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	must.Get(chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media))(t)
}

// openDocs opens the reference below an address and waits until it is drawn.
func openDocs(t *testing.T, base string, s screen) docsPage {
	t.Helper()
	p := blankTab(t, s)
	p.load(t, base+"/v1/docs")
	p.drawn(t)
	return p
}

func (p docsPage) drawn(t *testing.T) {
	t.Helper()
	p.wait(t, ".swagger-ui .opblock")
	p.wait(t, "#contents button")
}

// wait waits until something can be seen.
func (p docsPage) wait(t *testing.T, selector string) {
	t.Helper()
	eventually(t, selector+" can be seen", func() (any, bool) {
		seen := p.sees(t, selector)
		return seen, seen
	})
}

func (p docsPage) sees(t *testing.T, selector string) bool {
	t.Helper()
	return call[bool](t, p.tab, `(selector) => document.querySelector(selector)?.checkVisibility() ?? false`, selector)
}

// clean demands that the page was quiet and asked nobody but its own origin.
func (p docsPage) clean(t *testing.T, origin string) {
	t.Helper()
	if all := p.complaints.all(); len(all) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(all, "\n"))
	}
	if origins := p.log.origins(t); !slices.Equal(origins, []string{origin}) {
		t.Errorf("the page sent requests to %v, and only %s is its own", origins, origin)
	}
}

// middle is where a mouse would click on an element that stands still and is
// not covered by another. A busy machine draws few frames.
const middle = `async (selector) => {
	const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 200) });
	const element = document.querySelector(selector);
	element?.scrollIntoView({ block: "center", behavior: "instant" });
	await frame();
	const before = element?.getBoundingClientRect();
	await frame();
	const after = element?.getBoundingClientRect();
	if (!after || before.top !== after.top) return [];
	const at = [after.left + after.width / 2, after.top + after.height / 2];
	if (!element.contains(document.elementFromPoint(...at))) return [];
	window.clickMissed = false;
	addEventListener("click", (e) => { window.clickMissed = !element.contains(e.target) }, { capture: true, once: true });
	return at;
}`

// click clicks on an element, and again if it has moved away meanwhile.
func (p docsPage) click(t *testing.T, selector string) {
	t.Helper()
	eventually(t, "one can click on "+selector, func() (any, bool) {
		at := call[[]float64](t, p.tab, middle, selector)
		if len(at) != 2 {
			return at, false
		}
		p.do(t, "clicking on "+selector, chromedp.MouseClickXY(at[0], at[1]))
		ctx, cancel := context.WithTimeout(p.ctx, time.Second)
		defer cancel()
		missed, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.clickMissed === true`))
		return at, err != nil || !missed // the click may have led to another page
	})
}

// textIn is what stands in a field, or in the console's editor for JSON, which has on its
// element what CodeMirror's own findFromDOM goes by.
const textIn = `(selector) => {
	const field = selector ? document.querySelector(selector) : document.activeElement;
	return field?.cmTile?.root.view.state.doc.toString() ?? field?.value ?? "no field";
}`

// write replaces what stands in a field, as pasting does.
func (p docsPage) write(t *testing.T, selector, text string) {
	t.Helper()
	p.click(t, selector)
	call[bool](t, p.tab, `(selector) => {
		const field = document.querySelector(selector), editor = field.cmTile?.root.view;
		if (editor) editor.dispatch({ selection: { anchor: 0, head: editor.state.doc.length } });
		else field.select();
		return true;
	}`, selector)
	must.Get(chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}))(t)
	got := call[string](t, p.tab, textIn, selector)
	if got != text {
		t.Fatalf("%s holds %q, not %q", selector, got, text)
	}
}

// paste gives the page a key, for as long as it is shown.
func (p docsPage) paste(t *testing.T, key string) {
	t.Helper()
	p.click(t, "#contents button")
	p.write(t, ".modal-ux input", key)
	p.click(t, ".modal-ux .authorize")
	p.click(t, ".modal-ux .btn-done")
	p.saysOfKey(t, "Key is set")
}

// saysOfKey waits until the button for the key reports whether there is one.
func (p docsPage) saysOfKey(t *testing.T, want string) {
	t.Helper()
	eventually(t, "the button for the key says "+want, func() (any, bool) {
		said := call[string](t, p.tab, `() => document.querySelector("#contents button").innerText`)
		return said, said == want
	})
}

// trial is an operation that somebody tries.
type trial struct {
	page      docsPage
	selector  string
	operation string
}

// try opens an operation: from the contents, where they list it.
func (p docsPage) try(t *testing.T, tag, operation string) trial {
	t.Helper()
	one := trial{p, "#operations-" + tag + "-" + operation, operation}
	if contents := `#contents a[href="#/` + tag + "/" + operation + `"]`; p.sees(t, contents) {
		p.click(t, contents)
	} else {
		p.click(t, one.selector+" .opblock-summary-control")
	}
	p.wait(t, one.selector+" .execute")
	return one
}

func (o trial) parameter(t *testing.T, name, value string) {
	t.Helper()
	o.page.write(t, o.selector+" tr[data-param-name="+name+"] input", value)
}

func (o trial) body(t *testing.T, text string) {
	t.Helper()
	o.page.write(t, o.selector+" textarea", text)
}

// choose picks one of the values of a parameter that is a list.
func (o trial) choose(t *testing.T, name, value string) {
	t.Helper()
	list := o.selector + " tr[data-param-name=" + name + "] select"
	o.page.wait(t, list)
	got := call[string](t, o.page.tab, `(list, value) => {
		const element = document.querySelector(list);
		element.value = value;
		element.dispatchEvent(new Event("change", { bubbles: true }));
		return element.value;
	}`, list, value)
	if got != value {
		t.Fatalf("%s is %q, not %q", list, got, value)
	}
}

// executeAgain is execute where an answer is shown already.
func (o trial) executeAgain(t *testing.T) (status, body string) {
	t.Helper()
	o.page.click(t, o.selector+" .btn-clear")
	eventually(t, "the last answer is gone", func() (any, bool) {
		shown := o.page.sees(t, o.selector+" .live-responses-table")
		return shown, !shown
	})
	return o.execute(t)
}

// execute sends the request and returns the status and the body that the page
// shows.
func (o trial) execute(t *testing.T) (status, body string) {
	t.Helper()
	o.page.click(t, o.selector+" .execute")
	answer := o.selector + " .live-responses-table "
	o.page.wait(t, answer+".response .response-col_status")
	shown := call[[]string](t, o.page.tab, `(answer) => [".response .response-col_status", ".highlight-code"].map((part) =>
		document.querySelector(answer + part)?.innerText ?? "")`, answer)
	return strings.TrimSpace(shown[0]), shown[1]
}
