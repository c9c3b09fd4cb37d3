package browsertest

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/testing/freeport"
)

// webApp is a page with the web SDK and the OFREP provider.
type webApp struct{ tab }

func openWebApp(t *testing.T) webApp {
	t.Helper()
	browser(t)
	return webApp{openTab(t, bundleSite(t, testdata(t, "web-provider.js")).origin("localhost"))}
}

// start returns the code of the error that the provider failed with.
func (app webApp) start(t *testing.T, options, context map[string]any) string {
	t.Helper()
	return call[string](t, app.tab, `(options, context) => start(options, context)`, options, context)
}

func (app webApp) mustStart(t *testing.T, options, context map[string]any) {
	t.Helper()
	if code := app.start(t, options, context); code != "" {
		t.Fatalf("the provider failed: %s", code)
	}
}

func (app webApp) ask(t *testing.T, q ...question) []details {
	t.Helper()
	return call[[]details](t, app.tab, `(questions) => ask(questions)`, q)
}

func (app webApp) value(t *testing.T, q question) any {
	t.Helper()
	return app.ask(t, q)[0].Value
}

func (app webApp) setContext(t *testing.T, context map[string]any) {
	t.Helper()
	call[bool](t, app.tab, `async (context) => { await setContext(context); return true }`, context)
}

func (app webApp) waitForValue(t *testing.T, what string, q question, want any) {
	t.Helper()
	eventually(t, what, func() (any, bool) {
		got := app.value(t, q)
		return fmt.Sprintf("%s is %v", q.Key, got), got == want
	})
}

var (
	proOnly = question{"boolean", "pro.only", false}
	ratio   = question{"number", "ratio", 0}
)

func TestWebProviderReadsEveryType(t *testing.T) {
	t.Parallel()
	app := openWebApp(t)
	base := "http://127.0.0.1:" + serve(t, everyTypeDir(t))
	app.mustStart(t, map[string]any{"baseUrl": base}, member)
	checkAnswers(t, everyType, app.ask(t, questions(everyType)...))
	a := app.ask(t, noRuleMatches)[0]
	if a.Value != "default" || a.Variant != "default" || a.Reason != "UNKNOWN" || a.ErrorCode != "" {
		t.Errorf("no rule matches, and the answer is %+v", a)
	}
	app.log.waitForPreflight(t, base+"/ofrep/v1/evaluate/flags")
}

// The provider keeps its ETag unless the targeting key changes, and in its
// default mode shows what it remembers of that key until it has asked again.
func TestWebProviderFollowsItsContext(t *testing.T) {
	t.Parallel()
	app := openWebApp(t)
	base := "http://127.0.0.1:" + serve(t, everyTypeDir(t))
	free := map[string]any{"targetingKey": "user-1", "user.plan": "free", "user.logins": 12}
	other := map[string]any{"targetingKey": "user-2", "user.plan": "free", "user.logins": 12}

	app.mustStart(t, map[string]any{"baseUrl": base}, free)
	app.waitForValue(t, "at first", proOnly, false)
	app.waitForValue(t, "at first", ratio, 0.5)
	app.setContext(t, other)
	app.waitForValue(t, "with another targeting key", ratio, 0.25)
	app.setContext(t, free)
	app.waitForValue(t, "with the first targeting key again", ratio, 0.5)
	app.setContext(t, member)
	app.waitForValue(t, "with another property", proOnly, true)
	app.log.wait(t, "a question with an ETag, answered in full", base, func(x exchange) bool {
		return x.Sent["if-none-match"] != "" && x.Status == 200
	})
	app.setContext(t, free)
	app.waitForValue(t, "with the first properties again", proOnly, false)
}

// A page that is loaded again first shows what the provider has kept, with
// the ETag that came with it. It must not stay with that.
func TestWebProviderCorrectsWhatItRemembers(t *testing.T) {
	t.Parallel()
	app := openWebApp(t)
	dir, port := everyTypeDir(t), freeport.Take()
	home := question{"string", "home", "default"}
	for _, run := range []struct{ environment, want string }{
		{"development", "development"},
		{"production", "elsewhere"},
		{"production", "edited"},
	} {
		t.Run(run.want, func(t *testing.T) {
			if run.want == "edited" {
				edit(t, dir, "feature-flags/home.json", "elsewhere", "edited")
			}
			if problem := start(t, dir, port, "--environment", run.environment); problem != "" {
				t.Fatal(problem)
			}
			app.reload(t)
			app.mustStart(t, map[string]any{"baseUrl": "http://127.0.0.1:" + port}, member)
			app.waitForValue(t, "after a reload", home, run.want)
		})
	}
}
