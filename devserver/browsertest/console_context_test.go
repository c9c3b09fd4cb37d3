package browsertest

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// onForMost is a flag that is on in development, but for a user.
const onForMost = `{"key": "checkout.fast", "type": "feature_flag", "valueType": "bool", "access": "standard",
	"default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]},
	"environments": [{"id": "development", "rules": [
		{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.key", "valueToMatch": {"type": "string_list", "value": ["u1"]}}], "value": {"type": "bool", "value": false}},
		{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["free"]}}], "value": {"type": "bool", "value": false}},
		{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": true}}]}]}`

// valueOf is what the list tells of a flag.
func (p docsPage) value(t *testing.T, key, want string) {
	t.Helper()
	eventually(t, key+" is "+want, func() (any, bool) {
		got := call[string](t, p.tab, `(key) => [...document.querySelectorAll(".row")].find((row) => row.querySelector(".key")?.innerText === key)?.querySelector("[data-column=Value]")?.innerText ?? "nothing"`, key)
		return got, got == want
	})
}

// What is typed at the top stays, whatever answers come meanwhile: the field asks who has
// been here when it is entered.
func TestConsoleKeepsWhatIsTypedOfAContext(t *testing.T) {
	t.Parallel()
	dir := copySample(t, map[string]string{"feature-flags/checkout.fast.json": onForMost})
	base := serveConsole(t, dir)
	site := openTab(t, blankSite(t).origin("localhost"))
	p := blankTab(t, desk)
	p.load(t, base+"/console/")
	p.value(t, "checkout.fast", "true")
	site.fetch(t, pollPath(base, tokenOf(`{"user":{"key":"ada"}}`)), fetchInit{}) // so that the answer is another one
	call[bool](t, p.tab, `() => {
		const ask = window.fetch;
		window.fetch = (what, how) => String(what.url ?? what).includes("clients") ? new Promise((go) => { window.answer = () => go(ask(what, how)) }) : ask(what, how);
		return true;
	}`)
	p.click(t, "#as")
	eventually(t, "the field asks", func() (any, bool) {
		got := call[bool](t, p.tab, `() => window.answer !== undefined`)
		return got, got
	})
	got := call[string](t, p.tab, `async () => {
		const field = document.querySelector("#as"), type = (text) => { field.value = text; field.dispatchEvent(new InputEvent("input", { bubbles: true })); };
		type("u");
		window.answer();
		for (let i = 0; i < 150; i++) { await new Promise((go) => setTimeout(go, 1)); if (field.value !== "u") break; }
		type(field.value + "1");
		return field.value;
	}`)
	if got != "u1" {
		t.Errorf("after u and 1 the field says %q", got)
	}
	p.value(t, "checkout.fast", "false")
}

// On a directory, whoever is named at the top is who the values are of: in the list and
// of an item, in a link too, and however a file is edited meanwhile.
func TestConsoleOfADirectoryShowsWhatAContextGets(t *testing.T) {
	t.Parallel()
	dir := copySample(t, map[string]string{"feature-flags/checkout.fast.json": onForMost})
	base := serveConsole(t, dir)
	p := blankTab(t, desk)
	p.load(t, base+"/console/")
	p.value(t, "checkout.fast", "true")
	p.value(t, "new-checkout", "true")
	p.write(t, "#as", "u1")
	p.value(t, "checkout.fast", "false")
	if link := call[string](t, p.tab, `() => location.hash`); !strings.Contains(link, url.QueryEscape(`"u1"`)) {
		t.Errorf("the address does not tell as whom one looks: %s", link)
	}
	colleague := blankTab(t, phone)
	colleague.load(t, base+"/console/"+call[string](t, p.tab, `() => location.hash`))
	colleague.value(t, "checkout.fast", "false")

	// Who has asked is offered, with everything that they asked with.
	site := openTab(t, blankSite(t).origin("localhost"))
	site.fetch(t, pollPath(base, tokenOf(`{"user":{"key":"ada","plan":"free"},"device":{"os":"linux"}}`)), fetchInit{})
	p.write(t, "#as", "nobody")
	p.value(t, "checkout.fast", "true")
	eventually(t, "ada is offered", func() (any, bool) {
		call[bool](t, p.tab, `() => { const field = document.querySelector("#as"); field.blur(); field.focus(); return true }`)
		offered := call[[]string](t, p.tab, `() => [...document.querySelectorAll("#as-seen option")].map((one) => one.value + ": " + one.innerText)`)
		return offered, len(offered) == 1 && offered[0] == "ada: plan free, device.os linux"
	})
	p.write(t, "#as", "ada")
	p.says(t, ".as-line", "plan free")
	p.value(t, "checkout.fast", "false")

	// An item tells why, rule by rule, and stays with whom one looks as.
	call[bool](t, p.tab, `() => { [...document.querySelectorAll(".row a")].find((a) => a.innerText.startsWith("checkout.fast")).click(); return true }`)
	p.says(t, ".here .gets-value", "false")
	p.click(t, ".here summary")
	p.says(t, ".here .tried .matched", "user.plan is free")
	p.says(t, ".here .tried .passed", "it is ada")
	p.click(t, ".as-line button")
	p.write(t, "#context", `{"user": {"key": "ada", "plan": "pro"}}`)
	p.says(t, ".here .gets-value", "true")
	p.visit(t, "#/clients")
	p.says(t, ".feed li", "ada")
	p.says(t, ".feed li", "all flags")
	p.click(t, ".feed li p a")
	p.says(t, "h1", "Flags")
	p.value(t, "checkout.fast", "false")

	// Rules are completed from who has asked, and a change tells whom of them it reaches.
	p.visit(t, "#/flags/checkout.fast?edit=development&kind=rules")
	eventually(t, "properties are offered", func() (any, bool) {
		offered := call[[]string](t, p.tab, `() => [...document.querySelectorAll("#known-properties option")].map((one) => one.value)`)
		return offered, strings.Contains(strings.Join(offered, " "), "device.os")
	})
	p.visit(t, "#/flags/checkout.fast?edit=development&kind=value&set=false")
	p.click(t, "dialog .check input")
	p.says(t, "dialog .impact", "None of the 1 context that has asked here gets another value.")

	// What an editor saves is there at once.
	p.visit(t, "#/flags")
	write(t, dir, "feature-flags/checkout.fast.json", strings.ReplaceAll(onForMost, `["free"]`, `["enterprise"]`))
	p.value(t, "checkout.fast", "true")

	// The way of a keyboard through a rollout: what is to be written has the focus, and
	// Enter leads to the button once it is known what it does.
	p.visit(t, "#/flags/new-checkout")
	p.click(t, `[aria-label="Roll out in production"]`)
	p.says(t, "dialog .review", "Change a percentage")
	eventually(t, "the percent of true has the focus", func() (any, bool) {
		at := call[string](t, p.tab, `() => document.activeElement.getAttribute("aria-label") ?? ""`)
		return at, at == "Percent of true"
	})
	p.press(t, "2", "5")
	p.says(t, "dialog .messages", "production rollout 25% true, 75% false")
	p.press(t, "\r")
	eventually(t, "Apply has the focus", func() (any, bool) {
		at := call[string](t, p.tab, `() => document.activeElement.innerText`)
		return at, at == "Apply"
	})
	p.press(t, "\r")
	p.gone(t, "dialog")
	if text := readFile(t, filepath.Join(dir, "feature-flags", "new-checkout.json")); !strings.Contains(string(text), "25000") {
		t.Errorf("%s", text)
	}
	p.quiet(t)
}

// A flag is put on for oneself without a file being touched, and taken back.
func TestConsoleOfADirectoryOverridesOnThisMachine(t *testing.T) {
	t.Parallel()
	dir := copySample(t, map[string]string{"feature-flags/checkout.fast.json": onForMost})
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@acme.example"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "--message", "Begin")
	base := serveConsole(t, dir)
	site := openTab(t, blankSite(t).origin("localhost"))
	served := func(user, key string, want any) {
		t.Helper()
		eventually(t, user+" is served", func() (any, bool) {
			got := site.fetch(t, pollPath(base, tokenOf(`{"user":{"key":"`+user+`"}}`)), fetchInit{}).values(t)[key]
			return got, got == want
		})
	}
	served("u1", "checkout.fast", false)
	p := blankTab(t, desk)
	p.load(t, base+"/console/#/flags/checkout.fast?context="+url.QueryEscape(`{"user":{"key":"u1"}}`))
	p.says(t, ".here .gets-value", "false")
	p.click(t, ".here-now .primary")
	p.says(t, ".here .gets-value", "true")
	p.says(t, ".here", "Overridden on this machine")
	served("u1", "checkout.fast", true)
	served("u2", "checkout.fast", true)
	p.visit(t, "#/flags?context="+url.QueryEscape(`{"user":{"key":"u1"}}`))
	p.wait(t, ".row .overridden")
	p.says(t, `nav a[href*="overrides"] .number`, "1") // which one may have forgotten
	p.visit(t, "#/overrides")
	p.says(t, ".feed li", "where user.key is u1")
	p.visit(t, "#/flags/checkout.fast?context="+url.QueryEscape(`{"user":{"key":"u1"}}`))
	p.click(t, ".here-now .primary") // clear it
	p.says(t, ".here .gets-value", "false")
	served("u1", "checkout.fast", false)

	// For others, for how long, and other values than on and off.
	p.visit(t, "#/flags/pricing.headline")
	p.click(t, ".here-now button")
	p.wait(t, "dialog .override")
	p.write(t, "dialog .override .field:first-child textarea", "Only today")
	p.click(t, "dialog .segmented button:nth-child(2)") // everyone
	p.choose(t, "#how-long", "8")
	p.press(t, "\t")
	p.click(t, "dialog .primary")
	p.gone(t, "dialog")
	served("u2", "pricing.headline", "Only today")
	p.click(t, ".notice button.link") // Undo
	p.says(t, ".notice", "The files decide again.")

	p.visit(t, "#/overrides")
	p.says(t, ".empty h2", "Everything is served as the files say")
	p.click(t, ".heading .primary")
	p.write(t, "dialog .override .field:first-child input", "no.such.flag")
	p.click(t, "dialog .primary")
	p.says(t, "dialog .problem", "Name a flag")
	p.write(t, "dialog .override .field:first-child input", "new-checkout")
	p.choose(t, "dialog .field:nth-of-type(2) select", "false")
	p.click(t, "dialog .segmented button:last-child")
	p.write(t, "dialog .override .field:nth-of-type(4) input", "user.plan=pro")
	p.click(t, "dialog .primary")
	p.says(t, ".feed li", "where user.plan is pro")
	p.click(t, ".heading .primary") // another of the same flag, for everyone
	p.write(t, "dialog .override .field:first-child input", "new-checkout")
	p.choose(t, "dialog .field:nth-of-type(2) select", "false")
	p.click(t, "dialog .primary")
	p.wait(t, ".feed li:nth-child(2)")
	p.click(t, ".feed li:first-child button.small")
	p.gone(t, ".feed li:nth-child(2)")
	p.says(t, ".feed li", "new-checkout is false")
	p.click(t, ".feed li button.small")
	p.wait(t, ".empty h2")
	p.visit(t, "#/flags/new-checkout?delete=1") // what is promised must hold
	p.says(t, "dialog .note", "Until svc serve is stopped it can be brought back here.")
	if status := git("status", "--porcelain"); status != "" {
		t.Errorf("overrides have changed files:\n%s", status)
	}

	p.visit(t, "#/problems")
	p.says(t, ".empty h2", "All is well")
	write(t, dir, "feature-flags/broken.json", `{"key": "broken"`)
	p.says(t, ".feed li", "feature-flags/broken.json")
	p.says(t, ".feed li", "INVALID_JSON")
	p.says(t, `nav a[href*="problems"] .number`, "1")
	p.quiet(t)
}
