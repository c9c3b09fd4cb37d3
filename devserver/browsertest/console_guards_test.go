package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// An admin makes a guard key for a service account, others name that account as the guard of
// what they change and apply, and what is taken back for it is told with what it takes back.
func TestConsoleGuards(t *testing.T) {
	t.Parallel()
	needsPackages(t)
	w := reviewed(t)
	p := openSignedIn(t, w, desk, "#/settings/people", "Ada", "admin", "protected_engineer")
	axe := readFile(t, filepath.Join("node_modules", "axe-core", "axe.min.js"))
	p.do(t, "axe", chromedp.Evaluate[chromedp.Void](string(axe)+"; undefined"))
	looked := func(p docsPage, name string) {
		t.Helper()
		p.sound(t, name)
		folder := os.Getenv("SVC_PICTURES")
		if folder == "" {
			return
		}
		for _, s := range []screen{{320, 700, false, "dark"}, {320, 700, false, "light"}, {1280, 800, false, "dark"}, desk} {
			p.do(t, "a screen", chromedp.EmulateViewport(s.width, s.height))
			p.prefer(t, s.scheme)
			p.picture(t, filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, s.width, s.scheme)))
		}
	}

	// Where no account has such a key nobody is asked for one.
	const toggled = "#/flags/search.suggestions?edit=staging&kind=value&set=false"
	p.visit(t, toggled)
	p.says(t, "dialog .review", "What changes")
	if p.sees(t, "dialog .guard") {
		t.Error("a guard is asked for where there is none")
	}

	svc(t, "key", "create", "--data", w.data, "--kind", "service-account", "--name", "error-rate-watch", "--role", "protected_engineer")
	p.visit(t, "#/settings/people")
	p.says(t, ".feed", "error-rate-watch")
	p.do(t, "its page", chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".feed a")].find((one) => one.innerText === "error-rate-watch").click()`))
	p.button(t, "New key")
	p.label(t, "Name", "alerts")
	p.selects(t, "Kind", "Guard, for alerts: only takes back changes that name it")
	p.label(t, "SNS topic (optional)", "arn:aws:sns:eu-west-1:123456789012:alarms")
	p.selects(t, "Good for", "1 year")
	looked(p, "guard-new-key")
	p.button(t, "Make the key")
	key := p.secret(t)
	if !strings.HasPrefix(key, "svc_gk_") {
		t.Fatalf("the key is %s", key)
	}
	p.says(t, "dialog", "Whoever has it can take back changes that name error-rate-watch as their guard.")
	p.says(t, "dialog pre", w.base+"/v1/guards/alertmanager")
	p.says(t, "dialog pre", key)
	looked(p, "guard-key")
	p.button(t, "SNS")
	p.says(t, "dialog pre", "svc:"+key+"@")
	looked(p, "guard-key-sns")
	p.shutSecret(t)
	p.says(t, "main", "Alarms of arn:aws:sns:eu-west-1:123456789012:alarms")
	looked(p, "guard-keys")
	p.button(t, "Connect with alerts")
	p.says(t, "dialog pre", "svc_gk_...")
	p.press(t, "\x1b")
	p.gone(t, "dialog")

	// The editor of rules is the widest dialog.
	p.visit(t, "#/flags/search.suggestions?edit=staging&kind=rules")
	p.wait(t, "dialog .guard")
	looked(p, "guard-rules")
	p.press(t, "\x1b")
	p.gone(t, "dialog")

	names := func(p docsPage) {
		t.Helper()
		p.click(t, ".guard summary")
		p.do(t, "error-rate-watch", chromedp.Evaluate[chromedp.Void](`{
			const select = document.querySelector(".guard select");
			if (select.selectedOptions[0].text !== "No guard") throw new Error(select.selectedOptions[0].text);
			select.value = [...select.options].find((one) => one.text === "error-rate-watch").value;
			select.dispatchEvent(new Event("input", { bubbles: true }));
		}`))
		p.says(t, ".guard summary", "Guard: error-rate-watch")
	}
	// Who is no admin names it too.
	grace := openSignedIn(t, w, desk, toggled, "Grace", "protected_engineer")
	grace.do(t, "axe", chromedp.Evaluate[chromedp.Void](string(axe)+"; undefined"))
	grace.says(t, "dialog .guard summary", "Guard: none")
	looked(grace, "guard-folded")
	names(grace)
	looked(grace, "guard-dialog")
	grace.apply(t)
	grace.visit(t, "#/activity")
	grace.says(t, ".feed li", "Guard: error-rate-watch")

	linus := w.key(t, "Linus", "protected_engineer")
	w.propose(t, linus, "Suggestions for everybody", switchesOn)
	grace.visit(t, "#/requests/1")
	grace.button(t, "Approve")
	grace.wait(t, ".guard")
	names(grace)
	looked(grace, "guard-request")
	grace.button(t, "Apply")
	grace.says(t, "main .box", "Applied by Grace")
	grace.visit(t, "#/flags/search.suggestions/history")
	grace.says(t, ".timeline li", "Guard: error-rate-watch")

	// Who pasted a key may not list the guards, and types one.
	pasted := openConsole(t, w, desk, "#/flags/new-checkout?edit=development", w.key(t, "Barbara", "protected_engineer"))
	pasted.click(t, "dialog .guard summary")
	pasted.says(t, "dialog .guard", "only who signs in is shown")
	pasted.write(t, "dialog .guard input", "error-rate-watch")
	pasted.says(t, ".guard summary", "Guard: error-rate-watch")
	pasted.quiet(t)

	status, answer := request(t, "POST", w.base+"/v1/guards/alertmanager", key, `{"version": "4", "status": "firing", "receiver": "svc", "groupLabels": {}, "commonLabels": {"alertname": "HighErrorRate"}, "commonAnnotations": {},
		"alerts": [{"status": "firing", "labels": {"alertname": "HighErrorRate"}, "annotations": {}, "startsAt": "2099-01-01T00:00:00Z", "endsAt": "0001-01-01T00:00:00Z"}]}`)
	if status != 200 || !strings.Contains(answer, `"changed":true`) {
		t.Fatalf("an alert: %d %s", status, answer)
	}
	grace.visit(t, "#/activity")
	grace.says(t, ".feed li", "Undoes ")
	looked(grace, "guard-activity")
	grace.click(t, `.feed a[href*="commit="]`)
	grace.says(t, ".timeline [aria-expanded=true]", "Difference")
	grace.says(t, ".timeline li:has([aria-expanded=true])", "Guard: error-rate-watch")
	looked(grace, "guard-history")
	grace.quiet(t)
	p.quiet(t)
}
