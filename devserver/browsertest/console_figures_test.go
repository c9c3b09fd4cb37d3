package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/must"
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
	must.Get(chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: observers}))(t)
	return p
}

// Of ten thousand flags only what is seen is drawn, the first view is few requests (beside
// the script that is loaded once the browser is idle), and nothing moves by itself.
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
	if requests := call[int](t, p.tab, `() => new Set(performance.getEntries().filter((e) => e.transferSize !== undefined && !e.name.endsWith("/later.js")).map((e) => e.name)).size`); requests == 0 || requests > 14 {
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
	p.choose(t, ".filters .choice:nth-last-child(3) select", "team-7")
	p.says(t, ".heading .note", "250 of ")
	p.choose(t, ".filters .choice:nth-last-child(3) select", "")
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
