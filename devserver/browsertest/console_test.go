package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

// stored is a document as the API has it.
type stored struct {
	CommitSha string
	Document  map[string]any
}

// A key is asked for and kept in memory, and lists are filtered.
func TestConsoleSignsInAndLists(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/other.json": boolFlag("other", `, "tags": ["platform"]`)}))
	key := w.key(t, "Ada", "protected_engineer")
	p := blankTab(t, desk)
	p.load(t, w.base+"/")
	p.wait(t, "#key")
	if at := call[string](t, p.tab, `() => location.href`); at != w.base+"/console/" {
		t.Errorf("/ leads to %s", at)
	}
	p.signIn(t, "svc_uk_this_is_no_key")
	p.says(t, ".signin .problem", "Key not accepted.")
	p.signIn(t, key)
	p.says(t, ".row .key", "new-checkout")
	p.says(t, ".frame .brand", "acme")
	kept := call[string](t, p.tab, `async () => JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage}, history.state, await indexedDB.databases(), await caches.keys(), document.documentElement.outerHTML])`)
	if secret := key[len(key)-20:]; strings.Contains(kept, secret) {
		t.Errorf("the key is kept somewhere:\n%.2000s", kept)
	}
	p.reload(t)
	p.wait(t, "#key")
	if unexpected := p.log.origins(t); len(unexpected) != 1 || unexpected[0] != w.base {
		t.Errorf("the page sent requests to %v", unexpected)
	}
	p.signIn(t, key)
	p.says(t, ".heading .note", "4 flags")
	p.write(t, ".search input", "checkout")
	p.says(t, ".heading .note", "1 of 4 flags")
	p.says(t, ".row", "new-checkout")
	p.write(t, ".search input", "srchsg") // letters of one key, in their order
	p.says(t, ".row .key", "search.suggestions")
	p.says(t, ".heading .note", "1 of 4 flags")
	p.visit(t, "#/flags?status=rollout&in=production")
	p.says(t, ".row .key", "search.suggestions")
	p.visit(t, "#/flags?tag=platform")
	p.says(t, ".row .key", "other")
	p.visit(t, "#/flags?q=there+is+no+such+flag")
	p.says(t, ".empty h2", "No matches")
	p.click(t, ".empty button")
	p.says(t, ".heading .note", "4 flags")
	for place, want := range map[string]string{"#/configs": "home.banner", "#/log-levels": "storefront", "#/segments": "beta-testers"} {
		p.visit(t, place)
		p.says(t, ".row .key", want)
	}
	p.quietBut(t, "status of 401")
}

// quiet demands that the browser had nothing to complain about.
func (p docsPage) quiet(t *testing.T) {
	t.Helper()
	if all := p.complaints.all(); len(all) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(all, "\n"))
	}
}

// A flag is toggled after a dry run, and all else that one does to an item: what the console
// would not know of a document, or would round, stays.
func TestConsoleChangesItems(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, map[string]string{"feature-flags/strange.json": boolFlag("strange", `, "x-unknown": {"big": 12345678901234567890, "deep": [1.50, null]}`)}))
	w.see(t, "production", "Ada Lovelace", "Grace Hopper", "Alan Turing")
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags/new-checkout", key)
	p.togglesAndUndoes(t, w.base, key, func() {
		p.says(t, "dialog .impact", "3 of 3 saved contexts get another value")
		p.says(t, "dialog .impact .moves", "false")
	})
	p.quiet(t)

	p.visit(t, "#/flags/strange/document")
	p.says(t, ".document pre", "12345678901234567890")
	p.click(t, ".document .note button:last-child")
	p.wait(t, jsonEditor)
	text := call[string](t, p.tab, textIn, jsonEditor)
	p.write(t, jsonEditor, text+"}")
	p.says(t, "dialog .problem", "This is not JSON")
	p.write(t, jsonEditor, strings.Replace(text, `"value": false`, `"value": true`, 1))
	p.says(t, "dialog .messages", "default on for everyone")
	p.apply(t)
	p.says(t, ".document pre", `"value": true`)
	p.says(t, ".document pre", "12345678901234567890")
	p.says(t, ".document pre", "1.50")

	p.visit(t, "#/flags/search.suggestions?edit=development&kind=copy")
	p.choose(t, "dialog .field select", "production")
	p.says(t, "dialog .messages", "development")
	p.apply(t)
	p.says(t, "[aria-labelledby=scope-development]", "25%")
	if got := get[struct{ EnvironmentStatuses map[string]string }](t, w.base+"/v1/flags/search.suggestions", key).EnvironmentStatuses; got["development"] != "rollout" {
		t.Errorf("%v", got)
	}

	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/staging", `{"enabled": true}`)
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/production", `{"enabled": true}`)
	p.visit(t, "#/flags/new-checkout/history")
	p.says(t, ".timeline li:first-child", "production turned on")
	p.says(t, ".timeline li:first-child", "Ada")
	p.click(t, ".timeline li:nth-child(2) .actions [aria-expanded]")
	p.says(t, ".timeline .diff .added", `"staging"`)
	p.click(t, ".timeline li:nth-child(2) .actions button:last-child") // undo what is not the latest
	p.says(t, "dialog .messages", "staging")
	p.apply(t)
	p.says(t, ".timeline li:first-child", "staging")
	if got := get[struct{ EnvironmentStatuses map[string]string }](t, w.base+"/v1/flags/new-checkout", key).EnvironmentStatuses; got["staging"] != "pre_rollout" || got["production"] != "live" {
		t.Errorf("%v", got)
	}
	p.visit(t, "#/activity")
	p.says(t, ".feed li:first-child", "new-checkout")

	p.visit(t, "#/flags")
	p.click(t, ".heading .primary")
	p.wait(t, "dialog .form input")
	p.write(t, "dialog .form .field:first-child input", "new-checkout")
	p.says(t, "dialog .review", "new-checkout") // which there is already
	p.write(t, "dialog .form .field:first-child input", "brand.new")
	p.says(t, "dialog .messages", `flag "brand.new" created`)
	p.apply(t)
	p.says(t, "h1", "brand.new")
	p.click(t, ".heading .actions button:last-child:not(.small)") // which comes with the item
	p.says(t, "dialog .messages", "deleted")
	p.click(t, "dialog .danger:not([disabled])")
	p.says(t, ".heading .note", "4 flags")

	p = openConsole(t, w, desk, "#/flags/new-checkout?edit=production&kind=value&set=true", w.key(t, "Alan", "engineer_nonprotected"))
	p.says(t, "dialog .box", "You don't have permission")
	p.says(t, "dialog .box", "protected_engineer")
	if !p.sees(t, "dialog .primary[disabled]") {
		t.Error("what is refused can be applied")
	}
	// What their role refuses is not offered, with the reason.
	p.visit(t, "#/flags/new-checkout")
	p.says(t, "[aria-labelledby=scope-production] .why-not", "production is protected: your role does not edit there.")
	p.wait(t, `[aria-label="Edit rules in production"][disabled]`)
	p.wait(t, `[aria-label="Edit rules in staging"]:not([disabled])`)
}

// togglesAndUndoes switches the flag that is shown on in production, and off again.
func (p docsPage) togglesAndUndoes(t *testing.T, base, key string, foretold func()) {
	t.Helper()
	before := get[stored](t, base+"/v1/flags/new-checkout/document", key)
	p.click(t, `[aria-label="Serve true to everyone in production"]`)
	p.says(t, "dialog .messages", "production on for everyone")
	foretold()
	if now := get[stored](t, base+"/v1/flags/new-checkout/document", key); now.CommitSha != before.CommitSha {
		t.Error("looking at a change has made it")
	}
	p.apply(t)
	p.says(t, ".notice", "production: on for everyone")
	p.wait(t, `[aria-label="Serve true to everyone in production"][aria-checked=true]`)

	p.click(t, ".notice a") // Undo
	p.says(t, "dialog .messages", "production")
	p.apply(t)
	p.wait(t, `[aria-label="Serve true to everyone in production"][aria-checked=false]`)
	if after := get[stored](t, base+"/v1/flags/new-checkout/document", key); fmt.Sprint(after.Document) != fmt.Sprint(before.Document) {
		t.Errorf("undone it is %v, and was %v", after.Document, before.Document)
	}
}

// What somebody sees of a person is a link: to whoever was seen long ago too, with the
// rules that are open, and what was written in the place of what was seen.
func TestConsoleLeadsAColleagueToAContext(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	people := make([]string, 120)
	for i := range people {
		people[i] = fmt.Sprint("Person ", i+1)
	}
	w.see(t, "production", people...)
	p := openConsole(t, w, desk, "#/contexts/user/user-1?in=production", w.key(t, "Ada", "member"))
	p.says(t, ".heading .note", "Person 1 user, last seen")
	p.click(t, `[aria-label="Why search.suggestions"]`)
	p.says(t, ".why .tried", "it is user-1@acme.example")
	link := call[string](t, p.tab, `() => location.hash`)
	colleague := openConsole(t, w, desk, link, w.key(t, "Grace", "member"))
	colleague.says(t, ".why .tried", "it is user-1@acme.example")
	colleague.write(t, "#context", `{"user": {"key": "user-1", "email": "user-1@elsewhere.example"}}`)
	colleague.says(t, ".why .tried", "it is user-1@elsewhere.example")
	p.visit(t, call[string](t, colleague.tab, `() => location.hash`))
	p.reload(t)
	p.signIn(t, w.key(t, "Alan", "member"))
	p.says(t, ".why .tried", "it is user-1@elsewhere.example")

	p.visit(t, "#/flags/search.suggestions/why?in=production")
	p.write(t, "#somebody", "user-1")
	p.says(t, ".tried", "it is user-1@acme.example") // one who was seen comes with their properties
	p.write(t, "#somebody", "nobody")
	eventually(t, "somebody who was not seen has a key alone", func() (any, bool) {
		got := call[string](t, p.tab, `() => document.querySelector("#context").value`)
		return got, strings.Contains(got, `"key": "nobody"`) && !strings.Contains(got, "email")
	})
	p.says(t, ".gets-value", "gets")
	// Whoever only reads is offered no change.
	p.wait(t, `.result button[disabled][title^="Your role reads everything"]`)
	p.visit(t, "#/flags/search.suggestions/history")
	p.wait(t, `.timeline button[disabled][title^="Your role reads everything"]`)
	p.quiet(t)
}

func TestConsoleWaitsForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	w := serveWorkspaceStopped(t)
	key := w.key(t, "Ada", "protected_engineer")
	stop := w.start(t)
	p := openConsole(t, w, desk, "#/flags/new-checkout", key)
	p.wait(t, ".scope")
	stop()
	p.visit(t, "#/configs/home.banner")
	p.says(t, ".away", "The server does not answer")
	p.visit(t, "#/flags/new-checkout")
	p.wait(t, ".scope") // what was seen is still there
	p.visit(t, "#/configs/home.banner")
	w.start(t)
	p.wait(t, ".scope")
	p.gone(t, ".away p")
}

func TestConsoleLeadsBackToWhatWasSeen(t *testing.T) {
	t.Parallel()
	more := map[string]string{}
	for i := range 200 {
		name := fmt.Sprintf("many.%03d", i)
		more["feature-flags/"+name+".json"] = boolFlag(name, "")
	}
	w := serveWorkspace(t, copySample(t, more))
	p := openConsole(t, w, desk, "#/flags?q=many", w.key(t, "Ada", "protected_engineer"))
	p.says(t, ".heading .note", "200 of 203 flags")
	call[bool](t, p.tab, `() => { scrollTo(0, 5000); return true }`)
	p.says(t, ".row .key", "many.080")
	call[bool](t, p.tab, `() => { document.querySelector('.row a[href="#/flags/many.080"]').click(); return true }`)
	p.says(t, "h1", "many.080")
	p.click(t, ".scope footer .actions button:last-child")
	p.wait(t, "dialog .form")
	p.back(t)
	p.gone(t, "dialog")
	p.says(t, "h1", "many.080")
	p.back(t)
	p.says(t, ".heading .note", "200 of 203 flags")
	eventually(t, "the list is where it was", func() (any, bool) {
		y := call[float64](t, p.tab, `() => scrollY`)
		return y, y == 5000
	})
}

const arrowDown = "\u0301"

// What is in documents is text, whatever it looks like.
func TestConsoleShowsHostileDocumentsAsText(t *testing.T) {
	t.Parallel()
	value := fmt.Sprintf(`{"type": "string", "value": %s}`, quoted(evil))
	w := serveWorkspace(t, copySample(t, map[string]string{
		"feature-flags/evil.json": fmt.Sprintf(`{"key": "evil", "type": "feature_flag", "valueType": "string", "access": "standard", "name": %[1]s, "description": %[1]s, "tags": [%[1]s],
			"variants": [{"name": %[1]s, "description": %[1]s, "value": %[2]s}],
			"default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": %[3]s, "valueToMatch": {"type": "string_list", "value": [%[1]s]}}], "value": %[2]s},
			{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": %[2]s}]}}`, quoted(evil), value, quoted("user."+evil)),
		"segments/evil-segment.json": fmt.Sprintf(`{"key": "evil-segment", "type": "segment", "valueType": "bool", "name": %[1]s, "description": %[1]s, "default": {"rules": []}}`, quoted(evil)),
		"feature-flags/huge.json": fmt.Sprintf(`{"key": "huge", "type": "feature_flag", "valueType": "string", "access": "standard", "default": {"rules": [
			{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": %q}}]}}`, strings.Repeat("x", 1<<20-1000)),
	}))
	w.see(t, "production", evil)
	key := w.key(t, evil, "protected_engineer")
	w.send(t, key, "POST", "/v1/changes", fmt.Sprintf(`{"message": %[1]s, "operations": [{"op": "patch", "type": "feature_flag", "key": "evil", "environment": "production", "body": {"value": %[1]s, "replaceTargeting": true}}]}`, quoted(evil)))
	p := openConsole(t, w, desk, "", key)
	for _, view := range []struct{ place, drawn string }{
		{"#/flags/evil/history", ".timeline li:nth-child(2)"}, {"#/flags/evil/why", ".tried li"}, {"#/contexts?in=production", ".people li"}, {"#/activity", ".feed li"},
		{"#/flags/huge", ".scope .value"}, {"#/flags/huge?edit=production", "dialog textarea"},
	} {
		p.visit(t, view.place)
		p.wait(t, view.drawn)
		if owned := call[string](t, p.tab, `() => document.querySelector("img, #console script") ? "an element" : document.title === "owned" ? "a title" : ""`); owned != "" {
			t.Errorf("%s: a document has made %s", view.place, owned)
		}
		if length := call[int](t, p.tab, `() => document.body.innerText.length`); length > 100_000 {
			t.Errorf("%s: %d characters are shown", view.place, length)
		}
	}
	p.visit(t, "#/flags/evil")
	p.says(t, ".heading .note", evil)
	for _, complaint := range p.complaints.all() {
		if !strings.Contains(complaint, "404") && !strings.Contains(complaint, "/flags/huge/") { // which is too large to be copied
			t.Error(complaint)
		}
	}
}

// serveWorkspaceStopped is a workspace whose server is not running.
func serveWorkspaceStopped(t *testing.T) *workspace {
	t.Helper()
	w := serveWorkspace(t, copySample(t, nil))
	w.halt()
	return w
}
