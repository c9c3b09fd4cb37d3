package browsertest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/must"
)

// chord presses a key together with modifiers.
func (p docsPage) chord(t *testing.T, modifiers int64, key string, code int64) {
	t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		params := input.DispatchKeyEventParams{Type: kind, Key: key, Code: key, WindowsVirtualKeyCode: code, Modifiers: modifiers}
		must.Get(chromedp.Call(p.ctx, input.DispatchKeyEvent, params))(t)
	}
}

const (
	keySpace, keyDown   = 32, 40
	alt, control, shift = 1, 2, 8
	escape              = "\u001b"
)

// tabTo presses the tab key until what a selector names has the focus.
func (p docsPage) tabTo(t *testing.T, selector string) {
	t.Helper()
	p.wait(t, selector)
	for range 80 {
		if call[bool](t, p.tab, `(selector) => document.activeElement?.matches(selector) ?? false`, selector) {
			return
		}
		p.press(t, "\t")
	}
	t.Fatalf("the tab key leads nowhere near %s, but to %s", selector, call[string](t, p.tab, `() => document.activeElement?.outerHTML.slice(0, 200) ?? ""`))
}

// choose takes an option of a menu, as a person does.
func (p docsPage) choose(t *testing.T, selector, value string) {
	t.Helper()
	p.wait(t, selector)
	if !call[bool](t, p.tab, `(selector, value) => {
		const menu = document.querySelector(selector);
		if (![...menu.options].some((one) => one.value === value)) return false;
		menu.value = value;
		for (const kind of ["input", "change"]) menu.dispatchEvent(new Event(kind, { bubbles: true }));
		return true;
	}`, selector, value) {
		t.Fatalf("%s has no %s", selector, value)
	}
}

// fileOf is a file at a workspace's head, as git has it.
func (w *workspace) fileOf(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(exec.Command("git", "-C", filepath.Join(w.data, "repository.git"), "show", "HEAD:"+path).Output())(t)
	return strings.Join(strings.Fields(string(text)), "")
}

// strangeFlag has fields that the console does not know, wherever there may be some.
const strangeFlag = `{"key": "strange", "type": "feature_flag", "valueType": "bool", "access": "standard", "x-unknown": {"big": 12345678901234567890, "deep": [1.50, null]},
	"default": {"x-default": 1.0, "rules": [
		{"x-rule": 2.0, "criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "x-criterion": 3.0, "valueToMatch": {"type": "string_list", "value": ["free"], "x-operand": 4.0}}], "value": {"type": "bool", "value": false, "x-value": 5.0}},
		{"criteria": [{"operator": "PROP_IS_FUZZY", "propertyName": "user.mood", "valueToMatch": {"type": "mood", "value": {"level": 9.0}}}], "value": {"type": "bool", "value": true}},
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}}`

// What is touched in a rule changes; what the console does not know beside it stays.
func TestConsoleAddsAndEditsARule(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/strange.json": strangeFlag}))
	w.see(t, "production", "Ada Lovelace", "Grace Hopper", "Alan Turing")
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags/strange", key)
	p.click(t, `[aria-label="Edit rules in production"]`)
	p.says(t, ".targeting", "production uses the default rules")
	p.says(t, ".review", "Nothing is changed yet")
	p.click(t, ".add-rule")
	p.says(t, ".review", "Rule 3 lacks a property")
	eventually(t, "the properties that contexts have are suggested", func() (any, bool) {
		names := call[[]string](t, p.tab, `() => [...document.querySelectorAll("#known-properties option")].map((one) => one.value)`)
		return names, strings.Contains(strings.Join(names, " "), "user.email") && strings.Contains(strings.Join(names, " "), "user.plan")
	})
	p.write(t, ".draft.opened [aria-label=Property]", "user.plan")
	p.click(t, ".draft.opened .chips input")
	eventually(t, "the values that contexts have are suggested", func() (any, bool) {
		values := call[[]string](t, p.tab, `() => [...document.querySelectorAll("#known-values option")].map((one) => one.value)`)
		return values, strings.Contains(strings.Join(values, " "), "enterprise")
	})
	p.write(t, ".draft.opened .chips input", "enterprise")
	p.press(t, "\r")
	long := strings.Repeat("p", 80)
	p.write(t, ".draft.opened .chips input", long)
	p.click(t, ".draft.opened .add-criterion") // the field is left, its text becomes a chip, and the click lands all the same
	p.choose(t, ".draft.opened .criterion:nth-child(2) [aria-label=Operator]", "NOT_IN_SEG")
	p.choose(t, ".draft.opened [aria-label=Segment]", "beta-testers")
	p.says(t, "dialog .messages", "1 rule added")
	p.says(t, "dialog .impact", "3 saved contexts")
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-production]", "and not in segment beta-testers")
	file := w.fileOf(t, "feature-flags/strange.json")
	rules := `{"x-rule":2.0,"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","x-criterion":3.0,"valueToMatch":{"type":"string_list","value":["free"],"x-operand":4.0}}],"value":{"type":"bool","value":false,"x-value":5.0}},` +
		`{"criteria":[{"operator":"PROP_IS_FUZZY","propertyName":"user.mood","valueToMatch":{"type":"mood","value":{"level":9.0}}}],"value":{"type":"bool","value":true}},`
	added := `{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["enterprise","` + long + `"]}},{"operator":"NOT_IN_SEG","valueToMatch":{"type":"string","value":"beta-testers"}}],"value":{"type":"bool","value":true}},`
	for _, want := range []string{`"x-unknown":{"big":12345678901234567890,"deep":[1.50,null]}`, `"x-default":1.0`, `"rules":[` + rules + `{"criteria"`, rules + added} {
		if !strings.Contains(file, want) {
			t.Errorf("the document lacks %s:\n%s", want, file)
		}
	}
	p.quiet(t)

	p.visit(t, "#/flags/strange?edit=default&kind=rules")
	p.click(t, ".draft:nth-child(1) .edit")
	p.click(t, `.draft:nth-child(1) [aria-label="Remove free"]`)
	p.says(t, ".review", "lacks what to compare with")
	p.write(t, ".draft:nth-child(1) .chips input", "trial")
	p.press(t, "\r")
	p.says(t, "dialog .messages", "1 rule changed")
	p.click(t, ".draft:nth-child(2) .edit")
	p.says(t, ".draft:nth-child(2) .meaning", "does not know this operator")
	p.apply(t)
	file = w.fileOf(t, "feature-flags/strange.json")
	for _, want := range []string{`{"x-rule":2.0,"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","x-criterion":3.0,"valueToMatch":{"type":"string_list","value":["trial"],"x-operand":4.0}}]`, `{"type":"mood","value":{"level":9.0}}`} {
		if !strings.Contains(strings.ReplaceAll(file, `"x-criterion":3.0,`, ""), strings.ReplaceAll(want, `"x-criterion":3.0,`, "")) || !strings.Contains(file, `"x-criterion":3.0`) {
			t.Errorf("the document lacks %s:\n%s", want, file)
		}
	}
}

// What stands in a list's field is part of it as it is typed: what is applied is what was previewed.
func TestConsolePreviewsWhatIsTypedInAList(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/typed.json": boolFlag("typed", "")}))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags/typed?edit=production&kind=rules", key)
	p.click(t, ".add-rule")
	p.write(t, ".draft.opened [aria-label=Property]", "user.plan")
	p.write(t, ".draft.opened .chips input", "pro")
	p.says(t, "dialog .rule-changes", "pro")
	p.wait(t, "dialog .dialog-foot .primary:not([disabled])")
	p.write(t, ".draft.opened .chips input", "")
	p.says(t, "dialog .review", "lacks what to compare with")
	p.write(t, ".draft.opened .chips input", "enter")
	p.choose(t, ".draft.opened [aria-label=Operator]", "PROP_CONTAINS_ONE_OF") // compares with a list too
	p.says(t, "dialog .rule-changes", "enter")
	p.click(t, ".draft.opened .chips input")
	p.press(t, "\r")
	p.write(t, ".draft.opened .chips input", "prise")
	p.says(t, "dialog .rule-changes", "prise")
	p.apply(t)
	if file := w.fileOf(t, "feature-flags/typed.json"); !strings.Contains(file, `"value":["enter","prise"]`) {
		t.Errorf("what was previewed is not what is applied: %s", file)
	}

	p.visit(t, "#/flags/typed?details=1")
	p.write(t, "dialog .chips input", "colours")
	p.says(t, "dialog .messages", "tags")
	p.apply(t)
	p.says(t, ".facts", "colours")
	p.quiet(t)
}

func TestConsoleEditsRulesWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags/search.suggestions", key)
	p.tabTo(t, `[aria-label="Edit rules in production"]`)
	p.press(t, "\r")
	p.tabTo(t, ".draft:nth-child(1) .edit")
	p.chord(t, alt, "ArrowDown", keyDown)
	p.says(t, ".draft:nth-child(2) .who", "beta-testers")
	p.says(t, ".targeting [role=status]", "Rule 1 is now rule 2 of 2.")
	eventually(t, "the focus goes with the rule", func() (any, bool) {
		at := call[string](t, p.tab, `() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.tagName`)
		return at, at == "Edit rule 2"
	})
	p.press(t, "\r")
	p.tabTo(t, ".draft:nth-child(2) [aria-label=Operator]")
	p.press(t, "\t", "\t", "\t")
	p.tabTo(t, ".draft.open-end button, .draft:nth-child(3) .remove")
	p.press(t, "\r")
	p.says(t, ".draft.open-end", "what the default rules say")
	p.says(t, "dialog .messages", "production")
	p.tabTo(t, "dialog .dialog-foot .primary:not([disabled])")
	p.press(t, "\r")
	p.gone(t, "dialog")
	document := get[stored](t, w.base+"/v1/flags/search.suggestions/document", key).Document
	text, _ := json.Marshal(document["environments"].([]any)[1].(map[string]any)["rules"])
	if first, last := strings.Index(string(text), "device.app-version"), strings.Index(string(text), "beta-testers"); first < 0 || last < first || strings.Contains(string(text), "ALWAYS_TRUE") {
		t.Errorf("%s", text)
	}
	p.quiet(t)
}

// What the API says of a document stands at the field that it is about.
func TestConsoleShowsWhatIsWrongAtItsField(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/flags/search.suggestions?edit=production&kind=rules", w.key(t, "Ada", "protected_engineer"))
	p.click(t, ".draft:nth-child(2) .edit")
	p.write(t, ".draft:nth-child(2) .operand input", "two.four")
	p.says(t, ".draft:nth-child(2) .operand .problem.warning", "SemVer")
	p.choose(t, ".draft:nth-child(2) [aria-label=Operator]", "PROP_MATCHES")
	p.write(t, ".draft:nth-child(2) .operand input", "(")
	p.says(t, ".draft:nth-child(2) .operand .problem:not(.warning)", "missing closing )")
	p.wait(t, ".draft:nth-child(2) .operand [aria-invalid=true]")
	if !p.sees(t, "dialog .primary[disabled]") {
		t.Error("what is refused can be applied")
	}
	p.write(t, ".draft:nth-child(2) .operand input", "^2")
	p.gone(t, ".draft:nth-child(2) .operand .problem")
	p.choose(t, ".draft:nth-child(2) [aria-label=Operator]", "IN_INT_RANGE")
	p.write(t, `.draft:nth-child(2) [aria-label=From]`, "65")
	p.write(t, `.draft:nth-child(2) [aria-label="To below"]`, "18")
	p.says(t, ".draft:nth-child(2) .operand .problem", "Nothing is in this range")
	p.write(t, `.draft:nth-child(2) [aria-label="To below"]`, "180")
	p.says(t, "dialog .messages", "rule")
	p.choose(t, ".draft:nth-child(2) [aria-label=Operator]", "PROP_BEFORE")
	call[bool](t, p.tab, `() => {
		const field = document.querySelector(".draft:nth-child(2) [type=datetime-local]");
		field.value = "2027-03-01T09:00";
		return field.dispatchEvent(new Event("input", { bubbles: true }));
	}`)
	p.click(t, ".draft:nth-child(2) .edit")
	p.says(t, ".draft:nth-child(2) .who", "is before 2027-03-01T09:00:00Z")
}

// Somebody else's change of another rule is kept, and nothing of the form is lost.
func TestConsoleMergesTheRulesOfTwoPeople(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	key, other := w.key(t, "Ada", "protected_engineer"), w.key(t, "Grace", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags/search.suggestions?edit=production&kind=rules", key)
	p.click(t, ".draft:nth-child(2) .edit")
	p.write(t, ".draft:nth-child(2) .operand input", "3.0.0")
	p.says(t, "dialog .messages", "1 rule changed")
	w.send(t, other, "PATCH", "/v1/flags/search.suggestions/environments/production", `{"enabled": true}`)
	p.says(t, "dialog .box.warn", "Someone else changed this") // which is told without a button being pressed
	p.says(t, "dialog .box .author", "Grace")
	p.click(t, "dialog .review .box button:not(.time)")
	p.says(t, ".draft:nth-child(3)", "true")
	p.says(t, ".review .messages", "1 rule changed")
	p.gone(t, "dialog .box.warn")

	// The same rule, changed by both, is decided by the person.
	document := get[stored](t, w.base+"/v1/flags/search.suggestions/document", other)
	text, _ := json.Marshal(document)
	w.send(t, other, "PUT", "/v1/flags/search.suggestions/document", strings.NewReplacer(`"2.4.0"`, `"2.5.0"`, `"CommitSha"`, `"expectedCommitSha"`, `"Document"`, `"document"`).Replace(string(text)))
	p.says(t, "dialog .review .box.warn", "Someone else changed this")
	p.click(t, "dialog .review .box button:not(.time)")
	p.says(t, ".targeting > .box.warn", "Someone else changed the same rules")
	p.says(t, ".targeting > .box.warn .rules", "2.5.0")
	if kept := call[string](t, p.tab, `() => document.querySelector(".draft:nth-child(2) .operand input").value`); kept != "3.0.0" {
		t.Errorf("the form holds %q", kept)
	}
	p.apply(t)
	if file := w.fileOf(t, "feature-flags/search.suggestions.json"); !strings.Contains(file, `"3.0.0"`) || strings.Contains(file, "weighted_values") {
		t.Errorf("%s", file)
	}
}

// A stray Escape, the browser's back button: what was begun is still there.
func TestConsoleKeepsRulesThatAreNotAppliedYet(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/flags/search.suggestions", w.key(t, "Ada", "protected_engineer"))
	for _, leave := range []func(){func() { p.press(t, escape) }, func() { p.back(t) }} {
		p.click(t, `[aria-label="Edit rules in production"]`)
		p.click(t, ".draft:nth-child(1) .remove")
		p.says(t, "dialog .messages", "removed")
		leave()
		p.gone(t, "dialog")
		p.click(t, `[aria-label="Edit rules in production"]`)
		p.says(t, ".targeting > .box", "Your draft is restored")
		p.says(t, "dialog .messages", "removed")
		p.click(t, ".targeting > .box button")
		p.says(t, ".draft:nth-child(1)", "beta-testers")
		p.click(t, "dialog .dialog-foot button:first-child")
		p.gone(t, "dialog")
	}
	// An environment is left to the default rules.
	p.visit(t, "#/flags/search.suggestions?edit=staging&kind=rules")
	p.click(t, ".targeting > .actions .quiet")
	p.says(t, ".targeting .box", "no rules of its own")
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-staging]", "Uses the default rules")
}

// Where a condition asks what another flag serves, the keys of flags are suggested, and then
// the values of that one; properties are not.
func TestConsoleSuggestsFlagsToAskFor(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	p := openConsole(t, w, desk, "#/flags/new-checkout", w.key(t, "Ada", "protected_engineer"))
	p.withAxe(t)
	p.click(t, `[aria-label="Edit rules in staging"]`)
	p.click(t, ".add-rule")
	p.choose(t, ".draft.opened [aria-label=Operator]", "FLAG_IS_ONE_OF")
	suggested := func(field, without string, want ...string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%v are suggested", want), func() (any, bool) {
			values := call[[]string](t, p.tab, `(field) => [...document.querySelector(field).list.options].map((one) => one.value)`, field)
			missing := slices.DeleteFunc(slices.Clone(want), func(one string) bool { return slices.Contains(values, one) })
			return values, len(missing) == 0 && !slices.Contains(values, without)
		})
	}
	suggested(".draft.opened [aria-label=Flag]", "user.key", "plans", "search.suggestions")
	suggested(".draft.opened [aria-label=Flag]", "new-checkout", "plans") // itself
	p.write(t, ".draft.opened [aria-label=Flag]", "search.suggestions")
	p.click(t, ".draft.opened .chips input")
	suggested(".draft.opened .chips input", "", "true", "false")
	p.write(t, ".draft.opened [aria-label=Flag]", "plans")
	p.click(t, ".draft.opened .chips input")
	suggested(".draft.opened .chips input", "true", "a", "b")
	p.sound(t, "another flag")
}
