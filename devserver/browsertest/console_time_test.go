package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
)

// A flag is paused with one click, undone with one, and resumed as it was; what is no Boolean
// asks for the value that everybody gets meanwhile.
func TestConsolePausesAndResumes(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	p := openConsole(t, w, desk, "#/flags/search.suggestions", w.key(t, "Ada", "protected_engineer"))
	p.withAxe(t)
	p.says(t, "[aria-labelledby=scope-production] .state", "On for 25%")
	before := w.fileOf(t, "feature-flags/search.suggestions.json")
	p.click(t, `[aria-label="Pause in production"]`)
	p.says(t, "[aria-labelledby=scope-production] .box.paused", "Everyone gets this")
	p.says(t, ".notice", "everyone gets false in production")
	p.says(t, "[aria-labelledby=scope-production] header", "Paused: false")
	p.wait(t, `[role=switch][aria-label="Paused in production: switch on to resume"]`)
	p.sound(t, "paused")
	p.click(t, ".notice a")
	p.says(t, "dialog .review", "resumed")
	p.apply(t)
	p.gone(t, "[aria-labelledby=scope-production] .paused")
	if after := w.fileOf(t, "feature-flags/search.suggestions.json"); after != before {
		t.Errorf("after a pause that was undone it is\n%s", after)
	}

	p.click(t, `[aria-label="Pause in production"]`)
	p.says(t, "[aria-labelledby=scope-production] .box.paused", "Everyone gets this")
	p.click(t, `[aria-label="Edit rules in production"]`)
	p.says(t, "dialog .form", "hold again when it is resumed")
	p.gone(t, "dialog .drafts li:nth-child(4)") // the pause is none of them
	p.press(t, escape)
	p.visit(t, "#/flags")
	p.cellOf(t, "search.suggestions", "production", "Paused")
	p.click(t, `[aria-label="Select search.suggestions"]`)
	p.button(t, "Resume")
	p.choose(t, "dialog .field select", "production")
	p.says(t, "dialog .by-item", "search.suggestions")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	if after := w.fileOf(t, "feature-flags/search.suggestions.json"); after != before {
		t.Errorf("resumed it is\n%s", after)
	}

	p.visit(t, "#/flags/plans")
	p.click(t, `[aria-label="Pause in production"]`)
	p.says(t, "dialog .review", "Choose what everyone gets")
	p.wait(t, "dialog .dialog-foot .danger[disabled]")
	p.choose(t, "dialog .field select", "b")
	p.sound(t, "pause")
	p.click(t, "dialog .dialog-foot .danger:not([disabled])")
	p.gone(t, "dialog")
	p.says(t, "[aria-labelledby=scope-production] .box.paused", "b")
	p.quiet(t)
}

// A rollout goes on by itself in steps that are typed; it is held, gone on with and taken back
// where it is shown. So is what is scheduled.
func TestConsoleRollsOutOverTime(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/flags/new-checkout", w.key(t, "Ada", "protected_engineer"))
	p.withAxe(t)
	p.click(t, `[aria-label="Roll out in staging"]`)
	p.button(t, "Over time")
	p.sound(t, "plan")
	if day := p.begins(t); day < 30*time.Minute || day > 2*time.Hour {
		t.Errorf("a plan begins in %v", day)
	}
	p.write(t, ".steps li:nth-child(2) .percent input", "1")
	p.says(t, ".steps .problem", "Step 2 has no larger share than step 1")
	p.cannotApply(t)
	p.write(t, ".steps li:nth-child(2) .percent input", "20")
	p.gone(t, ".steps .problem")
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-staging] .plan", "0% get true")
	p.says(t, "[aria-labelledby=scope-staging] .plan ol", "20%")
	p.sound(t, "planned")
	p.click(t, `[aria-label="Hold here: rollout in staging"]`)
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-staging] .plan", "Rollout, held: 0% get true")
	p.click(t, `[aria-label="Go on: rollout in staging"]`)
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-staging] .plan", "Rolling out: 0% get true")

	p.click(t, `[aria-label="Roll out in development"]`)
	p.button(t, "One value")
	p.choose(t, "dialog .field select", "false")
	p.button(t, "At a time")
	p.says(t, "dialog .review", "Choose a day and a time")
	p.setTime(t, "dialog .when input", time.Now().Add(-time.Hour))
	p.says(t, "dialog .review", "This time is over")
	p.setTime(t, "dialog .when input", time.Now().Add(49*time.Hour))
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-development] .timed", "Scheduled: in 2 days")
	p.click(t, "[aria-labelledby=scope-development] .timed button.quiet")
	p.apply(t)
	p.gone(t, "[aria-labelledby=scope-development] .timed")
	if file := w.fileOf(t, "feature-flags/new-checkout.json"); strings.Contains(file, `"scheduled":"change"`) || strings.Count(file, `"scheduled":"rollout"`) != 4 {
		t.Errorf("%s", file)
	}
	p.quiet(t)
}

// What was scheduled and has come is what everyone else gets, for the switch and for what is
// edited; and a plan begins with no fewer than get the value already.
func TestConsoleTellsWhatHasCome(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/due.json": boolFlag("due", `, "environments": [{"id": "staging", "rules": [
		{"criteria": [{"operator": "PROP_AFTER", "propertyName": "svc.current-time", "valueToMatch": {"type": "string", "value": "2026-01-01T00:00:00Z"}}], "value": {"type": "bool", "value": true}, "scheduled": "change"},
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}]`)}))
	p := openConsole(t, w, desk, "#/flags/due", w.key(t, "Ada", "protected_engineer"))
	p.says(t, "[aria-labelledby=scope-staging] .state", "On for everyone")
	p.says(t, "[aria-labelledby=scope-development] .state", "Off for everyone")
	p.click(t, "[aria-labelledby=scope-staging] .switch")
	p.says(t, "dialog .review", "no longer scheduled for 2026-01-01")
	p.press(t, "\x1b")
	p.gone(t, "dialog")
	p.visit(t, "#/flags")
	p.says(t, ".list", "due\nBoolean\nOff\nOn\nOff")
	p.visit(t, "#/flags/due?edit=staging&kind=rules")
	p.says(t, "dialog .draft", "true")
	p.press(t, "\x1b")
	p.gone(t, "dialog")
	p.visit(t, "#/flags/search.suggestions?edit=production&kind=plan")
	p.says(t, "dialog .steps", "Steps")
	if steps := call[string](t, p.tab, `() => [...document.querySelectorAll(".steps .percent input")].map((one) => one.value).join()`); steps != "50,100" {
		t.Errorf("over 25 %% a plan begins with %s", steps)
	}
	p.quiet(t)
}

// begins is how long it is until the first step of a plan in a dialog.
func (p docsPage) begins(t *testing.T) time.Duration {
	t.Helper()
	milliseconds := call[float64](t, p.tab, `() => new Date(document.querySelector(".steps li input").value).getTime()`)
	return time.Until(time.UnixMilli(int64(milliseconds)))
}

// setTime writes a time, as a browser's own field for it does.
func (p docsPage) setTime(t *testing.T, selector string, at time.Time) {
	t.Helper()
	call[any](t, p.tab, fmt.Sprintf(`() => {
		const field = document.querySelector(%q), at = new Date(%d);
		field.value = new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
		field.dispatchEvent(new Event("input", { bubbles: true }));
	}`, selector, at.UnixMilli()))
}

// TestTimePictures takes pictures of pauses and plans, as TestConsolePictures does.
func TestTimePictures(t *testing.T) {
	folder := os.Getenv("SVC_PICTURES")
	if folder == "" {
		t.Skip("SVC_PICTURES names no folder")
	}
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/plans.json": plans}))
	key := w.key(t, "Ada", "protected_engineer")
	must.Do(t, os.MkdirAll(folder, 0o755))
	w.send(t, key, "POST", "/v1/flags/search.suggestions/environments/production/pause", `{}`)
	at := func(minutes int) string {
		return time.Now().UTC().Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
	}
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/production", fmt.Sprintf(
		`{"rolloutPlan":{"value":true,"steps":[{"at":%q,"percent":1},{"at":%q,"percent":10},{"at":%q,"percent":50},{"at":%q,"percent":100}]}}`,
		time.Now().UTC().Add(2*time.Second).Format(time.RFC3339), at(60), at(600), at(1440)))
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/development", fmt.Sprintf(`{"enabled":false,"at":%q}`, at(2880)))
	time.Sleep(3 * time.Second) // the first step has come
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{320, 768, 1280, 1920} {
			p := openConsole(t, w, screen{width, map[int64]int64{320: 1600}[width] + 900, width == 320, scheme}, "", key)
			for _, view := range []struct{ name, place, drawn string }{
				{"paused", "#/flags/search.suggestions", ".paused"}, {"plan", "#/flags/new-checkout", ".plan"},
				{"pause", "#/flags/plans?edit=production&kind=pause", "dialog .review"}, {"list", "#/flags", ".row .status"},
				{"over-time", "#/flags/new-checkout?edit=staging&kind=plan", ".steps"}, {"hold", "#/flags/new-checkout?edit=production&kind=hold", "dialog .messages"},
			} {
				p.visit(t, view.place)
				p.wait(t, view.drawn)
				p.picture(t, filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", view.name, width, scheme)))
			}
		}
	}
}
