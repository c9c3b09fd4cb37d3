package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oldWorkspace is a workspace whose files were committed two months ago.
func oldWorkspace(t *testing.T, more map[string]string) *workspace {
	t.Helper()
	dir := copySample(t, more)
	git(t, dir, 60, "init", "--quiet", "--initial-branch=main")
	git(t, dir, 60, "add", ".")
	git(t, dir, 60, "commit", "--quiet", "--message", "Start")
	return serveWorkspace(t, dir)
}

// textFlag is a flag of texts with these rules.
func textFlag(key, rules, more string) string {
	return fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": "string", "access": "standard", "default": {"rules": [%s]}%s}`, key, rules, more)
}

var plainRule = func(value string) string {
	return `{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": ` + value + `}`
}

// cellOf is what a list's row says in a column.
func (p docsPage) cellOf(t *testing.T, key, column, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s in %s is %q", key, column, want), func() (any, bool) {
		got := call[string](t, p.tab, `(key, column) => [...document.querySelectorAll(".row")].find((row) => row.querySelector(".key")?.innerText === key)?.querySelector('[data-column="' + column + '"]')?.innerText ?? "nothing"`, key, column)
		return got, got == want
	})
}

func TestConsoleListsTellWhatIsServed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 50)
	w := serveWorkspace(t, copySample(t, map[string]string{
		"feature-flags/a.text.json": textFlag("a.text", plainRule(`{"type": "string", "value": "blue"}`), `, "environments": [{"id": "production", "rules": [`+
			`{"criteria": [{"operator": "IS_PRESENT", "propertyName": "user.key"}], "value": {"type": "string", "value": "red"}},`+
			plainRule(`{"type": "weighted_values", "value": {"weightedValues": [{"weight": 250, "value": {"type": "string", "value": "red"}}, {"weight": 750, "value": {"type": "string", "value": ""}}]}}`)+`]}]`),
		"configs/a.secret.json": `{"key": "a.secret", "type": "config", "valueType": "string", "access": "standard", "default": {"rules": [` + plainRule(`{"type": "string", "value": "s3cret", "confidential": true}`) + `]}}`,
		"configs/a.long.json":   `{"key": "a.long", "type": "config", "valueType": "string", "access": "standard", "default": {"rules": [` + plainRule(`{"type": "string", "value": "`+long+`"}`) + `]}}`,
	}))
	p := openConsole(t, w, desk, "#/flags", w.key(t, "Ada", "protected_engineer"))
	p.withAxe(t)
	p.cellOf(t, "a.text", "development", "blue")
	p.cellOf(t, "a.text", "production", "25\u00a0% red, 75\u00a0% empty text, after 1 rule")
	p.visit(t, "#/configs")
	p.cellOf(t, "a.secret", "production", "confidential")
	p.cellOf(t, "a.long", "production", long[:100]+"…")
	p.sound(t, "configs")

	// What is shown is kept under a name, and comes back with its columns.
	p.visit(t, "#/flags?q=text&sort=changed&hide=development")
	p.click(t, ".filters button:last-child")
	p.write(t, "dialog input", "Texts, newest first")
	p.press(t, "\r")
	p.says(t, "dialog .saved", "Texts, newest first")
	p.sound(t, "saved filters")
	p.visit(t, "#/flags?q=nothing&saved=1")
	p.click(t, "dialog .saved .link")
	p.gone(t, "dialog")
	p.cellOf(t, "a.text", "production", "25\u00a0% red, 75\u00a0% empty text, after 1 rule")
	if at := call[string](t, p.tab, `() => location.hash`); at != "#/flags?q=text&sort=changed&hide=development" {
		t.Errorf("at %s", at)
	}
	if held := call[string](t, p.tab, `() => JSON.stringify({...localStorage})`); strings.Contains(held, "svc_uk_") || !strings.Contains(held, "newest first") {
		t.Errorf("the browser keeps %s", held)
	}
	p.visit(t, "#/flags?saved=1")
	p.click(t, `dialog [aria-label^="Forget"]`)
	p.says(t, "dialog .note", "None yet")
	p.quiet(t)
}

func TestConsoleCleansUp(t *testing.T) {
	t.Parallel()
	blue := plainRule(`{"type": "string", "value": "blue"}`)
	w := oldWorkspace(t, map[string]string{
		"feature-flags/a.done.json":    textFlag("a.done", blue, `, "environments": [{"id": "production", "rules": [`+blue+`]}]`),
		"feature-flags/a.more.json":    textFlag("a.more", blue, ""),
		"feature-flags/a.ready.json":   boolFlag("a.ready", `, "readyForCleanup": true`),
		"feature-flags/a.changed.json": textFlag("a.changed", blue, ""),
		"feature-flags/a.used.json":    textFlag("a.used", blue, `, "environments": [{"id": "production", "rules": [`+plainRule(`{"type": "string", "value": "red"}`)+`]}]`),
	})
	key := w.key(t, "Ada", "protected_engineer")
	w.send(t, key, "PATCH", "/v1/flags/a.changed/environments/default", `{"value": "green"}`)
	w.countMonth(t, "a.done")
	p := openConsole(t, w, desk, "#/flags?stale=30&q=a.", key)
	p.withAxe(t)
	why := func(key, want string) {
		t.Helper()
		p.says(t, fmt.Sprintf(`.row:has([aria-label="Select %s"]) .why`, key), want)
	}
	why("a.done", `serves "blue" to everybody`)
	p.cellOf(t, "a.done", "production", "blue")
	p.cellOf(t, "a.ready", "production", "Off")
	p.says(t, `.row:has([aria-label="Select a.done"]) [data-column=Evaluated]`, "46,500 times")
	p.says(t, ".note", "1 item changed in that time, and so left out.")
	if p.sees(t, `[aria-label="Select a.used"]`) || p.sees(t, `[aria-label="Select a.changed"]`) {
		t.Error("what is not stale is listed")
	}
	p.sound(t, "stale")
	p.click(t, `[aria-label="Select a.done"]`)
	p.click(t, ".selected .actions button:nth-child(2)")
	p.says(t, "dialog .by-item", "follows the default rules again")
	p.sound(t, "fold")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	if file := w.fileOf(t, "feature-flags/a.done.json"); strings.Contains(file, "production") || !strings.Contains(file, `"blue"`) {
		t.Errorf("folded:\n%s", file)
	}
	// It was changed just now, so it is left out until it is marked.
	p.gone(t, `[aria-label="Select a.done"]`)
	p.click(t, ".notice a")
	p.says(t, "dialog .by-item", "a.done")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	if file := w.fileOf(t, "feature-flags/a.done.json"); !strings.Contains(file, "production") {
		t.Errorf("undone:\n%s", file)
	}
	p.visit(t, "#/flags?stale=30&q=a.")
	p.click(t, `[aria-label="Select a.more"]`)
	p.click(t, ".selected .actions button:nth-child(1)")
	p.says(t, "dialog .by-item", "a.more")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	why("a.more", "is marked as ready for cleanup")
	p.quiet(t)
}

func TestConsoleComparesEnvironments(t *testing.T) {
	t.Parallel()
	five := `[{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "int", "value": 5}}]`
	w := serveWorkspace(t, copySample(t, map[string]string{"configs/same.limit.json": `{"key": "same.limit", "type": "config", "valueType": "int",
		"default": {"rules": ` + five + `}, "environments": [{"id": "staging", "rules": ` + five + `}]}`}))
	admin := w.key(t, "Ada", "protected_engineer")
	w.send(t, admin, "PATCH", "/v1/configs/api.timeout/environments/staging", `{"value": "PT7S"}`)
	w.send(t, admin, "PATCH", "/v1/log-levels/storefront", `{"level": "DEBUG", "environment": "staging"}`)
	p := openConsole(t, w, desk, "#/compare", admin)
	p.withAxe(t)
	p.says(t, ".empty", "Choose two environments")
	p.choose(t, ".compare label:nth-of-type(1) select", "staging")
	p.choose(t, ".compare label:nth-of-type(2) select", "production")
	p.cellOf(t, "api.timeout", "staging", "PT7S")
	p.cellOf(t, "api.timeout", "If copied", `serve "PT7S" to everyone`)
	p.cellOf(t, "storefront", "staging", "DEBUG +1")
	p.visit(t, "#/compare?from=staging&to=production&q=api.timeuot")
	p.cellOf(t, "api.timeout", "staging", "PT7S")
	p.gone(t, `[aria-label="Select log-level.storefront"]`)
	p.visit(t, "#/compare?from=staging&to=production")
	p.cellOf(t, "storefront", "staging", "DEBUG +1")
	p.gone(t, `[aria-label="Select same.limit"]`) // which has other rules for the same value
	p.says(t, ".heading .note", "more in the rules alone")
	p.choose(t, `.filters label:nth-of-type(2) select`, "rules")
	p.wait(t, `[aria-label="Select same.limit"]`)
	p.visit(t, "#/compare?from=staging&to=production")
	p.sound(t, "compare")
	for _, key := range []string{"api.timeout", "log-level.storefront"} {
		p.click(t, `[aria-label="Select `+key+`"]`)
	}
	p.click(t, ".selected .actions button:first-child")
	p.says(t, "dialog .by-item", "api.timeout")
	p.says(t, "dialog .by-item", "log-level.storefront")
	p.says(t, "dialog .note", "production is protected")
	p.sound(t, "copy")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	p.gone(t, `[aria-label="Select api.timeout"]`)
	if file := w.fileOf(t, "configs/api.timeout.json"); strings.Count(file, "PT7S") != 2 {
		t.Errorf("copied:\n%s", file)
	}
	p.click(t, ".notice a")
	p.says(t, "dialog .by-item", "api.timeout")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	p.visit(t, "#/compare?from=staging&to=production")
	p.cellOf(t, "api.timeout", "staging", "PT7S")

	// Who may not change production is told so before anything is done.
	p = openConsole(t, w, desk, "#/compare?from=staging&to=production", w.key(t, "Bob", "engineer_nonprotected"))
	p.click(t, `[aria-label="Select api.timeout"]`)
	p.wait(t, `.selected .actions button[disabled][title^="production is protected"]`)
}

// TestListPictures takes pictures of the lists, as TestConsolePictures does.
func TestListPictures(t *testing.T) {
	folder := os.Getenv("SVC_PICTURES")
	if folder == "" {
		t.Skip("SVC_PICTURES names no folder")
	}
	w, key := demo(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{320, 768, 1280, 1920} {
			p := openConsole(t, w, screen{width, map[int64]int64{320: 640}[width] + 800, width == 320, scheme}, "", key)
			for _, view := range []struct{ name, place, drawn string }{
				{"flags", "#/flags", ".row .status"}, {"configs", "#/configs", ".row .serving"}, {"stale", "#/flags?stale=30", ".row .why, .empty"},
				{"saved", "#/flags?saved=1&q=a", "dialog .form"}, {"compare", "#/compare?from=staging&to=production", ".row .why"}, {"compare-none", "#/compare", ".empty"},
			} {
				p.visit(t, view.place)
				p.wait(t, view.drawn)
				p.picture(t, filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", view.name, width, scheme)))
			}
		}
	}
}
