package browsertest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

// serveConsole serves a directory with its console.
func serveConsole(t *testing.T, dir string) (base string) {
	t.Helper()
	return "http://127.0.0.1:" + serve(t, dir, "--console")
}

func TestConsoleEditsTheFilesOfADirectory(t *testing.T) {
	t.Parallel()
	dir := copySample(t, nil)
	file := filepath.Join(dir, "feature-flags", "new-checkout.json")
	before := readFile(t, file)
	base := serveConsole(t, dir)
	p := blankTab(t, desk)
	p.load(t, base+"/")
	p.says(t, ".row .key", "new-checkout") // no key is asked for
	p.visit(t, "#/flags/new-checkout")
	p.click(t, `[aria-label="Serve true to everyone in development"]`)
	p.says(t, "dialog .messages", "development off for everyone")
	if string(readFile(t, file)) != string(before) {
		t.Error("looking at a change has made it")
	}
	p.apply(t)
	p.wait(t, `[aria-label="Serve true to everyone in development"][aria-checked=false]`)
	after := readFile(t, file)
	was, is := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
	changed := 0
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			changed++
		}
	}
	if len(was) != len(is) || changed != 1 {
		t.Errorf("%d lines of %d are others:\n%s", changed, len(is), after)
	}
	p.quiet(t)
}

// TestTheConsoleOfADirectoryAsksForItsToken: the address that the server prints has it, the
// tab keeps it, and nobody else who reaches the server has it.
func TestTheConsoleOfADirectoryAsksForItsToken(t *testing.T) {
	t.Parallel()
	server := must.Get(svcbinary.Here("serve", "--console", "--datadir", copySample(t, nil), "--port", freeport.Take()))(t)
	t.Cleanup(func() { _ = server.Stop() })
	page, token, _ := strings.Cut(server.Console(), "#token=")
	p := blankTab(t, desk)
	p.load(t, page+"#/flags/new-checkout")
	p.says(t, "main h1", "Open the directory")
	for typed, want := range map[string]string{token + "x": "Token not accepted", "a b": "Paste the token"} {
		p.write(t, "#key", typed)
		p.click(t, "form button")
		p.says(t, "#key-problem", want)
	}
	p.write(t, "#key", server.Console())
	p.click(t, "form button")
	p.says(t, "h1", "new-checkout")
	p.reload(t)
	p.says(t, "h1", "new-checkout")

	p = blankTab(t, desk)
	p.load(t, server.Console())
	p.says(t, ".row .key", "new-checkout")
	if address := call[string](t, p.tab, `() => location.href`); strings.Contains(address, token) {
		t.Errorf("the token stays in the address: %s", address)
	}
}

// TestAnotherSiteCannotUseTheConsole of a directory that is open in the same browser.
func TestAnotherSiteCannotUseTheConsole(t *testing.T) {
	t.Parallel()
	dir := copySample(t, nil)
	base := serveConsole(t, dir)
	path := filepath.Join(dir, "feature-flags", "new-checkout.json")
	before := readFile(t, path)
	own := blankTab(t, desk)
	own.load(t, base+"/console/")
	own.says(t, ".row .key", "new-checkout")
	token := call[string](t, own.tab, `() => sessionStorage.getItem("svc token")`)

	site := openTab(t, blankSite(t).origin("localhost"))
	change := `{"enabled": true}`
	for name, a := range map[string]answer{
		"the page":           site.fetch(t, base+"/console/", fetchInit{}),
		"the list":           site.fetch(t, base+"/v1/flags", fetchInit{}),
		"the list, by token": site.fetch(t, base+"/v1/flags", fetchInit{Headers: map[string]string{"Authorization": "Bearer " + token}}),
		"a simple request":   site.fetch(t, base+"/v1/changes", fetchInit{Method: "POST", Headers: map[string]string{"Content-Type": "text/plain"}, Body: `{"operations": []}`}),
		"a change":           site.fetch(t, base+"/v1/flags/new-checkout/environments/staging", fetchInit{Method: "PATCH", Headers: map[string]string{"Authorization": "Bearer " + token}, Body: change}),
	} {
		if a.Failure == "" {
			t.Errorf("%s: another site reads %+v", name, a)
		}
	}
	call[bool](t, site, `(base) => new Promise((done) => {
		const form = document.createElement("form");
		Object.assign(form, { method: "post", action: base + "/v1/changes", enctype: "text/plain", target: "away" });
		const frame = Object.assign(document.createElement("iframe"), { name: "away" });
		frame.onload = () => done(true);
		document.body.append(frame, form);
		form.submit();
	})`, base)
	call[bool](t, site, `(base) => new Promise((done) => { const i = new Image(); i.onload = i.onerror = () => done(true); i.src = base + "/v1/flags"; })`, base)
	if string(readFile(t, path)) != string(before) {
		t.Error("another site has changed a file")
	}
	call[bool](t, site, `(base) => new Promise((done) => { const s = document.createElement("script"); s.onload = s.onerror = () => done(true); s.src = base + "/v1/flags"; document.body.append(s); })`, base)
	if shown := call[string](t, site, `(base) => new Promise((done) => {
		const frame = document.createElement("iframe");
		frame.onload = () => { try { done(frame.contentDocument?.body.innerText ?? "") } catch { done("") } };
		frame.src = base + "/console/";
		document.body.append(frame);
	})`, base); shown != "" {
		t.Errorf("another site frames the console: %s", shown)
	}

	// A name that was made to lead here is the same origin as its own page: it may read
	// what it is answered, and is answered nothing of the files.
	port := base[strings.LastIndex(base, ":"):]
	there := openTab(t, "http://"+rebound+port+"/console/")
	if text := there.text(t); strings.Contains(text, "new-checkout") || !strings.Contains(text, "does not answer under that name") {
		t.Errorf("a rebound name is answered %q", text)
	}
	for _, init := range []fetchInit{{}, {Headers: map[string]string{"Authorization": "Bearer " + token}}, {Method: "PATCH", Headers: map[string]string{"Authorization": "Bearer " + token}, Body: change}} {
		path := "/v1/flags"
		if init.Method != "" {
			path = "/v1/flags/new-checkout/environments/staging"
		}
		if a := there.fetch(t, "http://"+rebound+port+path, init); a.Status != http.StatusMisdirectedRequest || strings.Contains(fmt.Sprint(a), "new-checkout") {
			t.Errorf("a rebound name is answered %+v", a)
		}
	}
	if string(readFile(t, path)) != string(before) {
		t.Error("a rebound name has changed a file")
	}
}
