package browsertest

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
)

// What was served is told as a plot, which the arrow keys walk, and as a table, with
// what was changed meanwhile.
func TestConsolePlotsEvaluations(t *testing.T) {
	w := serveWorkspace(t, history(t, copySample(t, nil)))
	w.countMonth(t, "gradual")
	p := openConsole(t, w, desk, "#/flags/gradual/evaluations", w.key(t, "Ada", "protected_engineer"))
	production := "[aria-labelledby=evaluations-production] "
	p.says(t, production+".reading", "30 days 46,500 evaluations")
	p.says(t, production+".reading li:first-child", "true")
	p.says(t, "[aria-labelledby=evaluations-staging] .note", "Not evaluated in the last 60 days")
	if bars := call[int](t, p.tab, `(of) => document.querySelectorAll(of + "svg rect").length`, production); bars != 30+12 {
		t.Errorf("%d bars: one for false on each day, and one for true since the rollout", bars)
	}
	if marks := call[int](t, p.tab, `(of) => document.querySelectorAll(of + ".mark").length`, production); marks != 1 {
		t.Errorf("%d marks, not one for the change of the last 30 days that reaches production", marks)
	}
	p.says(t, production+".marked li:first-child", "rollout 25% true")
	p.says(t, production+".marked li:first-child", "Grace")
	p.says(t, "[aria-labelledby=evaluations-development] .marked", "turned on")

	spoken := func() string {
		return call[string](t, p.tab, `(of) => document.querySelector(of + "[role=slider]").ariaValueText`, production)
	}
	call[bool](t, p.tab, `(of) => { document.querySelector(of + "[role=slider]").focus(); return true }`, production)
	p.press(t, pageUp) // to the last change
	for _, want := range []string{"1,550 evaluations", "true 25.8%, false 74.2%", "Grace: production: rollout 25% true, 75% false"} {
		if !strings.Contains(spoken(), want) {
			t.Errorf("the day of the change is read as %q, without %q", spoken(), want)
		}
	}
	p.says(t, production+".marked .on", "rollout 25% true")
	p.press(t, arrowLeft)
	if got := spoken(); !strings.Contains(got, "1,550 evaluations, false 100%") || strings.Contains(got, "Grace") {
		t.Errorf("the day before it is read as %q", got)
	}
	p.click(t, production+"summary")
	p.says(t, production+"table thead", "true")
	p.says(t, production+"table tbody", "Grace: production: rollout 25% true, 75% false")
	p.visit(t, "#/flags/gradual/evaluations?days=7")
	p.says(t, production+".reading", "7 days 10,850 evaluations")
	p.gone(t, production+".marked") // it was earlier
	p.back(t)
	p.click(t, production+".marked a")
	p.says(t, "dialog .messages", "production")
	p.visit(t, "#/flags")
	p.says(t, `.row:has(a[href="#/flags/gradual"]) [data-column=Evaluated]`, "today")
	p.quiet(t)
}

// Where nothing was counted yet, the page says how to, and what it says works.
func TestConsoleTellsHowEvaluationsAreCounted(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openConsole(t, w, desk, "#/flags/pricing.headline/evaluations", w.key(t, "Ada", "protected_engineer"))
	p.wait(t, ".snippet")
	curl := exec.Command("sh", "-ec", call[string](t, p.tab, `() => document.querySelector(".snippet pre").textContent`))
	curl.Env = append(os.Environ(), "SVC_SDK_KEY="+w.applicationKey(t, "secret", "staging"))
	if out, err := curl.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.reload(t)
	p.signIn(t, w.key(t, "Grace", "protected_engineer"))
	p.says(t, "[aria-labelledby=evaluations-staging] .reading", "41 evaluations")
	p.says(t, "[aria-labelledby=evaluations-staging] header", "Last evaluated just now")
}

const (
	arrowLeft = "\u0302"
	pageUp    = "\u0308"
)

// gradual is a flag whose rules in production are those given.
func gradual(rules string) string {
	return boolFlag("gradual", `, "environments": [{"id": "production", "rules": [`+rules+`]}]`)
}

func everyone(value string) string {
	return `{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": ` + value + `}`
}

// history makes a directory the root of a git repository in which a flag was made two
// months ago, looked after 20 days ago, and rolled out 11 days ago.
func history(t *testing.T, dir string) string {
	t.Helper()
	git(t, dir, 0, "init", "--quiet", "--initial-branch=main")
	off := everyone(`{"type": "bool", "value": false}`)
	for _, step := range []struct {
		daysAgo          int
		message, content string
	}{
		{58, "Add the flags", gradual(off)},
		{20, "Say what it is for", strings.Replace(gradual(off), `"access"`, `"description": "Shows the new basket.", "access"`, 1)},
		{15, "Try it in development", strings.Replace(gradual(off), `"environments": [`, `"description": "Shows the new basket.", "environments": [{"id": "development", "rules": [`+everyone(`{"type": "bool", "value": true}`)+`]}, {"id": "staging", "rules": [`+off+`]}, `, 1)},
		{11, "Roll it out", strings.Replace(gradual(everyone(`{"type": "weighted_values", "value": {"hashByPropertyName": "user.key", "weightedValues": [{"weight": 250, "value": {"type": "bool", "value": true}}, {"weight": 750, "value": {"type": "bool", "value": false}}]}}`)), `"environments": [`, `"description": "Shows the new basket.", "environments": [{"id": "development", "rules": [`+everyone(`{"type": "bool", "value": true}`)+`]}, {"id": "staging", "rules": [`+off+`]}, `, 1)},
	} {
		write(t, dir, "feature-flags/gradual.json", step.content)
		git(t, dir, step.daysAgo, "add", ".")
		git(t, dir, step.daysAgo, "commit", "--quiet", "--message", step.message)
	}
	return dir
}

func git(t *testing.T, dir string, daysAgo int, args ...string) {
	t.Helper()
	at := time.Now().AddDate(0, 0, -daysAgo).Format(time.RFC3339)
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Grace", "-c", "user.email=grace@acme.example"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// countMonth has the store know of 30 days of a flag in production, of which the last
// 12 follow history's rollout: what applications report now is of now.
func (w *workspace) countMonth(t *testing.T, key string) {
	t.Helper()
	id := get[struct{ ID string }](t, w.base+"/v1/workspace", w.key(t, "Counter", "member")).ID
	batch := telemetry.Batch{Received: time.Now()}
	_, _ = rand.Read(batch.ID[:])
	for ago := range 30 {
		count := telemetry.Evaluation{Environment: "production", Key: key, Value: "false", At: time.Now().AddDate(0, 0, -ago), Count: 1550}
		if ago < 12 {
			count.Count = 1150
			on := count
			on.Value, on.Count = "true", 400
			batch.Evaluations = append(batch.Evaluations, on)
		}
		batch.Evaluations = append(batch.Evaluations, count)
	}
	if _, err := rows.New(bolt.New(local.DatabaseIn(w.data)), 0).Record(t.Context(), id, batch); err != nil {
		t.Fatal(fmt.Errorf("counting: %w", err))
	}
}
