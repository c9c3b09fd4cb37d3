package browsertest

import (
	"strings"
	"testing"
)

// small are the controls whose area is less than so many pixels wide or high, with what ::after
// adds to it. Links and buttons within a text are as large as their words.
const small = `(least) => [...document.querySelectorAll("button:not(.link, .time), a.button, select, summary, .switch, .pick input, nav a, .tabs a, input:not([type=checkbox], [type=radio], [type=range])")].flatMap((e) => {
	if (!e.checkVisibility() || e.closest(".hidden, .cm-editor") || e.matches(".hidden")) return [];
	const box = e.getBoundingClientRect(), after = getComputedStyle(e, "::after");
	const more = after.content !== "none" && after.position === "absolute" && after.inset.includes("-");
	const width = Math.max(box.width, more ? parseFloat(after.width) : 0), height = Math.max(box.height, more ? parseFloat(after.height) : 0);
	return width + 0.5 >= least && height + 0.5 >= least ? [] : [e.localName + "." + e.className + " " + (e.ariaLabel ?? e.innerText.slice(0, 20)) + ": " + Math.round(width) + "x" + Math.round(height)];
})`

// What is pressed is large enough for a mouse, and on a phone for a finger.
func TestConsoleIsLargeEnoughToBePressed(t *testing.T) {
	t.Parallel()
	w, key := demo(t)
	for _, s := range []struct {
		screen
		least int
	}{{desk, 24}, {screen{320, 700, true, "light"}, 44}} {
		p := openConsole(t, w, s.screen, "#/flags", key)
		for _, view := range consoleViews {
			p.visit(t, view.place)
			p.wait(t, view.drawn)
			if found := call[[]string](t, p.tab, small, s.least); len(found) > 0 {
				t.Errorf("%s, below %d px: %s", view.name, s.least, strings.Join(found[:min(len(found), 6)], "; "))
			}
			if cut := call[[]string](t, p.tab, `() => [...document.querySelectorAll(".tabs a, nav a")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText)`); len(cut) > 0 {
				t.Errorf("%s: words stand over others: %q", view.name, cut)
			}
		}
	}
}
