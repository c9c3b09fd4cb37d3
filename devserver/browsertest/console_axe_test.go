package browsertest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/must"
)

// Nobody is kept from reading and working the console: axe finds nothing in any view, at
// a desk and on a dark phone; nothing is wider than the page, on a tablet neither; and
// nothing that is drawn later moves what stands there already.
func TestConsoleIsAccessible(t *testing.T) {
	open := func(base string) docsPage {
		p := observed(t, desk)
		p.load(t, base+"/console/")
		p.withAxe(t)
		return p
	}
	walk := func(p docsPage, views []struct{ name, place, drawn string }) {
		for _, view := range views {
			p.visit(t, "#/segments")
			p.wait(t, ".of-segments .row")
			p.gone(t, "dialog")
			call[bool](t, p.tab, `() => { noted.shifts = []; return true }`)
			p.visit(t, view.place)
			p.wait(t, view.drawn)
			p.fits(t, view.name, desk)
			// Two hundredths of the page, by the browser's measure, are what a line or two take.
			if moved := call[float64](t, p.tab, `() => noted.shifts.reduce((sum, one) => sum + parseFloat(one), 0)`); moved > 0.02 {
				t.Errorf("%s moves by %.4f: %v", view.name, moved, call[[]string](t, p.tab, `() => noted.shifts`))
			}
			p.fitsOthers(t, view.name)
		}
	}
	w, key := demo(t)
	p := open(w.base)
	p.wait(t, "#key")
	p.sound(t, "sign-in")
	p.signIn(t, key)
	p.wait(t, ".row")
	walk(p, consoleViews)
	p.visit(t, "#/flags/search.suggestions?edit=staging&kind=rules")
	p.click(t, ".draft:nth-child(1) .edit")
	p.click(t, ".add-rule")
	p.write(t, ".draft:nth-child(1) [aria-label=Property]", "user.plan")
	p.write(t, ".draft:nth-child(1) .chips input", "pro")
	p.press(t, "\r")
	p.wait(t, ".review .messages, .review .box")
	p.sound(t, "a rule that is edited")
	p.visit(t, "#/configs/home.banner/document?raw=1")
	p.wait(t, jsonEditor)
	p.write(t, jsonEditor, `{"access": }`)
	p.wait(t, "dialog .cm-lint-marker-error")
	p.caret(t, `"access": `)
	p.suggest(t)
	p.wait(t, "dialog .cm-tooltip-autocomplete")
	p.sound(t, "what the editor offers")
	p.visit(t, "#/flags")
	p.click(t, ".row .pick input")
	p.sound(t, "a row that is picked")
	for _, what := range []string{"switch", "copy", "tag", "delete"} {
		p.visit(t, "#/flags?bulk="+what)
		p.wait(t, "dialog .review")
		p.sound(t, what)
	}
	p.quietBut(t, "status of 40")

	p = open(demoDirectory(t))
	p.wait(t, ".row")
	walk(p, directoryViews)
	p.visit(t, "#/flags")
	p.click(t, ".as-line button")
	p.sound(t, "a context as JSON")
	p.visit(t, "#/flags/search.suggestions")
	p.click(t, ".here summary")
	p.sound(t, "why, rule by rule")
	p.quiet(t)
}

// Who has told their system that they want less motion is shown none.
func TestConsoleMovesNothingForThoseWhoAskForIt(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, nil))
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/flags/new-checkout")
	p.wait(t, ".switch")
	const durations = `() => [...document.querySelectorAll("*")].flatMap((e) => ["", "::before", "::after"].map((part) => getComputedStyle(e, part || undefined)))
		.filter((style) => style.animationName !== "none" || parseFloat(style.transitionDuration) > 0).length`
	if moving := call[int](t, p.tab, durations); moving == 0 {
		t.Error("nothing moves at all: this test finds nothing")
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}}
	must.Get(chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media))(t)
	if moving := call[int](t, p.tab, durations); moving > 0 {
		t.Errorf("%d elements would move", moving)
	}
}

const violations = `async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.flatMap((v) =>
	v.nodes.map((node) => v.id + ": " + node.target.join(" ") + ": " + node.failureSummary.replaceAll("\n", " ")))`

// withAxe has axe in the page, which sound and fits ask.
func (p docsPage) withAxe(t *testing.T) {
	t.Helper()
	needsPackages(t)
	axe := readFile(t, filepath.Join("node_modules", "axe-core", "axe.min.js"))
	p.do(t, "axe", chromedp.Evaluate[chromedp.Void](string(axe)+"; undefined"))
}

// sound demands of a view that it fits on each screen.
func (p docsPage) sound(t *testing.T, view string) {
	t.Helper()
	p.fits(t, view, desk)
	p.fitsOthers(t, view)
}

func (p docsPage) fitsOthers(t *testing.T, view string) {
	t.Helper()
	for _, s := range []screen{{900, 900, false, "light"}, {320, 700, false, "dark"}, desk} {
		p.do(t, "a screen", chromedp.EmulateViewport(s.width, s.height))
		p.prefer(t, s.scheme)
		if s != desk {
			p.fits(t, view, s)
		}
	}
}

// fits demands that axe finds nothing, and that nothing is wider than the page.
func (p docsPage) fits(t *testing.T, view string, s screen) {
	t.Helper()
	if s.width != 900 { // a tablet differs from a desk in its width alone
		if found := call[[]string](t, p.tab, violations); len(found) > 0 {
			t.Errorf("%s, %d px, %s:\n%s", view, s.width, s.scheme, strings.Join(found, "\n"))
		}
	}
	if cut := call[bool](t, p.tab, `() => [...document.querySelectorAll(".dialog-body")].some((e) => e.scrollWidth > e.clientWidth)`); cut {
		t.Errorf("%s: what is in the dialog is wider than it", view)
	}
	if cut := call[[]string](t, p.tab, `() => [...document.querySelectorAll(".row")].filter((row) => {
		const box = row.getBoundingClientRect();
		return [...row.children].some((cell) => cell.checkVisibility() && cell.getBoundingClientRect().height > 0 && (cell.getBoundingClientRect().top < box.top - 1 || cell.getBoundingClientRect().bottom > box.bottom + 1));
	}).map((row) => row.innerText)`); len(cut) > 0 {
		t.Errorf("%s, %d px: rows are cut off: %.300q", view, s.width, cut)
	}
	if width := call[int64](t, p.tab, `() => document.documentElement.scrollWidth`); width > s.width {
		t.Errorf("%s: the page is %d px wide on a screen of %d", view, width, s.width)
	}
}

// quietBut is quiet, but for complaints that are expected.
func (p docsPage) quietBut(t *testing.T, expected string) {
	t.Helper()
	for _, complaint := range p.complaints.all() {
		if !strings.Contains(complaint, expected) {
			t.Errorf("the browser complains: %s", complaint)
		}
	}
}
