package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// plans is a text flag of three values, all of which some get.
const plans = `{"key": "plans", "type": "feature_flag", "valueType": "string", "access": "standard",
	"variants": [{"value": {"type": "string", "value": "a"}}, {"value": {"type": "string", "value": "b"}, "x": 1.0, "name": "B"}, {"value": {"type": "string", "value": "c"}}],
	"default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "weighted_values", "value": {"hashByPropertyName": "user.key", "weightedValues": [
		{"weight": 50000, "value": {"type": "string", "value": "a"}}, {"weight": 50000, "value": {"type": "string", "value": "b"}}]}}}]}}`

// cannotApply demands that the button of a dialog cannot be pressed.
func (p docsPage) cannotApply(t *testing.T) {
	t.Helper()
	p.wait(t, "dialog .dialog-foot .primary[disabled]")
}

// The shares of three values are what is typed, in any order, and 100 % can be applied.
func TestConsoleKeepsThePercentagesThatAreTyped(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	p := openConsole(t, w, desk, "#/flags/plans?edit=default&kind=rollout", w.key(t, "Ada", "protected_engineer"))
	p.click(t, ".arms .actions button:first-child") // Add a value: c, which is left
	p.write(t, `[aria-label="Percent of a"]`, "60")
	p.write(t, `[aria-label="Percent of c"]`, "10")
	p.says(t, ".arms .problem", "120%: 20% too much")
	p.cannotApply(t)
	p.write(t, `[aria-label="Percent of b"]`, "20")
	p.says(t, ".arms .problem", "90%: 10% is left to give")
	p.says(t, "dialog .review", "90%")
	p.cannotApply(t)
	p.write(t, `[aria-label="Percent of b"]`, "30")
	p.says(t, "dialog .became", "30%")
	p.apply(t)
	file := w.fileOf(t, "feature-flags/plans.json")
	if want := `"weightedValues":[{"weight":60000,"value":{"type":"string","value":"a"}},{"weight":30000,"value":{"type":"string","value":"b"}},{"value":{"type":"string","value":"c"},"weight":10000}]`; !strings.Contains(file, want) {
		t.Errorf("not stored: %s\n%s", want, file)
	}
}

// Where nothing says what a person wants, nothing is chosen, and nothing can be applied.
func TestConsolePresetsNoValue(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags", key)
	for _, item := range []string{"flags/plans?edit=default", "flags/search.suggestions?edit=production"} {
		p.visit(t, "#/"+item+"&kind=value")
		p.says(t, "dialog .review", "Choose a value")
		p.cannotApply(t)
		p.press(t, escape)
		p.gone(t, "dialog")
	}
	p.visit(t, "#/flags/search.suggestions?edit=production&kind=copy")
	p.says(t, "dialog .review", "Choose an environment")
	p.cannotApply(t)
	p.choose(t, "dialog .field select", "staging")
	p.says(t, "dialog .review .rule-changes", "production")
	p.press(t, escape)
	p.gone(t, "dialog")
	p.visit(t, "#/configs/payments.api-key?edit=default&kind=value")
	p.button(t, "Stored here")
	p.write(t, "dialog .field textarea", "k-1")
	p.says(t, "dialog .form .box.warn", "is plain now: everybody with a key can read it")
	p.gone(t, "dialog .review .box.warn")
	p.visit(t, "#/flags/plans?edit=default&kind=rules")
	p.click(t, ".add-rule")
	p.write(t, ".draft.opened [aria-label=Property]", "user.plan")
	p.write(t, ".draft.opened .chips input", "pro")
	p.press(t, "\r")
	p.says(t, "dialog .review", "Rule 1 lacks a value")
	p.cannotApply(t)
	p.choose(t, ".draft.opened .value-fields select", "b")
	p.says(t, "dialog .rule-changes", "new rule")
	p.apply(t)
}

// A split by what a context lacks falls nowhere: chance decides.
func TestConsoleSaysThatChanceDecides(t *testing.T) {
	t.Parallel()
	split := func(key, by string) string {
		return `{"key": "` + key + `", "type": "feature_flag", "valueType": "bool", "access": "standard", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "weighted_values",
			"value": {` + by + `"weightedValues": [{"value": {"type": "bool", "value": true}, "weight": 50000}, {"value": {"type": "bool", "value": false}, "weight": 50000}]}}}]}}`
	}
	w := serveWorkspace(t, copySample(t, map[string]string{
		"feature-flags/half.json":   split("half", `"hashByPropertyName": "user.key", `),
		"feature-flags/chance.json": split("chance", ""),
		// of several of its type, the one of that name is looked at first
		"svc.json": `{"environments": ["development", "staging", {"name": "old-site", "environmentType": "production"}, {"name": "production", "environmentType": "production", "protected": true}]}`,
	}))
	p := openConsole(t, w, desk, "#/flags/half/why?context=%7B%22device%22%3A%7B%22key%22%3A%22d%22%7D%7D", w.key(t, "Ada", "protected_engineer"))
	p.says(t, ".split", "The context has no user.key. Chosen at random, at each evaluation.")
	p.holds(t, ".evaluate select", "production")
	p.write(t, "#context", `{"user": {"key": "u"}}`)
	p.says(t, ".split", "user.key falls on")
	p.says(t, ".evaluate form", "Empty: it is evaluated for u")
	p.visit(t, "#/flags/chance/why")
	p.says(t, ".split", "Chosen at random")
	p.quiet(t)
}

// A change of many items begins with nothing, lists what it changes, and is undone whole.
func TestConsoleUndoesAChangeOfSeveralItems(t *testing.T) {
	t.Parallel()
	more := map[string]string{}
	for _, n := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		more["feature-flags/many."+n+".json"] = boolFlag("many."+n, "")
	}
	w := serveWorkspace(t, copySample(t, more))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags?q=many", key)
	undone := func() {
		t.Helper()
		p.says(t, "dialog .by-item", "many.z")
		p.click(t, "dialog .dialog-foot .primary:not([disabled])")
		p.gone(t, "dialog")
		for _, flag := range []string{"many.a", "many.z"} {
			if file := w.fileOf(t, "feature-flags/"+flag+".json"); strings.Contains(file, "production") {
				t.Errorf("%s is %s", flag, file)
			}
		}
	}
	switched := func() {
		t.Helper()
		p.click(t, `[aria-label="Select all"]`)
		p.click(t, ".selected .actions button:first-child")
		p.says(t, "dialog .review", "Choose on or off, and an environment")
		p.cannotApply(t)
		p.click(t, "dialog .segmented button:first-child")
		p.cannotApply(t)
		p.choose(t, "dialog .field select", "production")
		p.says(t, "dialog .by-item", "now \nOff")
		p.click(t, "dialog .dialog-foot .primary:not([disabled])")
		p.gone(t, "dialog")
	}
	switched()
	p.click(t, ".notice a")
	p.says(t, "main h1", "Activity")
	undone()
	p.visit(t, "#/flags?q=many")
	switched()
	p.visit(t, "#/activity")
	p.says(t, ".feed li:first-child", "26 items in one commit")
	p.click(t, ".feed li:first-child .when button:not(.time)")
	undone()
	p.quiet(t)
}

// The switch of a flag says what people get, and an environment without rules of its own
// that it will have some.
func TestConsoleSaysWhatASwitchDoes(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/flags/search.suggestions", w.key(t, "Ada", "protected_engineer"))
	p.says(t, "[aria-labelledby=scope-production] .state", "On for 25% of everyone else")
	p.says(t, "[aria-labelledby=scope-staging] .state", "On for everyone")
	p.says(t, "[aria-labelledby=scope-development] .state", "Off for everyone")
	p.click(t, "[aria-labelledby=scope-production] [role=switch][aria-checked=true]")
	p.says(t, "[aria-labelledby=scope-production] .state", "Paused")
	p.click(t, "[aria-labelledby=scope-production] [role=switch][aria-checked=false]")
	p.says(t, "dialog .review", "resumed")
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-production] .state", "On for 25% of everyone else")
	p.click(t, "[aria-labelledby=scope-development] [role=switch]")
	p.says(t, "dialog .inherits", "development uses the default rules")
	p.says(t, "dialog .rule-changes", "No longer uses the default rules")
	p.click(t, "dialog .inherits button")
	p.says(t, "#dialog-title", "default")
	p.says(t, "dialog .rule-changes", "false\n→\ntrue")
	p.gone(t, "dialog .inherits")
}

// A text flag is made, described and given other values without JSON.
func TestConsoleHasFormsForAFlag(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags?new=1", key)
	p.write(t, "dialog .form > .field:first-of-type input", "theme")
	p.choose(t, "dialog .form > .field:nth-of-type(2) select", "string")
	p.write(t, ".variant:nth-of-type(1) textarea", "lihgt")
	p.write(t, ".variant:nth-of-type(2) textarea", "dark")
	p.write(t, ".variant:nth-of-type(2) .field:nth-of-type(2) input", "Dark mode")
	p.says(t, "dialog .review", "Fill in the fields")
	p.choose(t, "dialog .variants + .field select", "lihgt")
	p.write(t, ".variant:nth-of-type(1) textarea", "light") // which everyone gets, once it is corrected
	p.says(t, "dialog .messages", "values: added Dark mode")
	p.apply(t)
	if file := w.fileOf(t, "feature-flags/theme.json"); strings.Contains(file, "lihgt") {
		t.Errorf("the old spelling is served: %s", file)
	}
	p.says(t, "main h1", "theme")
	p.says(t, "[aria-labelledby=variants]", "dark Dark mode")

	p.click(t, ".heading .actions button:nth-last-child(2)") // Edit details
	p.write(t, "dialog .form .field:nth-of-type(1) input", "Theme")
	p.write(t, "dialog .form .field:nth-of-type(2) textarea", "Colours of the page.")
	p.write(t, "dialog .form .field:nth-of-type(3) input", "Ada's team")
	p.write(t, "dialog .chips input", "design")
	p.press(t, "\r")
	p.click(t, "dialog .check input")
	p.says(t, "dialog .messages", "tags")
	p.apply(t)
	p.says(t, ".heading", "Colours of the page.")
	p.says(t, ".facts", "design")
	p.says(t, ".facts", "owned by Ada's team")
	p.says(t, ".facts", "Clean up")
	p.click(t, ".heading .actions button:nth-last-child(2)")
	p.wait(t, "dialog .form .field:nth-of-type(1) input")
	if name := call[string](t, p.tab, `() => document.querySelector("dialog .form .field:nth-of-type(1) input").value`); name != "Theme" {
		t.Errorf("a form that is opened again begins with %q, as it was before", name)
	}
	p.press(t, escape)
	p.gone(t, "dialog")

	p.visit(t, "#/flags/plans")
	p.click(t, "[aria-labelledby=variants] button")
	p.says(t, ".variant:nth-of-type(1)", "Used in the default rules")
	if p.sees(t, `[aria-label="Remove value 1"]:not([disabled])`) {
		t.Error("a value that is served can be removed")
	}
	p.click(t, `[aria-label="Remove value 3"]`)
	p.write(t, ".variant:nth-of-type(1) textarea", "x")
	p.press(t, "\b")
	p.says(t, "dialog .review", "Enter the missing values")
	p.click(t, ".variant:nth-of-type(1) .check input")
	p.says(t, "dialog .rule-changes", "empty text")
	p.write(t, ".variant:nth-of-type(1) textarea", "first")
	p.says(t, "dialog .rule-changes", "first")
	p.apply(t)
	file := w.fileOf(t, "feature-flags/plans.json")
	if !strings.Contains(file, `"variants":[{"value":{"type":"string","value":"first"}},{"value":{"type":"string","value":"b"},"x":1.0,"name":"B"}]`) || !strings.Contains(file, `{"weight":50000,"value":{"type":"string","value":"first"}}`) {
		t.Errorf("%s", file)
	}
	p.quiet(t)
}

// With 25 environments a list has columns for as many as there is room for, production among
// them, and for those alone that are chosen.
func TestConsoleListsManyEnvironments(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 24 {
		names = append(names, fmt.Sprintf(`"region-%02d"`, i))
	}
	w := serveWorkspace(t, copySample(t, map[string]string{"svc.json": `{"environments": [` + strings.Join(names, ",") + `, "staging", "development", {"name": "production", "environmentType": "production", "protected": true}], "secretReferences": "protected"}`}))
	key := w.key(t, "Ada", "protected_engineer")
	for _, width := range []int64{320, 768, 1280, 1920} {
		p := openConsole(t, w, screen{width, 800, false, "light"}, "#/flags", key)
		p.says(t, ".row .key", "new-checkout")
		fits := func() (any, bool) {
			got := call[[]float64](t, p.tab, `() => {
				const list = document.querySelector(".list").getBoundingClientRect();
				const last = [...document.querySelectorAll(".row:first-child > span")].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().right);
				return [Math.max(...last), list.right, document.documentElement.scrollWidth, innerWidth, document.querySelectorAll('.row:first-child [data-column="production"]').length];
			}`)
			return got, got[0] <= got[1] && got[2] <= got[3] && got[4] == 1
		}
		eventually(t, fmt.Sprint("the list fits into ", width), fits)
		p.visit(t, "#/configs")
		p.says(t, ".row .key", "home.banner")
		eventually(t, fmt.Sprint("that of configs fits into ", width), fits)
		p.visit(t, "#/compare?from=region-00&to=production")
		p.says(t, ".row .key", "search.suggestions")
		eventually(t, fmt.Sprint("differences fit into ", width), fits)
		p.visit(t, "#/flags")
		p.says(t, ".row .key", "new-checkout")
		if width != 1280 {
			continue
		}
		p.click(t, ".filters button")
		for i := range 24 {
			p.click(t, fmt.Sprintf("dialog .column:nth-of-type(%d) input", i+3)) // after development
		}
		p.click(t, "dialog .primary")
		p.gone(t, "dialog")
		heads := func() (any, bool) {
			names := call[string](t, p.tab, `() => [...document.querySelectorAll(".list-head [data-column]")].map((e) => e.ariaLabel).join(" ")`)
			return names, strings.Contains(names, " development staging production ")
		}
		eventually(t, "the chosen columns are there", heads)
		p.reload(t)
		p.signIn(t, key)
		eventually(t, "the chosen columns are there again", heads)
		// An item's environments begin with those that matter, and are looked for.
		p.visit(t, "#/flags/new-checkout")
		p.says(t, ".scopes > section:nth-of-type(1) h2", "production")
		p.write(t, ".scopes .search input", "region-07")
		p.says(t, ".scopes [role=status]", "1 of 27")
		p.says(t, ".scopes > section:nth-of-type(1) h2", "region-07")
		p.quiet(t)
	}
}

// What is protected is in a list at any width, however much of it there is; a sheet has the rest.
func TestConsoleListsAllThatIsProtected(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf(`"region-%02d"`, i))
	}
	for i := range 5 {
		names = append(names, fmt.Sprintf(`{"name": "live-%d", "environmentType": "production", "protected": true}`, i))
	}
	w := serveWorkspace(t, copySample(t, map[string]string{"svc.json": `{"environments": [` + strings.Join(names, ",") + `, "staging", "development", {"name": "production", "environmentType": "production", "protected": true}], "secretReferences": "protected"}`}))
	key := w.key(t, "Ada", "protected_engineer")
	for _, width := range []int64{320, 600, 768, 1280, 1920} {
		p := openConsole(t, w, screen{width, 800, width == 320, "light"}, "#/flags", key)
		p.withAxe(t)
		for _, at := range [][2]string{{"#/log-levels", "storefront"}, {"#/configs", "home.banner"}, {"#/flags", "new-checkout"}} {
			view := at[0]
			p.visit(t, view)
			p.says(t, ".row .key", at[1])
			eventually(t, fmt.Sprint("all that is protected is in ", view, " at ", width), func() (any, bool) {
				got := call[[]string](t, p.tab, `() => {
					const list = document.querySelector(".list").getBoundingClientRect(), row = document.querySelector(".row").getBoundingClientRect();
					return [...document.querySelectorAll(".row:first-child > [data-column]")].filter((e) => {
						const box = e.getBoundingClientRect();
						return e.checkVisibility() && /^(live|prod|More)/.test(e.dataset.column) && box.right <= list.right && box.width > 30 && box.bottom <= row.bottom;
					}).map((e) => e.dataset.column);
				}`)
				return got, len(got) == 7
			})
		}
		if columns := call[bool](t, p.tab, `() => document.querySelector(".stacked") === null`); columns != (width > 1000) {
			t.Errorf("at %d px, lists with columns: %v", width, columns)
		}
		p.fits(t, "many that are protected", screen{width, 800, width == 320, "light"})
		p.click(t, ".row [data-column=More] button")
		p.says(t, "dialog .in-all", "region-19")
		p.fits(t, "the sheet", screen{width, 800, width == 320, "light"})
		p.click(t, "dialog .primary")
		p.gone(t, "dialog")
		p.quiet(t)
	}
}

// What a text holds leaves what stands beside it as it is, where an item was deleted the way
// back leads to no dialog that would delete it again, and a segment tells who uses it.
func TestConsoleKeepsToItsPlace(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/other.json": boolFlag("other", `, "description": "\u202eabc"`)}))
	p := openConsole(t, w, desk, "#/flags", w.key(t, "Ada", "protected_engineer"))
	p.visit(t, "#/flags/other")
	p.says(t, "main h1", "other")
	if got := call[string](t, p.tab, `() => [...document.querySelectorAll(".heading .note, .key, .value")].map((e) => getComputedStyle(e).display === "inline" ? getComputedStyle(e).unicodeBidi : "isolate").find((one) => one !== "isolate") ?? "isolate"`); got != "isolate" {
		t.Errorf("a text is %s", got)
	}
	p.click(t, ".heading .actions button:last-child:not(.small)")
	p.click(t, "dialog .danger:not([disabled])")
	p.says(t, "main h1", "Flags")
	p.wait(t, ".notice a")
	if call[int](t, p.tab, `() => document.querySelector(".notice a").getClientRects().length`) != 1 {
		t.Error("the link of a notice is broken")
	}
	p.back(t)
	p.says(t, "main", "There is nothing here")
	p.gone(t, "dialog")
	p.visit(t, "#/segments/beta-testers")
	p.says(t, ".rules", "in it")
	p.click(t, "[aria-labelledby=used-in] button")
	p.says(t, ".used", "search.suggestions")
	p.visit(t, "#/contexts")
	eventually(t, "the choice of an environment fits", func() (any, bool) {
		got := call[[]float64](t, p.tab, `() => [document.querySelector(".choice select")?.getBoundingClientRect().right ?? 9999, document.querySelector(".filters")?.getBoundingClientRect().right ?? 0]`)
		return got, got[0] <= got[1]+1
	})
}

// What a program is shown with is what reads the flag.
func TestConsoleTellsHowCodeReadsAFlag(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/flags/pricing.headline", w.key(t, "Ada", "protected_engineer"))
	p.click(t, ".in-code summary")
	p.says(t, ".in-code pre", `getStringValue("pricing.headline", "")`)
	p.click(t, ".in-code .segmented button:last-child")
	p.says(t, ".in-code pre", "curl")
	script := call[string](t, p.tab, `() => document.querySelector(".in-code pre").innerText`)
	cmd := exec.Command(testenv.Program(t, "your system's package", "sh"), "-c", script)
	cmd.Env = append(os.Environ(), "SVC_SDK_KEY="+w.applicationKey(t, "public", "production"))
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"value":"Simple pricing"`) && !strings.Contains(string(out), `"value":"Pay for what you use"`) && !strings.Contains(string(out), `"value":"Start free"`) {
		t.Errorf("%s\n%v: %s", script, err, out)
	}
	p.quiet(t)
}

// Somebody is given a value of their own from what they get, in a rule before all others.
func TestConsoleGivesOnePersonAValue(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	p := openConsole(t, w, desk, `#/flags/plans/why?in=production&context={"user":{"key":"user-7"}}`, w.key(t, "Ada", "protected_engineer"))
	p.says(t, ".result", "Give user-7 a value of its own")
	p.click(t, ".result button")
	p.says(t, "dialog .review", "Rule 1 lacks a value")
	p.cannotApply(t)
	p.choose(t, ".draft.opened .value-fields select", "c")
	p.apply(t)
	p.says(t, ".gets-value", "c")
	if file := w.fileOf(t, "feature-flags/plans.json"); !strings.Contains(file, `{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":["user-7"]}}`) {
		t.Errorf("not stored:\n%s", file)
	}
	// Whoever is asked for next comes before what was begun.
	for _, who := range []string{"user-8", "user-9"} {
		p.visit(t, "#/flags/plans?edit=production&kind=rules&target=user.key="+who)
		p.says(t, "dialog .draft:nth-child(1)", who)
		p.press(t, escape)
		p.gone(t, "dialog")
	}
	p.visit(t, "#/flags/plans?edit=production&kind=rules&target=user.key=user-9")
	p.says(t, "dialog .draft:nth-child(1)", "user-9")
	p.says(t, "dialog .draft:nth-child(2)", "user-8")
	p.says(t, "dialog .draft:nth-child(3)", "user-7")
}

// Values that somebody else has changed while they were edited stay as they are now, but for
// what was changed here.
func TestConsoleKeepsTheValuesOfOthers(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags/plans?variants=1", key)
	p.write(t, ".variant:nth-of-type(2) .field:nth-of-type(2) input", "Bee")
	type stored struct {
		CommitSha string
		Document  map[string]any
	}
	change := func(name string, value any) {
		t.Helper()
		now := get[stored](t, w.base+"/v1/flags/plans/document", key)
		now.Document[name] = value
		text, err := json.Marshal(map[string]any{"document": now.Document, "expectedCommitSha": now.CommitSha})
		must.Do(t, err)
		w.send(t, key, "PUT", "/v1/flags/plans/document", string(text))
	}
	variants := get[stored](t, w.base+"/v1/flags/plans/document", key).Document["variants"].([]any)
	variants[2].(map[string]any)["value"] = map[string]any{"type": "string", "value": "sea"}
	change("variants", variants)
	p.says(t, "dialog .box.warn", "Someone else changed this")
	p.click(t, "dialog .box.warn button:not(.time)")
	p.says(t, "dialog .messages", "values")
	p.apply(t)
	file := w.fileOf(t, "feature-flags/plans.json")
	if !strings.Contains(file, `"value":"sea"`) || !strings.Contains(file, `"Bee"`) {
		t.Errorf("not both: %s", file)
	}
	p.visit(t, "#/flags/plans?details=1")
	p.write(t, "dialog .form .field:nth-of-type(1) input", "Plans")
	change("description", "Prices")
	p.says(t, "dialog .box.warn", "Someone else changed this")
	p.click(t, "dialog .box.warn button:not(.time)")
	p.says(t, "dialog .messages", "name")
	p.apply(t)
	if file := w.fileOf(t, "feature-flags/plans.json"); !strings.Contains(file, `"Prices"`) || !strings.Contains(file, `"Plans"`) {
		t.Errorf("not both: %s", file)
	}
}
