package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/must"
)

// selects chooses an option of a list by its text.
func (p docsPage) selects(t *testing.T, label, text string) {
	t.Helper()
	eventually(t, label+" has "+text, func() (any, bool) {
		return call[string](t, p.tab, `(label, text) => {
			const named = [...document.querySelectorAll("dialog[open] .field label")].find((one) => one.innerText === label);
			const select = named && document.getElementById(named.htmlFor);
			const option = select && [...select.options].find((one) => one.text === text);
			if (!option) return document.body.innerText;
			select.value = option.value;
			select.dispatchEvent(new Event("input", { bubbles: true }));
			select.dispatchEvent(new Event("change", { bubbles: true }));
			return "";
		}`, label, text), call[bool](t, p.tab, `(label, text) => [...document.querySelectorAll("dialog select")].some((one) => one.selectedOptions[0]?.text === text)`, label, text)
	})
}

// label writes into the field of a label.
func (p docsPage) label(t *testing.T, label, text string) {
	t.Helper()
	eventually(t, "there is a field "+label, func() (any, bool) {
		return "", call[bool](t, p.tab, `(label) => {
			const of = [...document.querySelectorAll("dialog[open] .field label")].find((one) => one.innerText === label);
			if (of) document.getElementById(of.htmlFor).focus();
			return Boolean(of);
		}`, label)
	})
	p.insert(t, text)
}

// button presses the button of a text, or of a label.
func (p docsPage) button(t *testing.T, text string) {
	t.Helper()
	eventually(t, "there is a button "+text, func() (any, bool) {
		return call[string](t, p.tab, `() => (document.querySelector("dialog[open]") ?? document.body).innerText`), call[bool](t, p.tab, `(text) => {
			const within = document.querySelector("dialog[open]") ?? document;
			const found = [...within.querySelectorAll("main button, dialog button")].find((one) => !one.disabled && (one.ariaLabel ?? one.innerText.trim()) === text);
			found?.click();
			return Boolean(found);
		}`, text)
	})
}

// secret is what is shown once.
func (p docsPage) secret(t *testing.T) string {
	t.Helper()
	p.wait(t, "dialog .snippet input")
	return call[string](t, p.tab, `() => document.querySelector("dialog .snippet input").value`)
}

// shutSecret closes what shows a secret, which asks whether it was copied.
func (p docsPage) shutSecret(t *testing.T) {
	t.Helper()
	p.button(t, "Close")
	if p.sees(t, "dialog") {
		p.says(t, "dialog", "You have not copied it")
		p.button(t, "Close")
	}
	p.gone(t, "dialog")
}

// An admin lets somebody in, makes a key for an application, and protects an environment;
// the audit trail tells of all of it.
func TestConsoleSettings(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openSignedIn(t, w, desk, "#/settings/people", "Ada", "admin")

	p.button(t, "Add a person")
	p.label(t, "Name", "Grace")
	p.label(t, "E-mail", "grace@acme.example")
	p.says(t, "dialog", "edits items of the tiers support and standard")
	if chosen := call[int](t, p.tab, `() => document.querySelectorAll("dialog :checked").length`); chosen != 0 {
		t.Errorf("%d roles are chosen in advance", chosen)
	}
	role := func(name string) {
		t.Helper()
		call[bool](t, p.tab, `(name) => { [...document.querySelectorAll("dialog .check")].find((one) => one.querySelector("b").innerText === name).click(); return true }`, name)
	}
	role("engineer")
	p.button(t, "Add")
	p.button(t, "Make the address")
	address := p.secret(t)
	if !strings.HasPrefix(address, w.base+"/console/#sign-in=svc_ot_") {
		t.Fatalf("the address is %s", address)
	}
	p.press(t, "\x1b") // what is not copied is not lost by one key
	p.says(t, "dialog", "You have not copied it")
	p.press(t, "\x1b")
	p.gone(t, "dialog")
	p.says(t, ".told", "grace@acme.example")
	if page := call[string](t, p.tab, `() => document.documentElement.outerHTML + JSON.stringify(sessionStorage) + JSON.stringify(localStorage) + location.href + JSON.stringify(history.state)`); strings.Contains(page, "svc_ot_") {
		t.Error("the address is still there once its dialog is closed")
	}

	grace := blankTab(t, desk)
	grace.load(t, address)
	grace.click(t, ".signin .primary")
	grace.says(t, ".me", "grace@acme.example")
	grace.visit(t, "#/settings/you")
	grace.says(t, ".told", "edits items of the tiers support and standard")
	for _, part := range []string{"people", "keys", "environments", "audit"} {
		grace.visit(t, "#/settings/"+part)
		grace.says(t, "main", "Ask an admin")
		if grace.sees(t, ".box.bad") {
			t.Errorf("who may not see %s gets an error", part)
		}
	}
	toggles := func(environment, from string) {
		grace.visit(t, "#/flags/new-checkout")
		grace.says(t, "[aria-labelledby=scope-"+environment+"] .state", from) // and not what it was when she was here last
		grace.click(t, `.switch[aria-label*="`+environment+`"]`)
	}
	toggles("production", "Off for")
	grace.says(t, "dialog", "production on for")
	grace.apply(t)

	// A key of one's own is shown once, and ends.
	grace.visit(t, "#/settings/you")
	grace.button(t, "New key")
	grace.label(t, "Name", "laptop")
	grace.selects(t, "Good for", "90 days")
	grace.button(t, "Make the key")
	own := grace.secret(t)
	if status, answer := request(t, "GET", w.base+"/v1/whoami", own, ""); status != 200 || !strings.Contains(answer, "Grace") {
		t.Errorf("the key of her own: %d %s", status, answer)
	}
	grace.button(t, "Copy")
	grace.button(t, "Close")
	grace.gone(t, "dialog")
	grace.button(t, "Revoke laptop")
	grace.says(t, "dialog", "refused from the next request on")
	grace.button(t, "Revoke")
	grace.says(t, "main details", "1 key that ended")
	if status, _ := request(t, "GET", w.base+"/v1/whoami", own, ""); status != 401 {
		t.Errorf("the revoked key is answered %d", status)
	}

	p.visit(t, "#/settings/keys")
	p.button(t, "New key")
	p.label(t, "Name", "web")
	p.selects(t, "Kind", "Public, for pages, apps and OpenFeature: gets values")
	p.selects(t, "Environment", "production")
	p.selects(t, "Good for", "Until it is revoked")
	p.button(t, "Make the key")
	key := p.secret(t)
	shown := func(language string) string {
		t.Helper()
		p.button(t, language)
		program := call[string](t, p.tab, `() => document.querySelector("dialog pre").innerText`)
		if !strings.Contains(program, "svc_") {
			t.Errorf("the new key is not in %s", program)
		}
		return program
	}
	command := shown("curl")
	if answer := run(t, command); !strings.Contains(answer, `"flags"`) || !strings.Contains(command, key) {
		t.Errorf("%s\n%s", command, answer)
	}
	site := openTab(t, blankSite(t).origin("localhost"))
	program := shown("Browser")
	if on := call[bool](t, site, `async (program) => await new (Object.getPrototypeOf(async function () {}).constructor)(program + "\nreturn on")()`, program); !on {
		t.Errorf("a page with the key does not get what Grace has switched on:\n%s", program)
	}
	openTab(t, bundleSite(t, shown("OpenFeature web")+"\ndocument.body.textContent = `it is ${on}`;").origin("localhost")).waitForText(t, "it is true")
	server := node(t, shown("OpenFeature server")+"\nconsole.log(on);")
	if out, err := server.CombinedOutput(); err != nil || string(out) != "true\n" {
		t.Errorf("a server with the key: %v\n%s", err, out)
	}
	p.shutSecret(t)
	p.button(t, "Rotate web")
	p.selects(t, "How long the old key goes on", "1 day")
	p.button(t, "Make the new key")
	if again := p.secret(t); again == key {
		t.Error("the key was not rotated")
	}
	p.shutSecret(t)
	call[bool](t, p.tab, `() => { [...document.querySelectorAll("[aria-label='Revoke web']")].at(-1).click(); return true }`)
	p.says(t, "dialog", "get no more values of production")
	p.button(t, "Revoke")
	p.gone(t, "dialog")
	if answer := run(t, command); strings.Contains(answer, `"flags"`) {
		t.Errorf("the revoked key is answered\n%s", answer)
	}

	p.button(t, "New key")
	p.label(t, "Name", "shop")
	p.selects(t, "Kind", "Secret, for servers with the Go client: gets all rules")
	p.selects(t, "Environment", "production")
	p.selects(t, "Good for", "1 year")
	p.button(t, "Make the key")
	if answer := run(t, shown("curl")); !strings.Contains(answer, `"rules"`) {
		t.Errorf("curl with a secret key: %.300s", answer)
	}
	p.shutSecret(t)

	// Who has a role without protected environments edits there no longer.
	p.visit(t, "#/settings/people")
	p.click(t, `.feed a[href*="people/"]:not([href*="applications"])`)
	p.wait(t, ".told")
	p.visit(t, "#/settings/people")
	p.do(t, "Grace", chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".feed a")].find((one) => one.innerText === "Grace").click()`))
	p.button(t, "Change roles")
	role("engineer")
	role("engineer_nonprotected")
	p.button(t, "Change the roles")
	p.says(t, ".told", "engineer_nonprotected")
	p.visit(t, "#/settings/environments")
	p.says(t, "main", "cannot be renamed")
	p.button(t, "Unprotect: production")
	p.button(t, "Unprotect")
	p.gone(t, "dialog")
	toggles("production", "On for")
	grace.says(t, "dialog", "production off for")
	grace.apply(t)
	p.button(t, "Protect: production")
	p.says(t, "dialog", "_nonprotected")
	p.button(t, "Protect")
	p.says(t, ".protected", "protected")
	grace.visit(t, "#/flags/new-checkout")
	grace.wait(t, `.switch[aria-label*="production"][disabled]`)

	p.visit(t, "#/settings/environments")
	p.button(t, "Add an environment")
	p.label(t, "Name", "QA!")
	p.selects(t, "Type", "test")
	p.button(t, "Add")
	p.says(t, "dialog .problem", "\"QA!\" cannot name an environment: a name is lower-case letters, digits and single dashes")
	p.label(t, "Name", "")
	p.do(t, "another name", chromedp.Evaluate[chromedp.Void](`document.querySelector("dialog input").select()`))
	p.insert(t, "qa")
	p.button(t, "Add")
	p.says(t, ".feed", "qa")
	p.button(t, "Archive: qa")
	p.button(t, "Archive")
	p.says(t, ".feed", "archived")

	p.visit(t, "#/settings/people")
	p.wait(t, `main .feed a[href*="people/"]`)
	call[bool](t, p.tab, `() => { [...document.querySelectorAll("main .feed a")].find((one) => one.innerText === "Ada").click(); return true }`)
	p.button(t, "Rename")
	p.write(t, "dialog .field input", "Ada Lovelace")
	p.button(t, "Rename")
	p.says(t, ".notice", "Ada is now Ada Lovelace, ada@acme.example.")

	p.visit(t, "#/settings/audit")
	p.says(t, ".feed", "is called: Ada Lovelace, ada@acme.example, before Ada")
	for _, want := range []string{"Signed in by", "User added: Grace", "Public SDK key made: web", "Public SDK key revoked: web", "Roles of Grace", "Environment production", "Environment added: qa"} {
		p.says(t, ".feed", want)
	}
	p.write(t, ".filters [type=search]", "grace roles")
	eventually(t, "the trail is filtered", func() (any, bool) {
		n := call[int](t, p.tab, `() => document.querySelectorAll(".feed li").length`)
		return n, n == 1
	})
	exported := call[string](t, p.tab, `async () => {
		let kept;
		URL.createObjectURL = (blob) => { kept = blob; return "data:," };
		[...document.querySelectorAll(".filters button")].at(-1).click();
		return kept.text();
	}`)
	var event struct{ Words, By string }
	if err := json.Unmarshal([]byte(exported), &event); err != nil || !strings.Contains(event.Words, "roles of Grace") || !strings.Contains(event.By, "Ada") {
		t.Errorf("exported: %s (%v)", exported, err)
	}

	// The palette leads there, and signs out on the server too.
	call[bool](t, p.tab, `() => { document.activeElement.blur(); return true }`)
	p.slash(t)
	p.wait(t, ".palette[open]")
	p.insert(t, "sdk keys")
	p.press(t, "\r")
	p.says(t, "h1", "SDK keys")
	p.slash(t)
	p.wait(t, ".palette[open]")
	p.insert(t, "sign out")
	p.says(t, ".palette [aria-selected=true]", "End the session")
	p.press(t, "\r")
	p.wait(t, "#key")
	p.reload(t)
	p.wait(t, "#key")

	// Who was signed in everywhere is nowhere any more.
	grace.visit(t, "#/settings/you")
	grace.button(t, "Sign out everywhere")
	grace.button(t, "Sign out")
	grace.wait(t, "#key")
	grace.signIn(t, w.key(t, "Ida", "engineer"))
	grace.wait(t, ".frame nav")
	grace.visit(t, "#/settings")
	grace.says(t, "main", "You are here with a key")
}

// run runs a command line.
func run(t *testing.T, command string) string {
	t.Helper()
	out := must.Get(exec.Command("bash", "-c", command).Output())(t)
	return string(out)
}

// settingsViews are those that an admin sees.
var settingsViews = []struct{ name, place, drawn string }{
	{"settings-you", "#/settings/you", ".told"},
	{"settings-new-key", "#/settings/you?do=new-key", "dialog .field"},
	{"settings-people", "#/settings/people", ".feed li"},
	{"settings-add-person", "#/settings/people?do=add-person", "dialog .check"},
	{"settings-keys", "#/settings/keys", ".feed li"},
	{"settings-new-sdk-key", "#/settings/keys?do=new-key", "dialog .field"},
	{"settings-environments", "#/settings/environments", ".feed li"},
	{"settings-protect", "#/settings/environments?do=archive&of=production", "dialog p"},
	{"settings-approvals", "#/settings/environments?do=approvals&of=production", "dialog .check"},
	{"settings-type", "#/settings/environments?do=type&of=production", "dialog .field"},
	{"settings-webhooks", "#/settings/webhooks", ".empty"},
	{"settings-add-webhook", "#/settings/webhooks?do=add", "dialog .field"},
	{"settings-sign-in", "#/settings/sign-in", "main pre"},
	{"settings-audit", "#/settings/audit", ".feed li"},
}

// The settings are read and worked by everybody, on each screen. SVC_PICTURES names a folder
// for pictures of them.
func TestConsoleSettingsAreAccessible(t *testing.T) {
	needsPackages(t)
	axe := readFile(t, filepath.Join("node_modules", "axe-core", "axe.min.js"))
	w := serveWorkspace(t, copySample(t, nil))
	for _, who := range [][]string{{"Grace Brewster Murray Hopper", "protected_engineer"}, {"Linus", "engineer_nonprotected"}, {"Edsger", "support"}} {
		w.login(t, who[0], who[1:]...)
	}
	w.applicationKey(t, "public", "production")
	w.applicationKey(t, "secret", "staging")
	svc(t, "key", "create", "--data", w.data, "--kind", "service-account", "--name", "deploy-bot", "--role", "engineer")
	p := openSignedIn(t, w, desk, "#/settings/you", "Ada", "admin", "engineer")
	p.do(t, "axe", chromedp.Evaluate[chromedp.Void](string(axe)+"; undefined"))
	sound := func(name string) {
		t.Helper()
		p.sound(t, name)
		folder := os.Getenv("SVC_PICTURES")
		if folder == "" {
			return
		}
		for _, s := range []screen{{320, 700, false, "dark"}, {768, 900, false, "light"}, {1280, 800, false, "dark"}, {1920, 1000, false, "light"}, desk} {
			p.do(t, "a screen", chromedp.EmulateViewport(s.width, s.height))
			p.prefer(t, s.scheme)
			p.picture(t, filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, s.width, s.scheme)))
		}
	}
	for _, view := range settingsViews {
		p.visit(t, view.place)
		p.wait(t, view.drawn)
		sound(view.name)
		if strings.Contains(view.place, "do=") {
			p.press(t, "\x1b")
			p.gone(t, "dialog")
		}
	}
	p.visit(t, "#/settings/people")
	p.do(t, "deploy-bot", chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll(".feed a")].find((one) => one.innerText === "deploy-bot").click()`))
	p.wait(t, ".told")
	sound("settings-service-account")
	p.button(t, "New key")
	p.label(t, "Name", "ci")
	p.selects(t, "Good for", "1 year")
	p.button(t, "Make the key")
	p.secret(t)
	sound("settings-secret")
	p.shutSecret(t)
	p.visit(t, "#/settings/keys")
	p.button(t, "Connect with app")
	p.wait(t, "dialog pre")
	sound("settings-connect")
	p.quiet(t)
}

// An admin has others approve what an environment serves, reads it there in words, and is led
// there from where changes wait; changing the rule needs what past it is let by.
func TestConsoleSettingsReview(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openSignedIn(t, w, desk, "#/requests", "Ada", "admin", "protected_engineer")
	p.click(t, `.empty a[href="#/settings/environments"]`)
	p.says(t, ".feed", "Changes need no approval.")
	p.button(t, "Approvals: production")
	p.click(t, "dialog .check input")
	p.says(t, "dialog", "Changes are approved by 1 other person first.")
	p.selects(t, "By how many people", "2")
	p.says(t, "dialog", "protected_engineer")
	call[bool](t, p.tab, `() => { [...document.querySelectorAll("dialog .check")].find((one) => one.innerText.trim() === "protected_engineer").click(); return true }`)
	p.says(t, "dialog", "Changes are approved by 2 other people first, who have the role protected_engineer")
	p.button(t, "Save")
	p.gone(t, "dialog")
	p.says(t, ".feed", "Changes are approved by 2 other people first, who have the role protected_engineer.")
	status, answer := request(t, "PATCH", w.base+"/v1/flags/new-checkout/environments/production", w.key(t, "Grace", "protected_engineer"), `{"enabled": true}`)
	if status != 403 || !strings.Contains(answer, "REVIEW_REQUIRED") {
		t.Errorf("a change of production: %d %s", status, answer)
	}

	// The rule itself is not taken back by one alone.
	p.button(t, "Approvals: production")
	p.click(t, "dialog .check input")
	p.button(t, "Save")
	p.says(t, "dialog", "Ask another admin to give you the role review_bypass")
	p.press(t, "\x1b")
	p.gone(t, "dialog")
	p.slash(t)
	p.wait(t, ".palette[open]")
	p.insert(t, "review")
	p.says(t, ".palette [aria-selected=true]", "Environments")
}

// Who copies the program that holds a new key has copied the key; who administers nothing is
// offered only what is theirs, and each person has a way back to all.
func TestConsoleSettingsWays(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	p := openSignedIn(t, w, desk, "#/settings/keys", "Ada", "admin")
	p.button(t, "New key")
	p.label(t, "Name", "web")
	p.selects(t, "Kind", "Public, for pages, apps and OpenFeature: gets values")
	p.selects(t, "Environment", "production")
	p.selects(t, "Good for", "1 year")
	p.button(t, "Make the key")
	p.secret(t)
	// What is said goes after four seconds by itself: not here.
	call[bool](t, p.tab, `() => { const later = setTimeout; window.setTimeout = (does, after, ...more) => after === 4000 ? 0 : later(does, after, ...more); return true }`)
	call[bool](t, p.tab, `() => { Object.defineProperty(navigator, "clipboard", { value: { writeText: async () => {} }, configurable: true }); document.querySelector("dialog .snippet [aria-label^=Copy]").click(); return true }`)
	p.says(t, ".notice", "Copied.")
	p.button(t, "Close")
	p.gone(t, "dialog")
	p.visit(t, "#/settings/people")
	p.says(t, "h1", "People")
	p.gone(t, ".notice div")
	p.click(t, ".feed a")
	p.click(t, `.crumbs a[href="#/settings/people"]`)
	p.says(t, "h1", "People")

	grace := openSignedIn(t, w, desk, "#/settings", "Grace", "engineer")
	grace.says(t, ".told", "Grace")
	if tabs := call[string](t, grace.tab, `() => document.querySelector("main .tabs").innerText.trim()`); tabs != "You" {
		t.Errorf("an engineer is offered %q", tabs)
	}
	grace.says(t, ".frame .me", "Settings")
}

// Many environments are searched, moved among those of their type, and those without a key are
// named in one line.
func TestConsoleSettingsOfManyEnvironments(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 9 {
		names = append(names, fmt.Sprintf("qa-%d", i))
	}
	w := serveWorkspace(t, copySample(t, map[string]string{
		"svc.json": `{"environments": ["development", "staging", "production", "` + strings.Join(names, `", "`) + `"]}`,
	}))
	w.applicationKey(t, "public", "production")
	p := openSignedIn(t, w, desk, "#/settings/keys", "Ada", "admin")
	p.says(t, ".foot", "No application has a key of development, qa-0, qa-1")
	if n := call[int](t, p.tab, `() => document.querySelectorAll("main .day").length`); n != 1 {
		t.Errorf("%d sections of one environment with a key", n)
	}
	p.visit(t, "#/settings/environments")
	order := func(want string) {
		t.Helper()
		eventually(t, "the order is "+want, func() (any, bool) {
			got := call[string](t, p.tab, `() => [...document.querySelectorAll(".feed b")].map((one) => one.innerText).join(" ")`)
			return got, strings.HasPrefix(got, want)
		})
	}
	order("development qa-0 qa-1")
	p.button(t, "Move qa-1 up")
	order("development qa-1 qa-0 qa-2")
	p.button(t, "Move qa-1 up")
	order("qa-1 development qa-0 qa-2")
	eventually(t, "the focus is on what moves on", func() (any, bool) {
		on := call[string](t, p.tab, `() => document.activeElement.ariaLabel ?? ""`)
		return on, on == "Move qa-1 down"
	})
	if status, answer := request(t, "GET", w.base+"/v1/environments", w.key(t, "Grace", "engineer"), ""); status != 200 || strings.Index(answer, "qa-1") > strings.Index(answer, "development") {
		t.Errorf("the API lists them as before: %d %s", status, answer)
	}
	p.write(t, ".filters [type=search]", "production")
	order("production")
	if n := call[int](t, p.tab, `() => document.querySelectorAll(".feed li").length`); n != 1 {
		t.Errorf("%d environments are found", n)
	}
}
