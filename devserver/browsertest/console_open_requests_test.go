package browsertest

import "testing"

// An item tells which changes of it are proposed, and a list marks the rows of such items, for
// which one request is enough.
func TestConsoleTellsWhatIsProposedForAnItem(t *testing.T) {
	t.Parallel()
	w := reviewed(t)
	ada := w.key(t, "Ada", "protected_engineer")
	w.propose(t, ada, "Suggestions for everybody", switchesOn)
	p := openConsole(t, w, desk, "#/flags", ada)
	p.withAxe(t)
	p.says(t, `.row:has([aria-label="Select search.suggestions"]) .proposed`, "1 open request")
	if marks := call[int](t, p.tab, `() => document.querySelectorAll(".row .proposed").length`); marks != 1 {
		t.Errorf("%d rows are marked", marks)
	}
	p.sound(t, "a list with what is proposed")
	p.visit(t, "#/flags/new-checkout")
	p.wait(t, ".scope")
	p.gone(t, ".proposals")
	p.visit(t, "#/flags/search.suggestions")
	p.says(t, ".proposals", "A change is proposed")
	p.sound(t, "an item with what is proposed")
	p.click(t, ".proposals a")
	p.says(t, "h1", "Suggestions for everybody")
	p.button(t, "Close")
	p.button(t, "Close it")
	p.says(t, "main .box", "Closed without applying it by Ada")
	p.visit(t, "#/flags")
	p.gone(t, ".row .proposed")
	p.quiet(t)
}
