package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// reviewed is the sample with a production that others approve.
func reviewed(t *testing.T) *workspace {
	t.Helper()
	return serveWorkspace(t, copySample(t, map[string]string{"svc.json": `{"environments": ["development", "staging", {"name": "production", "environmentType": "production", "protected": true}],
		"secretReferences": "protected", "review": {"production": {"approvals": 1}}}`}))
}

// propose proposes a change past the console.
func (w *workspace) propose(t *testing.T, key, title, operations string) {
	t.Helper()
	w.send(t, key, "POST", "/v1/change-requests", `{"title": `+quoted(title)+`, "description": "So that nobody waits for it.\nSee the plan.", "operations": [`+operations+`]}`)
}

const switchesOn = `{"op": "patch", "type": "feature_flag", "key": "search.suggestions", "environment": "production", "body": {"enabled": true}}`

// What is reviewed is proposed by one and approved and applied by another, who is told when it
// is no longer what they have looked at.
func TestConsoleProposesAndApproves(t *testing.T) {
	t.Parallel()
	w := reviewed(t)
	ada := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags", ada)
	p.wait(t, ".row")
	p.visit(t, "#/flags/search.suggestions?edit=production&kind=value&set=true")
	p.says(t, "dialog .review", "Changes of production are approved by others first")
	if text := call[string](t, p.tab, `() => document.querySelector("dialog .dialog-foot").innerText`); strings.Contains(text, "Apply") {
		t.Errorf("what would be refused is offered: %s", text)
	}
	p.button(t, "Propose…")
	eventually(t, "a title is there to be written over", func() (any, bool) {
		title := call[string](t, p.tab, `() => document.activeElement.value ?? ""`)
		return title, strings.HasPrefix(title, "search.suggestions: production: ")
	})
	p.insert(t, "Suggestions for everybody") // in the place of what is selected
	p.button(t, "Propose")
	p.says(t, "h1", "Suggestions for everybody")
	p.gone(t, "dialog")
	p.says(t, ".frame nav .number", "1")
	p.says(t, ".why-not", "You have proposed it: somebody else approves it.")
	p.says(t, ".why-not", "It lacks approvals: production has 0 of 1.")
	p.back(t) // to what was seen before, and not to the dialog
	p.says(t, "h1", "Flags")
	p.gone(t, "dialog")

	other := openSignedIn(t, w, desk, "#/requests", "Grace", "protected_engineer")
	other.says(t, ".requests li", "search.suggestions: production: ")
	other.says(t, ".requests li", "Ada · production · 0 of 1 approval")
	other.click(t, ".requests .title")
	other.says(t, ".messages", "production")
	other.says(t, ".review-request .rule-changes", "production")
	call[bool](t, other.tab, `() => Object.defineProperty(document, "hidden", { value: true, configurable: true }) && true`) // so that it does not find out by itself
	w.send(t, ada, "PATCH", "/v1/flags/search.suggestions/environments/staging", `{"enabled": false}`)
	other.button(t, "Approve")
	other.says(t, "main .box.bad", "What it does has changed since you looked at it, so nothing was approved.")
	other.button(t, "Look again")
	other.says(t, "main .box.warn", "Changed since it was proposed")
	other.button(t, "Approve")
	other.says(t, ".needs", "production: 1 of 1 approval")
	call[bool](t, other.tab, `() => delete document.hidden`)
	w.send(t, ada, "PATCH", "/v1/flags/search.suggestions/environments/staging", `{"enabled": true}`)
	other.says(t, "main .box.warn", "What it does has changed while you looked at it.")
	other.says(t, ".why-not", "Look at what it does now first.")
	other.button(t, "Look again")
	other.says(t, ".feed", "which does not count any more")
	other.says(t, ".feed", `It was for something else: since then the flag "search.suggestions" changed.`)
	other.button(t, "Approve again")
	other.button(t, "Take back my approval")
	other.says(t, ".needs", "production: 0 of 1 approval")
	other.tabTo(t, ".deeds button:not([disabled])")
	other.press(t, "\r")
	other.says(t, ".deeds button:focus", "Take back my approval")
	other.tabTo(t, ".deeds button:nth-child(2):not([disabled])")
	other.press(t, "\r")
	other.says(t, "main .box", "Applied by Grace")
	other.wait(t, "h1:focus")
	if served := w.fileOf(t, "feature-flags/search.suggestions.json"); !strings.Contains(served, `"production"`) {
		t.Errorf("it is not applied: %s", served)
	}

	for _, view := range []string{"#/activity", "#/flags/search.suggestions/history"} {
		other.visit(t, view)
		other.says(t, ".why-made", "Suggestions for everybody proposed by Ada, approved by Grace")
	}
	other.back(t)
	other.back(t)
	other.says(t, ".review-request", "before and after")

	// What was applied is taken back by a request too.
	other.wait(t, `main .box a[href*="undo="]`)
	history := get[struct{ History []struct{ Sha string } }](t, w.base+"/v1/flags/search.suggestions/history", ada).History
	other.visit(t, "#/flags/search.suggestions/history?undo="+history[0].Sha)
	other.says(t, "dialog .review", "Changes of production are approved by others first")
	other.button(t, "Propose…")
	other.button(t, "Propose")
	other.says(t, ".why-not", "You have proposed it")
	other.button(t, "Edit")
	other.label(t, "Title", "Back to how it was")
	other.button(t, "Save")
	other.says(t, "h1", "Back to how it was")
	other.write(t, ".comment textarea", "It was too slow.\nThanks!")
	other.button(t, "Comment")
	other.says(t, ".said", "It was too slow.")
	other.button(t, "Close")
	other.button(t, "Close it")
	other.says(t, "main .box", "Closed without applying it by Grace")
	other.says(t, ".review-request", "On top of what there is now")
	other.says(t, ".review-request .rule-changes", "production")
	other.button(t, "Propose again")
	other.says(t, "h1 + .note, .heading .note", "Open")
	other.says(t, "h1", "Back to how it was")
	other.visit(t, "#/requests?state=closed")
	other.says(t, ".requests li", "Back to how it was")
	other.quietBut(t, "status of 409")
	p.quiet(t)

	// Who goes past approvals is told so, and may propose it all the same.
	key := svc(t, "key", "create", "--data", w.data, "--kind", "user", "--name", "Edsger", "--email", "edsger@acme.example", "--role", "protected_engineer", "--role", "review_bypass")
	past := openConsole(t, w, desk, "#/flags/new-checkout?delete=1", key)
	past.says(t, "dialog .review", "Your role goes past that, and the audit trail tells it.")
	past.says(t, "dialog .dialog-foot", "without approvals")
	past.says(t, "dialog .dialog-foot", "Propose…")

	// Who may not make a change may propose it.
	asks := openConsole(t, w, desk, "#/flags/new-checkout?edit=production&kind=value&set=true", w.key(t, "Linus", "engineer_nonprotected"))
	asks.says(t, "dialog .box", "You don't have permission")
	asks.button(t, "Propose…")
	asks.button(t, "Back")
	asks.says(t, "dialog .dialog-foot button:focus", "Propose…")
	asks.button(t, "Propose…")
	asks.button(t, "Propose")
	asks.says(t, "h1", "Change new-checkout in production")
	asks.says(t, ".why-not", "production is protected: your role does not edit there.")
}

// A document that is proposed stays so when others change another environment of it, and is
// refused when they change the same one.
func TestConsoleProposesAgain(t *testing.T) {
	t.Parallel()
	w := reviewed(t)
	ada, grace := w.key(t, "Ada", "protected_engineer"), w.key(t, "Grace", "protected_engineer")
	seen := get[struct {
		CommitSha string
		Document  json.RawMessage
	}](t, w.base+"/v1/flags/search.suggestions/document", ada)
	w.propose(t, ada, "More of them", `{"op": "put", "type": "feature_flag", "key": "search.suggestions", "expectedCommitSha": "`+seen.CommitSha+`", "document": `+
		strings.NewReplacer("25000", "50000", "75000", "50000").Replace(string(seen.Document))+`}`)
	w.send(t, grace, "PATCH", "/v1/flags/search.suggestions/environments/staging", `{"enabled": false}`)
	w.send(t, grace, "PATCH", "/v1/flags/search.suggestions/environments/development", `{"enabled": true}`)
	p := openConsole(t, w, desk, "#/requests/1", ada)
	p.says(t, "main .box.warn", "Someone else changed this")
	p.button(t, "Propose again")
	p.says(t, ".review-request .rule-changes", "50%")
	p.gone(t, "main .box.warn")
	changes := call[string](t, p.tab, `() => document.querySelector(".review-request .messages").innerText`)
	if strings.Contains(changes, "staging") || strings.Contains(changes, "development") {
		t.Errorf("what others did is taken back: %s", changes)
	}
	pass := svc(t, "key", "create", "--data", w.data, "--kind", "user", "--name", "Edsger", "--email", "edsger@acme.example", "--role", "protected_engineer", "--role", "review_bypass")
	w.send(t, pass, "PATCH", "/v1/flags/search.suggestions/environments/production", `{"enabled": true}`)
	p.visit(t, "#/requests")
	p.visit(t, "#/requests/1")
	p.button(t, "Look again")
	p.button(t, "Propose again")
	p.says(t, "main .problem", "Somebody has changed the same rules since.")
	p.quiet(t)
}

// Requests are read and worked by everybody, on each screen. SVC_PICTURES names a folder for
// pictures of them.
func TestConsoleRequestsAreAccessible(t *testing.T) {
	w := reviewed(t)
	ada, grace := w.key(t, "Ada", "protected_engineer"), w.key(t, "Grace", "protected_engineer")
	w.see(t, "production", "Ada Lovelace", "Grace Hopper", "Alan Turing")
	w.propose(t, ada, "Suggestions for everybody, since the search team has measured them for a month", switchesOn)
	w.propose(t, grace, "Take the segment away", `{"op": "patch", "type": "feature_flag", "key": "new-checkout", "environment": "staging", "body": {"enabled": true}}, {"op": "copy", "from": "staging", "to": "production", "keys": ["pricing.headline", "new-checkout"]}`)
	digest := get[struct{ Preview struct{ Digest string } }](t, w.base+"/v1/change-requests/1", grace).Preview.Digest
	w.send(t, grace, "POST", "/v1/change-requests/1/approvals", `{"digest": "`+digest+`"}`)
	w.send(t, grace, "POST", "/v1/change-requests/1/comments", `{"text": "Fine with me, but let us look at the latency\nof the index first."}`)
	w.send(t, ada, "PATCH", "/v1/flags/search.suggestions/environments/staging", `{"enabled": false}`)
	w.propose(t, grace, "Not that one", switchesOn)
	w.send(t, grace, "POST", "/v1/change-requests/3/close", "")
	seen := get[struct {
		CommitSha string
		Document  json.RawMessage
	}](t, w.base+"/v1/flags/new-checkout/document", ada)
	w.propose(t, ada, "Another name", `{"op": "put", "type": "feature_flag", "key": "new-checkout", "expectedCommitSha": "`+seen.CommitSha+`", "document": `+strings.Replace(string(seen.Document), `"default":{"rules":[`, `"default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro"]}}],"value":{"type":"bool","value":true}},`, 1)+`}`)
	w.send(t, grace, "PATCH", "/v1/flags/new-checkout/environments/development", `{"enabled": false}`)
	p := openConsole(t, w, desk, "#/flags", grace)
	p.withAxe(t)
	for _, view := range []struct{ name, place, drawn string }{
		{"requests", "#/requests", ".requests li"},
		{"requests-none", "#/requests?state=expired", ".empty"},
		{"request", "#/requests/1", ".deeds"},
		{"request-own", "#/requests/2?do=edit", "dialog .form"},
		{"request-closed", "#/requests/3", "main .box"},
		{"request-conflict", "#/requests/4", "main .box.warn .feed"},
		{"request-close", "#/requests/2?do=close", "dialog p"},
		{"propose", "#/flags/search.suggestions?edit=production&kind=value&set=true", "dialog .review h3"},
	} {
		p.visit(t, view.place)
		p.wait(t, view.drawn)
		if view.name == "propose" {
			p.button(t, "Propose…")
		}
		p.sound(t, view.name)
		if folder := os.Getenv("SVC_PICTURES"); folder != "" {
			for _, s := range []screen{{320, 700, false, "dark"}, {768, 900, false, "light"}, {1280, 800, false, "dark"}, {1920, 1000, false, "light"}, desk} {
				p.do(t, "a screen", chromedp.EmulateViewport(s.width, s.height))
				p.prefer(t, s.scheme)
				p.picture(t, filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", view.name, s.width, s.scheme)))
			}
		}
	}
	p.quiet(t)
}
