package browsertest

import (
	"strings"
	"testing"
)

// What shares a schema or a segment is found, and leads there.
func TestConsoleFindsUses(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/configs/home.banner?schema=1", w.key(t, "Ada", "protected_engineer"))
	p.withAxe(t)
	p.button(t, "Find uses")
	p.says(t, "dialog .used", "home.banner")
	p.sound(t, "uses of a schema")
	p.click(t, "dialog .used a")
	p.gone(t, "dialog")
	p.says(t, "h1", "home.banner")
	p.visit(t, "#/segments/beta-testers")
	p.button(t, "Find uses")
	p.click(t, ".used a")
	p.says(t, "h1", "search.suggestions")
	p.quiet(t)
}

// A value that comes from a variable stays so, unless somebody stores one, with a warning.
func TestConsoleChangesAVariable(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/configs/payments.api-key", w.key(t, "Ada", "protected_engineer"))
	p.withAxe(t)
	p.button(t, "Set value (default)")
	p.says(t, "dialog .review", "Nothing is changed yet.")
	p.sound(t, "a value from a variable")
	p.write(t, "dialog .form input", "PAYMENTS_KEY_2")
	p.apply(t)
	if file := w.fileOf(t, "configs/payments.api-key.json"); !strings.Contains(file, `{"source":"ENV_VAR","lookup":"PAYMENTS_KEY_2"},"confidential":true`) {
		t.Errorf("the file is\n%s", file)
	}
	p.button(t, "Set value (default)")
	p.button(t, "Stored here")
	p.says(t, "dialog .box.warn", "PAYMENTS_KEY_2")
	p.says(t, "dialog .review", "Choose a value")
	p.quiet(t)
}

// What is told of a rule names it as people do.
func TestConsoleNamesRulesInWords(t *testing.T) {
	t.Parallel()
	pro := func(value string) string {
		return `{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["pro"]}}], "value": {"type": "bool", "value": ` + value + `}}`
	}
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/twice.json": `{"key": "twice", "type": "feature_flag", "valueType": "bool", "default": {"rules": []},
		"environments": [{"id": "production", "rules": [` + pro("true") + `, ` + pro("false") + `]}]}`}))
	p := openConsole(t, w, desk, "#/flags/twice?edit=production&kind=rules", w.key(t, "Ada", "protected_engineer"))
	p.button(t, "Decide")
	p.choose(t, ".draft.opened .value-fields select", "true")
	p.says(t, "dialog", "all that it is for are served by rule 1 in production")
	if n := call[int](t, p.tab, `() => document.querySelector("dialog").innerText.split("no context comes to this rule").length - 1`); n != 1 {
		t.Errorf("it is said %d times", n)
	}
	p.quiet(t)
}
