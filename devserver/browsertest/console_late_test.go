package browsertest

import (
	"strings"
	"testing"
)

// hold keeps back the answer to the next request whose method, address, body and key
// fit a pattern, until late is called.
func (p docsPage) hold(t *testing.T, pattern string) {
	t.Helper()
	call[bool](t, p.tab, `(pattern) => {
		const ask = window.fetch;
		window.held = new Promise((held) => {
			window.fetch = async (what, how) => {
				if (!new RegExp(pattern).test([how.method, what, how.body, how.headers.Authorization].join(" "))) return ask(what, how);
				window.fetch = ask;
				const answer = await ask(what, how), body = await answer.text();
				held(true);
				return new Promise((go, fail) => {
					how.signal?.addEventListener("abort", () => fail(how.signal.reason));
					window.late = () => go(new Response(body || null, answer));
				});
			};
		});
		return true;
	}`, pattern)
}

// held waits until the answer has come that is kept back.
func (p docsPage) held(t *testing.T) {
	t.Helper()
	call[bool](t, p.tab, `() => window.held`)
}

// late gives the page what was kept back, and waits until it has looked at it.
func (p docsPage) late(t *testing.T) {
	t.Helper()
	call[bool](t, p.tab, `async () => { window.late(); await new Promise((done) => setTimeout(done, 200)); return true }`)
}

// An answer that comes when something else is looked at changes nothing of that.
func TestConsolePassesOverLateAnswers(t *testing.T) {
	t.Parallel()
	base := serveConsole(t, copySample(t, map[string]string{"feature-flags/checkout.fast.json": onForMost}))
	p := blankTab(t, desk)
	p.load(t, base+"/console/")
	p.value(t, "checkout.fast", "true")
	t.Run("another context", func(t *testing.T) {
		p.hold(t, `/v1/evaluate .*"u1"`)
		p.write(t, "#as", "u1")
		p.held(t)
		p.write(t, "#as", "nobody")
		p.value(t, "checkout.fast", "true")
		p.late(t)
		p.value(t, "checkout.fast", "true")
	})
	t.Run("another environment", func(t *testing.T) {
		p.visit(t, "#/flags/checkout.fast")
		p.says(t, ".here .gets-value", "true")
		p.hold(t, "/flags/checkout.fast/document ")
		p.visit(t, "#/flags/checkout.fast?edit=development&kind=rules")
		p.held(t)
		p.visit(t, "#/flags/checkout.fast?edit=staging&kind=rules")
		p.says(t, "dialog form", "Add a rule")
		p.late(t)
		p.says(t, "dialog form", "Add a rule")
	})
	t.Run("another filter", func(t *testing.T) {
		call[bool](t, p.tab, `() => {
			const ask = window.fetch;
			window.fetch = async (what, how) => {
				if (!String(what).includes("/activity?")) return ask(what, how);
				const page = (message) => new Response(JSON.stringify({ activity: [{ sha: message, date: "2026-01-02T03:04:05Z", authorName: "Ada", action: "update", type: null, key: null, messages: [{ scope: "", message }] }], nextCursor: "next" }));
				if (!String(what).includes("cursor=")) return page("first of " + new URL(what).searchParams.get("environment"));
				return new Promise((go) => { window.late = () => go(page("more")) });
			};
			return true;
		}`)
		p.visit(t, "#/activity?in=staging")
		p.says(t, "main", "first of staging")
		p.click(t, ".more button")
		p.visit(t, "#/activity?in=development")
		p.says(t, "main", "first of development")
		p.late(t)
		if text := call[string](t, p.tab, `() => document.querySelector("main").innerText`); strings.Contains(text, "more\n") {
			t.Errorf("what was asked for staging is shown for development:\n%s", text)
		}
	})
	p.quiet(t)
}

// Nothing that was asked with one key is shown for another.
func TestConsoleForgetsWhatWasAskedWithAnotherKey(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	first, second := w.key(t, "Ada", "protected_engineer"), w.key(t, "Grace", "protected_engineer")
	p := blankTab(t, desk)
	p.load(t, w.base+"/console/")
	p.hold(t, "/v1/flags .*"+first)
	p.signIn(t, first)
	p.held(t)
	p.click(t, `[aria-label="Sign out"]`)
	sha := get[stored](t, w.base+"/v1/flags/new-checkout/document", first).CommitSha
	w.send(t, first, "DELETE", "/v1/flags/new-checkout?expectedCommitSha="+sha, "")
	p.signIn(t, second)
	p.says(t, ".heading .note", "2 flags")
	p.late(t)
	p.says(t, ".heading .note", "2 flags")
}
