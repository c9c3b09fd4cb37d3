package browsertest

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// Where files cannot be written, that is said of the change, and what was typed stays.
func TestConsoleOfADirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there the owner of a folder may always write to it")
	}
	program := must.Get(svcbinary.Swift())(t)
	dir, port := copySample(t, nil), freeport.Take()
	command := []string{program, "serve", "--console", "--datadir", dir, "--port", port}
	if os.Geteuid() == 0 { // who may write everywhere, unless that is taken away
		command = append([]string{testenv.Program(t, "on Debian, apt-get install util-linux", "setpriv"), "--bounding-set=-dac_override"}, command...)
	}
	server := must.Get(svcbinary.Start(command[0], command[1:]...))(t)
	t.Cleanup(func() { _ = server.Stop() })
	opensConsole(t, server)
	p := blankTab(t, desk)
	p.load(t, "http://127.0.0.1:"+port+"/console/#/flags/new-checkout?edit=staging&kind=value&set=true")
	p.says(t, "dialog .messages", "staging on for everyone")
	folder := filepath.Join(dir, "feature-flags")
	must.Do(t, os.Chmod(folder, 0o555))
	t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.says(t, "dialog .box", "feature-flags/new-checkout.json cannot be written")
	if text := call[string](t, p.tab, `() => document.querySelector("dialog").innerText`); strings.Contains(text, "key") || strings.Contains(text, "role") {
		t.Errorf("a directory knows of no keys and roles:\n%s", text)
	}
	must.Do(t, os.Chmod(folder, 0o755))
	p.click(t, "dialog .review .box button")
	p.says(t, "dialog .messages", "staging on for everyone")
	p.apply(t)
	p.wait(t, `[aria-label="Serve true to everyone in staging"][aria-checked=true]`)
}

// A key that is revoked while somebody writes: the page asks for another, and goes on
// where the person was.
func TestConsoleGoesOnWithAnotherKey(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	key := w.key(t, "Ada", "protected_engineer")
	p := openConsole(t, w, desk, "#/flags/new-checkout?edit=staging&kind=value&set=true", key)
	p.says(t, "dialog .messages", "staging on for everyone")
	call[bool](t, p.tab, `() => Object.defineProperty(document, "hidden", { value: true }) && true`) // so that it does not find out by itself
	svc(t, "key", "revoke", "--data", w.data, get[struct{ KeyID string }](t, w.base+"/v1/whoami", key).KeyID)
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.says(t, ".signin .problem", "Key revoked or expired")
	other := w.key(t, "Grace", "protected_engineer")
	if flag := get[struct{ EnvironmentStatuses map[string]string }](t, w.base+"/v1/flags/new-checkout", other); flag.EnvironmentStatuses["staging"] != "pre_rollout" {
		t.Errorf("a revoked key has changed it: %v", flag)
	}
	p.signIn(t, other)
	p.says(t, "dialog .messages", "staging on for everyone")
	p.apply(t)
	p.wait(t, `[aria-label="Serve true to everyone in staging"][aria-checked=true]`)
}

// evil is text that would do harm as HTML, in whatever place it is put.
const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>'"{{7*7}}`

// Whatever stands in files and in what applications ask, it is text: keys, names, tags,
// variants, operators, properties, values, contexts, the names of files and of programs.
func TestConsoleOfADirectoryShowsWhatIsHostileAsText(t *testing.T) {
	t.Parallel()
	value := fmt.Sprintf(`{"type": "string", "value": %s}`, quoted(evil))
	dir := copySample(t, map[string]string{
		"feature-flags/evil.json": fmt.Sprintf(`{"key": "evil", "type": "feature_flag", "valueType": "string", "access": "standard", "name": %[1]s, "description": %[1]s, "tags": [%[1]s], %[1]s: %[1]s,
			"variants": [{"name": %[1]s, "description": %[1]s, "value": %[2]s}],
			"default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": %[3]s, "valueToMatch": {"type": "string_list", "value": [%[1]s]}}, {"operator": %[1]s, "propertyName": "user.key", "valueToMatch": {"type": %[1]s, "value": %[1]s}}], "value": %[2]s},
			{"criteria": [{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "evil-segment"}}], "value": %[2]s},
			{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "weighted_values", "value": {"hashByPropertyName": %[3]s, "weightedValues": [{"weight": 1, "value": %[2]s}, {"weight": 1, "value": {"type": "string", "value": "other"}}]}}}]}}`, quoted(evil), value, quoted("user."+evil)),
		"segments/evil-segment.json": fmt.Sprintf(`{"key": "evil-segment", "type": "segment", "valueType": "bool", "name": %[1]s, "description": %[1]s, "default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": %[1]s, "valueToMatch": {"type": "string_list", "value": [%[1]s]}}], "value": {"type": "bool", "value": true}}]}}`, quoted(evil)),
		"configs/evil-config.json":   fmt.Sprintf(`{"key": "evil-config", "type": "config", "valueType": "string", "access": "standard", "sendToClientSdk": true, "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": %s}]}}`, value),
	})
	base := serveConsole(t, dir)
	write(t, dir, "feature-flags/<img src=x onerror=a>.json", `{"key": "<img src=x onerror=a>", "type": "feature_flag"}`)
	write(t, dir, "feature-flags/<script>alert(1)<&>.json", `{`)
	write(t, dir, "segments/"+url.QueryEscape(evil[:40])+".json", evil)
	site := openTab(t, blankSite(t).origin("localhost"))
	context := fmt.Sprintf(`{"user":{"key":%[1]s,"name":%[1]s},%[1]s:{%[1]s:%[1]s}}`, quoted(evil))
	site.fetch(t, pollPath(base, tokenOf(context)), fetchInit{})
	r := must.Get(http.NewRequest("POST", base+"/ofrep/v1/evaluate/flags/"+url.PathEscape("<img src=x>"), strings.NewReader(`{"context":{"targetingKey":`+quoted(evil)+`}}`)))(t)
	r.Header.Set("User-Agent", evil)
	answer := must.Get(http.DefaultClient.Do(r))(t)
	answer.Body.Close()

	p := blankTab(t, desk)
	p.load(t, base+"/console/")
	as := "?context=" + url.QueryEscape(context)
	for _, view := range []struct{ place, drawn string }{
		{"#/flags" + as, ".row .value"}, {"#/flags/evil" + as, ".here summary"}, {"#/flags/evil/why" + as, ".tried li"}, {"#/flags/evil/document", ".document pre"}, {"#/flags/evil/history", ".timeline li, .empty"},
		{"#/flags/evil?edit=default", ".review .note, .review h3"}, {"#/flags/evil?edit=default&kind=rules", ".draft"}, {"#/flags/evil?raw=1", jsonEditor}, {"#/flags/evil?override=evil", "dialog .override"},
		{"#/flags/evil?delete=1", ".review h3, .review .box"}, {"#/configs" + as, ".row .value"}, {"#/configs/evil-config" + as, ".here-now"}, {"#/segments", ".row"}, {"#/segments/evil-segment", ".scope"}, {"#/segments/evil-segment?edit=default&kind=rules", ".draft"},
		{"#/overrides", ".empty, .feed li"}, {"#/problems", ".feed li"}, {"#/clients", ".feed li"}, {"#/activity", ".feed li, .empty"}, {"#/flags?find=1", "#choices li"},
		{"#/flags/" + url.PathEscape(evil), ".empty"}, {"#/flags?override=" + url.QueryEscape(evil), ".row"}, {"#/contexts/user/" + url.PathEscape(evil), ".got li"}, {"#/" + url.PathEscape(evil), ".empty"},
	} {
		p.visit(t, view.place)
		p.wait(t, view.drawn)
		if owned := call[string](t, p.tab, `() => document.querySelector("img, #console script, #console iframe, #console [onerror]") ? "an element" : document.title === "owned" ? "a title" : ""`); owned != "" {
			t.Errorf("%s: a file has made %s", view.place, owned)
		}
	}
	p.visit(t, "#/flags/evil?edit=default&kind=rules")
	for i := range 3 {
		p.click(t, fmt.Sprintf(".draft:nth-child(%d) .edit", i+1))
	}
	if call[bool](t, p.tab, `() => document.querySelector("img, #console script, #console iframe, #console [onerror]") !== null || document.title === "owned"`) {
		t.Error("a file has made an element in the editor of its rules")
	}
	p.visit(t, "#/problems")
	p.says(t, ".feed", "<img src=x onerror=a>.json")
	p.visit(t, "#/clients")
	p.says(t, ".feed", `<img src=x onerror="document.title='owned'">`)
	p.visit(t, "#/flags/evil"+as)
	p.says(t, ".heading .note", evil)
	p.says(t, ".here", evil)
	for _, complaint := range p.complaints.all() {
		if !strings.Contains(complaint, "404") && !strings.Contains(complaint, "400") {
			t.Error(complaint)
		}
	}
}
