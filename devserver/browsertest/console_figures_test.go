package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// manyFlags are files of n flags, beside those of the sample.
func manyFlags(n int) map[string]string {
	files := map[string]string{"feature-flags/checkout.fast.json": onForMost}
	for i := 1; i < n; i++ {
		name := fmt.Sprintf("many.%05d", i)
		files["feature-flags/"+name+".json"] = boolFlag(name, fmt.Sprintf(`, "tags": ["team-%d"], "description": "What it is for, in a sentence of some length."`, i%40))
	}
	return files
}

// observers note, from before a page begins, what moves by itself.
const observers = `(() => {
	window.noted = { shifts: [] };
	new PerformanceObserver((list) => list.getEntries().forEach((e) => e.hadRecentInput || noted.shifts.push(Math.round(e.value * 10000) / 10000 + " of " + e.sources.map((s) => s.node?.className || s.node?.localName || s.node?.data).join(", ")))).observe({ type: "layout-shift", buffered: true });
})()`

func observed(t *testing.T, s screen) docsPage {
	t.Helper()
	p := blankTab(t, s)
	if _, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: observers}); err != nil {
		t.Fatal(err)
	}
	return p
}

// Of ten thousand flags only what is seen is drawn, the first view is few requests, and
// nothing moves by itself.
func TestConsoleListsTenThousandFlags(t *testing.T) {
	base := serveConsole(t, copySample(t, manyFlags(10_000)))
	p := observed(t, desk)
	still := func(what string) {
		t.Helper()
		if shifts := call[[]string](t, p.tab, `() => noted.shifts`); len(shifts) > 0 {
			t.Errorf("%s: what is seen moves by itself: %v", what, shifts)
		}
		if drawn := call[int](t, p.tab, `() => document.querySelectorAll(".row").length`); drawn > 60 {
			t.Errorf("%s: %d rows are drawn", what, drawn)
		}
	}
	p.load(t, base+"/console/")
	p.says(t, ".heading .note", "10,003 flags")
	p.wait(t, ".row [data-column=Value] .value")
	if requests := call[int](t, p.tab, `() => new Set(performance.getEntries().filter((e) => e.transferSize !== undefined).map((e) => e.name)).size`); requests == 0 || requests > 14 {
		t.Errorf("%d addresses are asked for the first view", requests)
	}
	still("the list")
	for y := 0; y < 640_000; y += 64_000 {
		call[bool](t, p.tab, `(y) => { scrollTo(0, y); return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))) }`, y)
	}
	still("scrolled")
	call[bool](t, p.tab, `() => { scrollTo(0, 0); return true }`)
	p.write(t, ".filters .search input", "")
	for _, key := range "00999" {
		p.press(t, string(key))
	}
	p.says(t, ".heading .note", "1 of ")
	p.write(t, ".filters .search input", "")
	p.choose(t, ".filters .choice:nth-last-child(1) select", "team-7")
	p.says(t, ".heading .note", "250 of ")
	p.choose(t, ".filters .choice:nth-last-child(1) select", "")
	still("filtered")
	call[bool](t, p.tab, `() => { document.activeElement.blur(); return true }`)
	p.slash(t)
	p.wait(t, ".palette")
	for _, key := range "many.00" {
		p.press(t, string(key))
	}
	p.says(t, "#choices", "many.00001")
	p.press(t, "\x1b")
	p.gone(t, ".palette")
	p.quiet(t)
}

// hand counts what a person does.
type hand struct {
	docsPage
	clicks, keys int
	begun        time.Time
}

func (h *hand) click(t *testing.T, selector string) {
	t.Helper()
	h.clicks++
	h.docsPage.click(t, selector)
}

func (h *hand) typed(t *testing.T, text string) {
	t.Helper()
	for _, key := range text {
		h.keys++
		h.press(t, string(key))
	}
}

// done demands that something took no more than it should, and tells the seconds that
// the browser and the server needed for it.
func (h *hand) done(t *testing.T, what string, clicks, keys int) {
	t.Helper()
	t.Logf("%-50s %d clicks, %d keys, %.1f s", what, h.clicks, h.keys, time.Since(h.begun).Seconds())
	if h.clicks > clicks || h.keys > keys {
		t.Errorf("%s takes %d clicks and %d keys, and took %d and %d", what, h.clicks, h.keys, clicks, keys)
	}
	h.clicks, h.keys, h.begun = 0, 0, time.Now()
}

// What people come for, by how many clicks and keys it takes.
func TestConsoleTakesFewSteps(t *testing.T) {
	dir := copySample(t, manyFlags(1000))
	site := openTab(t, blankSite(t).origin("localhost"))
	base := serveConsole(t, dir)
	served := func(user string) any {
		return site.fetch(t, pollPath(base, tokenOf(`{"user":{"key":"`+user+`"}}`)), fetchInit{}).values(t)["checkout.fast"]
	}
	if got := served("u1"); got != false {
		t.Fatalf("u1 gets %v", got)
	}
	tab := blankTab(t, desk)
	tab.load(t, base+"/console/")
	tab.says(t, ".heading .note", "1,003 flags")
	h := &hand{docsPage: tab, begun: time.Now()}
	h.keys++
	h.slash(t)
	h.wait(t, ".palette")
	h.typed(t, "fast")
	h.says(t, "#choices [aria-selected=true]", "checkout.fast")
	h.typed(t, "\r")
	h.says(t, "h1", "checkout.fast")
	h.done(t, "a directory: find a flag among 1,000", 0, 6)

	h.click(t, "#as") // which selects what is there
	h.typed(t, "u1")
	h.says(t, ".here .gets-value", "false")
	h.click(t, ".here summary")
	h.says(t, ".here .tried .matched", "user.key is u1")
	h.done(t, `a directory: see why u1 gets "off"`, 2, 2)

	h.click(t, ".here-now .primary")
	h.says(t, ".here .gets-value", "true")
	eventually(t, "u1 is served it", func() (any, bool) { got := served("u1"); return got, got == true })
	h.done(t, "a directory: put it on for oneself", 1, 0)

	h.click(t, `[aria-label="Roll out in production"]`)
	h.wait(t, "dialog .percent input:focus")
	h.typed(t, "25")
	h.says(t, "dialog .messages", "production rollout 25% true, 75% false")
	h.click(t, "dialog .primary:not([disabled])")
	h.says(t, "[aria-labelledby=scope-production]", "25%")
	h.done(t, "a directory: 25% in production, with preview", 2, 2)

	h.click(t, ".notice a")
	h.says(t, "dialog .messages", "production own rules removed")
	h.click(t, "dialog .primary:not([disabled])")
	h.gone(t, "[aria-labelledby=scope-production] .shares")
	h.done(t, "a directory: undo it", 2, 0)
	h.quiet(t)
}
