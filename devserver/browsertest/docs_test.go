package browsertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/httpapi/swaggerui"
	"svc.example/svc/shared/testing/must"
)

// description is what the tests read of openapi.json.
type description struct {
	Info  struct{ Title string }
	Tags  []struct{ Name string }
	Paths map[string]map[string]json.RawMessage

	Components struct{ Schemas map[string]any }
}

type operation struct {
	OperationID string
	Summary     string
	Tags        []string
}

// each visits the operations.
func (d description) each(t *testing.T, visit func(method, path string, o operation)) {
	t.Helper()
	for path, item := range d.Paths {
		for method, text := range item {
			if !strings.Contains(" get put post delete patch ", " "+method+" ") {
				continue
			}
			var o operation
			must.Do(t, json.Unmarshal(text, &o))
			visit(method, path, o)
		}
	}
}

// shownOperation is an operation as the page shows it.
type shownOperation struct{ Method, Path, Text string }

const shownOperations = `() => Object.fromEntries([...document.querySelectorAll(".swagger-ui .opblock")].map((block) => [block.id, {
	method: block.querySelector(".opblock-summary-method").innerText,
	path: block.querySelector(".opblock-summary-path").dataset.path,
	text: block.innerText.replaceAll("\u200b", ""),
}]))`

// shownSchemas are the schemas' names: of more than a hundred, the page draws what is seen.
const shownSchemas = `async () => {
	const seen = new Set(), list = document.querySelector("section.models");
	for (let before = -1; before < seen.size; ) {
		before = seen.size;
		for (const title of list.querySelectorAll(".json-schema-2020-12__title")) seen.add(title.textContent);
		list.querySelector(".models-virtual-item:last-child")?.scrollIntoView();
		for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
	}
	scrollTo(0, 0);
	return [...seen];
}`

// showsTheDescription demands that each operation and each schema is there.
func (p docsPage) showsTheDescription(t *testing.T, base string) {
	t.Helper()
	d := get[description](t, base+"/v1/openapi.json", "")
	shown := call[map[string]shownOperation](t, p.tab, shownOperations)
	contents := call[string](t, p.tab, `() => document.querySelector("#contents").innerText`)
	count := 0
	d.each(t, func(method, path string, o operation) {
		count++
		got, there := shown["operations-"+o.Tags[0]+"-"+o.OperationID]
		if !there || got.Method != strings.ToUpper(method) || got.Path != path {
			t.Errorf("%s %s: the page shows %+v", method, path, got)
		}
		for _, want := range []string{path, o.OperationID, o.Summary} {
			if !strings.Contains(got.Text, want) {
				t.Errorf("%s: the page does not show %q", o.OperationID, want)
			}
		}
		if !strings.Contains(contents, o.Summary) {
			t.Errorf("%s is not in the contents", o.OperationID)
		}
	})
	if len(shown) != count || count == 0 {
		t.Errorf("the page shows %d operations, the description has %d", len(shown), count)
	}
	schemas := call[[]string](t, p.tab, shownSchemas)
	for name := range d.Components.Schemas {
		if !slices.Contains(schemas, name) {
			t.Errorf("the page does not show the schema %s", name)
		}
	}
	if title := call[string](t, p.tab, `() => document.title`); title != d.Info.Title {
		t.Errorf("the title is %q", title)
	}
	if icon := call[string](t, p.tab, `() => document.querySelector("link[rel=icon]").href`); !strings.HasPrefix(icon, "data:image/svg+xml,") {
		t.Errorf("the icon is %.60q", icon)
	}
}

// stage serves a server below a path, as a gateway with stages or a reverse
// proxy does. The description still names the server's own address, which is
// another origin.
func stage(t *testing.T, base, prefix string) string {
	t.Helper()
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		target, err := url.Parse(base + strings.TrimPrefix(r.In.URL.EscapedPath(), prefix))
		if err != nil {
			t.Error(err)
			return
		}
		target.RawQuery = r.In.URL.RawQuery
		r.Out.URL, r.Out.Host = target, ""
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// TestDocs: the page shows what is described, and tries it. It takes seconds to load.
func TestDocs(t *testing.T) {
	t.Parallel()
	server := serveWorkspace(t, everyTypeDir(t))
	key := server.key(t, "Ada", "protected_engineer")
	t.Run("at a desk, below a stage", func(t *testing.T) {
		gateway := stage(t, server.base, "/prod")
		page := openDocs(t, gateway+"/prod", desk)
		page.showsTheDescription(t, server.base)
		page.introduces(t, key)
		switchOn(t, server, page, key, "production")
		unasked(t, page, gateway+"/prod")
		besideTheAPI(t, page, gateway+"/prod")
		sent := page.log.wait(t, "the PATCH", gateway+"/prod/v1/flags/pro.only/environments/production", func(x exchange) bool { return x.Method == "PATCH" })
		if sent.Sent["authorization"] != "Bearer "+key || sent.Sent["cookie"] != "" {
			t.Errorf("the PATCH carried %v", sent.Sent)
		}
		page.clean(t, gateway)
		page.forgets(t, key)
	})
	t.Run("on the smallest phone", func(t *testing.T) {
		smallest := screen{320, 640, true, "dark"}
		page := openDocs(t, server.base, smallest)
		fits := func(what string) {
			t.Helper()
			if width := call[int64](t, page.tab, `() => document.documentElement.scrollWidth`); width > smallest.width {
				t.Errorf("%s: the page is %d wide on a screen of %d", what, width, smallest.width)
			}
		}
		fits("at first")
		page.saysOfKey(t, "Key")
		page.click(t, "#contents button")
		page.wait(t, ".modal-ux input")
		fits("with the dialog for the key")
		page.click(t, ".modal-ux .btn-done")
		page.introduces(t, key)
		fits("with an answer")
		for tag, operation := range widest {
			one := page.try(t, tag, operation)
			page.wait(t, one.selector+" .responses-table .highlight-code") // it comes last
			fits("with " + operation)
		}
		page.clean(t, server.base)
	})
}

// introduces gives the page a key, and demands that the server knows whose it is.
func (p docsPage) introduces(t *testing.T, key string) {
	t.Helper()
	p.paste(t, key)
	if status, body := p.try(t, "workspace", "getWhoami").execute(t); status != "200" || !strings.Contains(body, "Ada") {
		t.Fatalf("GET /whoami: the page shows %s\n%s", status, body)
	}
}

// switchOn turns a flag whose key holds a dot on, with the page, and looks at
// it past the page.
func switchOn(t *testing.T, server *workspace, page docsPage, key, environment string) {
	t.Helper()
	type detail struct{ EnvironmentStatuses map[string]string }
	status := func() string {
		return get[detail](t, server.base+"/v1/flags/pro.only", key).EnvironmentStatuses[environment]
	}
	if before := status(); before == "live" {
		t.Fatalf("the flag is %s before it is switched", before)
	}
	o := page.try(t, "flags", "updateFlagEnvironment")
	o.parameter(t, "key", "pro.only")
	o.parameter(t, "env", environment)
	o.body(t, `{"enabled": true, "replaceTargeting": true}`)
	if code, body := o.execute(t); code != "200" || !strings.Contains(body, `"dryRun": true`) {
		t.Fatalf("PATCH, untouched: the page shows %s\n%s", code, body)
	}
	if after := status(); after == "live" {
		t.Fatal("the page wrote, and nobody had unset dryRun")
	}
	o.choose(t, "dryRun", "false")
	if code, body := o.executeAgain(t); code != "200" || !strings.Contains(body, `"changed": true`) || strings.Contains(body, `"dryRun"`) {
		t.Fatalf("PATCH: the page shows %s\n%s", code, body)
	}
	if after := status(); after != "live" {
		t.Errorf("after the PATCH the flag is %s", after)
	}
}

// unasked demands that an example of an optional parameter is shown, and not
// sent.
func unasked(t *testing.T, page docsPage, base string) {
	t.Helper()
	if status, body := page.try(t, "flags", "listFlags").execute(t); status != "200" || !strings.Contains(body, "pro.only") {
		t.Errorf("GET /flags: the page shows %s\n%s", status, body)
	}
	sent := page.log.wait(t, "the GET", base+"/v1/flags", func(x exchange) bool { return x.Method == "GET" && !strings.Contains(x.URL, "pro.only") })
	if strings.Contains(sent.URL, "?") {
		t.Errorf("the page asked for %s", sent.URL)
	}
}

// besideTheAPI tries what does not stand below the API's version.
func besideTheAPI(t *testing.T, page docsPage, base string) {
	t.Helper()
	if status, body := page.try(t, "reference", "getStoredConfigSchema").execute(t); status != "200" || !strings.Contains(body, "$schema") {
		t.Errorf("the schema: the page shows %s\n%.300s", status, body)
	}
	page.log.wait(t, "the GET", base+"/schemas/v1/stored-config.json", func(x exchange) bool { return x.Method == "GET" })
}

// forgets demands that a key is kept nowhere and gone with the next load.
func (p docsPage) forgets(t *testing.T, key string) {
	t.Helper()
	kept := call[string](t, p.tab, `async () => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, await indexedDB.databases()])`)
	if kept != `[{},{},"",[]]` {
		t.Errorf("the page keeps %s", strings.ReplaceAll(kept, key, "[the key]"))
	}
	p.reload(t)
	p.drawn(t)
	p.saysOfKey(t, "Key")
}

// widest are operations with a body and a long path, and with many parameters.
var widest = map[string]string{"flags": "updateFlagEnvironment", "activity": "listActivity"}

func TestDocsWithoutScripts(t *testing.T) {
	t.Parallel()
	server := serveWorkspace(t, everyTypeDir(t))
	for name, prevent := range map[string]func(t *testing.T, page docsPage){
		"scripts are off": func(t *testing.T, page docsPage) {
			must.Get(chromedp.Call(page.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))(t)
		},
		"the renderer does not come": func(t *testing.T, page docsPage) { page.block(t, "*://*:*/*/swagger-ui-bundle.js") },
		"the description does not":   func(t *testing.T, page docsPage) { page.block(t, "*://*:*/*/openapi.json") },
	} {
		t.Run(name, func(t *testing.T) {
			page := blankTab(t, phone)
			prevent(t, page)
			page.load(t, server.base+"/v1/docs")
			eventually(t, "a word of what is wrong", func() (any, bool) {
				text := page.text(t)
				return text, strings.Contains(text, "openapi.json") && !strings.Contains(text, "Loading")
			})
			if width := call[int64](t, page.tab, `() => document.documentElement.scrollWidth`); width > phone.width {
				t.Errorf("the page is %d wide", width)
			}
		})
	}
}

// block keeps files from a page.
func (p docsPage) block(t *testing.T, pattern string) {
	t.Helper()
	params := network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: pattern, Block: true}}}
	must.Get(chromedp.Call(p.ctx, network.SetBlockedURLs, params))(t)
}

// TestRendererIsThePackage: the files of Swagger UI that are served are those
// of the pinned npm package, and nobody has edited them.
func TestRendererIsThePackage(t *testing.T) {
	needsPackages(t)
	folder := filepath.Join("node_modules", "swagger-ui-dist")
	var ours struct{ Dependencies map[string]string }
	var theirs struct{ Version, License string }
	for path, manifest := range map[string]any{"package.json": &ours, filepath.Join(folder, "package.json"): &theirs} {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, manifest)
		}
		must.Do(t, err)
	}
	if pinned := ours.Dependencies["swagger-ui-dist"]; pinned != swaggerui.Version || theirs.Version != swaggerui.Version || theirs.License != "Apache-2.0" {
		t.Errorf("package.json pins %s, %s (%s) is installed, and swaggerui says %s", pinned, theirs.Version, theirs.License, swaggerui.Version)
	}
	server := serveWorkspace(t, everyTypeDir(t))
	for _, f := range swaggerui.Files {
		want := readFile(t, filepath.Join(folder, f.Name))
		a := must.Get(http.Get(server.base + "/v1/docs/" + swaggerui.Digest() + "/" + f.Name))(t)
		served, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil || a.StatusCode != 200 || !bytes.Equal(served, want) {
			t.Errorf("%s: %s, %d bytes, %v; the package has %d bytes", f.Name, a.Status, len(served), err, len(want))
		}
	}
}
