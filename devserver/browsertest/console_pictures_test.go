package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/must"
)

// consoleViews are the console's views by name: where each is, and what is there
// when it is drawn.
var consoleViews = []struct{ name, place, drawn string }{
	{"flags", "#/flags", ".row .status"},
	{"flags-search", "#/flags?q=checkout&status=live", ".row .status"},
	{"flags-none", "#/flags?q=nothing+fits", ".empty"},
	{"flag", "#/flags/search.suggestions", ".scope .rules"},
	{"flag-split", "#/flags/pricing.headline", ".scope .shares"},
	{"flag-missing", "#/flags/is.not.there", ".empty"},
	{"toggle", "#/flags/new-checkout?edit=staging&kind=value&set=true", ".review .messages"},
	{"rollout", "#/flags/search.suggestions?edit=production", ".review h3, .review .note"},
	{"forbidden", "#/flags/new-checkout?edit=production&kind=value&set=true", ".review h3"},
	{"rules", "#/flags/search.suggestions?edit=staging&kind=rules", ".drafts"},
	{"rules-segment", "#/segments/beta-testers?edit=default&kind=rules", ".drafts"},
	{"config-schema", "#/configs/home.banner?edit=default&kind=value", "dialog summary"},
	{"schema", "#/configs/home.banner?schema=1", jsonEditor},
	{"document-edit", "#/configs/home.banner/document?raw=1", jsonEditor},
	{"history", "#/flags/new-checkout/history", ".timeline li"},
	{"why", "#/flags/search.suggestions/why", ".tried li"},
	{"evaluations", "#/flags/gradual/evaluations", ".marked li"},
	{"evaluations-none", "#/flags/mobile.haptics/evaluations", ".snippet"},
	{"document", "#/flags/new-checkout/document", ".document pre"},
	{"new", "#/flags?new=1", "dialog .form"},
	{"details", "#/flags/pricing.headline?details=1", "dialog .review h3, dialog .review .note"},
	{"values", "#/flags/pricing.headline?variants=1", "dialog .variant"},
	{"percentages", "#/flags/pricing.headline?edit=production&kind=rollout", "dialog .arms"},
	{"undo-whole", "#/activity?undo=0000000000000000000000000000000000000000", "dialog .box"},
	{"delete", "#/segments/beta-testers?delete=1", ".review h3, .review .box"},
	{"configs", "#/configs", ".row"},
	{"config", "#/configs/home.banner", ".scope .rules"},
	{"log-levels", "#/log-levels", ".row .level"},
	{"log-level", "#/log-levels/log-level.storefront", ".scope .rules"},
	{"segments", "#/segments", ".row"},
	{"segment", "#/segments/beta-testers", ".scope .rules"},
	{"contexts", "#/contexts", ".people li"},
	{"context", "#/contexts/user/user-1", ".got li"},
	{"activity", "#/activity", ".feed li"},
	{"palette", "#/flags?find=1", "#choices li"},
	{"stale", "#/flags?stale=30", ".row .why, .empty"},
	{"saved", "#/flags?saved=1&q=a", "dialog .form"},
	{"compare", "#/compare?from=staging&to=production", ".row .why"},
	{"nowhere", "#/nowhere", ".empty"},
}

// directoryViews are those that a directory has, or has others of.
var directoryViews = []struct{ name, place, drawn string }{
	{"directory-flags", "#/flags", ".row .value"},
	{"directory-as", "#/flags/search.suggestions?context=%7B%22user%22%3A%7B%22key%22%3A%22ada%22%2C%22plan%22%3A%22pro%22%7D%7D", ".here-now"},
	{"directory-overridden", "#/flags/new-checkout", ".here-now"},
	{"directory-text", "#/flags/pricing.headline", ".here-now"},
	{"directory-configs", "#/configs", ".row .value"},
	{"directory-config", "#/configs/home.banner", ".here-now"},
	{"directory-rollout", "#/flags/new-checkout?edit=production&kind=rollout", ".review .note"},
	{"directory-override", "#/flags/pricing.headline?override=pricing.headline", "dialog .override"},
	{"directory-why", "#/flags/search.suggestions/why", ".tried li"},
	{"directory-overrides", "#/overrides", ".feed li"},
	{"directory-new-override", "#/overrides?override=*", "dialog .override"},
	{"directory-problems", "#/problems", ".feed li"},
	{"directory-clients", "#/clients", ".feed li"},
	{"directory-stale", "#/flags?stale=30", ".row .why, .empty"},
	{"directory-compare", "#/compare?from=development&to=production", ".row .why"},
	{"directory-activity", "#/activity", ".empty, .feed li"},
}

// ourConfig is the sample in a directory such as somebody has.
func ourConfig(t *testing.T) string {
	t.Helper()
	shop := filepath.Join(t.TempDir(), "shop")
	must.Do(t, os.Mkdir(shop, 0o755))
	dir := filepath.Join(shop, "our-config")
	must.Do(t, os.Rename(copySample(t, nil), dir))
	return dir
}

// demoDirectory is a directory that is worked with: somebody asks, something is
// overridden, and a file is broken.
func demoDirectory(t *testing.T) (base string) {
	t.Helper()
	dir := ourConfig(t)
	base = serveConsole(t, dir)
	svc(t, "override", "set", "new-checkout", "false", "--datadir", dir, "--ttl", "8h")
	site := openTab(t, blankSite(t).origin("localhost"))
	for _, context := range []string{`{"user":{"key":"ada","plan":"pro","email":"ada@acme.example"},"device":{"os":"linux"}}`, `{"user":{"key":"grace","plan":"free"}}`, `{"user":{"key":"user-1"}}`} {
		site.fetch(t, pollPath(base, tokenOf(context)), fetchInit{})
	}
	site.fetch(t, base+"/ofrep/v1/evaluate/flags/search.suggestions", fetchInit{Method: "POST", Headers: map[string]string{"Content-Type": "application/json"}, Body: `{"context":{"targetingKey":"alan"}}`})
	write(t, dir, "feature-flags/broken.json", "{\n  \"key\": \"broken\",\n}")
	return base
}

// demo is a workspace as one would find it after some weeks.
func demo(t *testing.T) (w *workspace, key string) {
	t.Helper()
	more := map[string]string{}
	for i, name := range []string{"checkout.one-page", "checkout.gift-cards", "checkout.apple-pay", "search.typo-tolerance", "search.semantic", "account.passkeys", "account.delete-yourself", "mail.weekly-digest", "mobile.bottom-bar", "mobile.haptics", "admin.audit-log", "admin.impersonate", "pricing.annual", "pricing.student", "a.very-long-key.that-somebody-has-thought-of.in-a-weak-moment.and-that-must-still-be-shown.without-breaking-anything-on-a-phone"} {
		more["feature-flags/"+name+".json"] = boolFlag(name, fmt.Sprintf(`, "tags": ["%s"], "readyForCleanup": %v, "description": "What it is for, in a sentence that somebody wrote in a hurry."`, []string{"growth", "platform", "mobile"}[i%3], i == 5))
	}
	w = serveWorkspace(t, history(t, copySample(t, more)))
	w.countMonth(t, "gradual")
	w.see(t, "production", "Ada Lovelace", "Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov", "Tony Hoare", "Donald Knuth", "Frances Allen")
	w.see(t, "staging", "Ada Lovelace", "Grace Hopper")
	admin := w.key(t, "Grace", "protected_engineer")
	for path, body := range map[string]string{
		"/v1/flags/checkout.one-page/environments/development":  `{"enabled": true}`,
		"/v1/flags/checkout.one-page/environments/staging":      `{"enabled": true}`,
		"/v1/flags/checkout.one-page/environments/production":   `{"enabled": true}`,
		"/v1/flags/checkout.gift-cards/environments/production": `{"rollout": [{"value": true, "percent": 12.5}, {"value": false, "percent": 87.5}]}`,
		"/v1/flags/search.semantic/environments/development":    `{"enabled": true}`,
		"/v1/flags/new-checkout/environments/staging":           `{"rollout": [{"value": true, "percent": 50}, {"value": false, "percent": 50}]}`,
		"/v1/configs/api.timeout/environments/staging":          `{"value": "PT5S"}`,
		"/v1/log-levels/storefront":                             `{"level": "DEBUG", "environment": "staging"}`,
	} {
		w.send(t, admin, "PATCH", path, body)
	}
	return w, w.key(t, "Ada", "engineer_nonprotected")
}

// TestConsolePictures takes a picture of every view, in both schemes and four
// widths, for somebody to look at. SVC_PICTURES names the folder.
func TestConsolePictures(t *testing.T) {
	folder := os.Getenv("SVC_PICTURES")
	if folder == "" {
		t.Skip("SVC_PICTURES names no folder")
	}
	w, key := demo(t)
	base := demoDirectory(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{320, 900, 1280, 2560} {
			s := screen{width, map[int64]int64{320: 640, 900: 1000, 1280: 800, 2560: 1300}[width], width == 320, scheme}
			take := func(p docsPage, views []struct{ name, place, drawn string }) {
				for _, view := range views {
					p.visit(t, view.place)
					p.wait(t, view.drawn)
					p.picture(t, filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", view.name, width, scheme)))
				}
			}
			take(openConsole(t, w, s, "", key), consoleViews)
			p := blankTab(t, s)
			p.load(t, base+"/console/")
			take(p, directoryViews)
		}
	}
	p := blankTab(t, screen{900, 700, false, "light"})
	p.load(t, w.base+"/console/")
	p.wait(t, "#key")
	p.picture(t, filepath.Join(folder, "signin-900-light.png"))
}

// TestReadmePictures takes the pictures that the README shows, of the sample.
// SVC_README_PICTURES names the folder: make pictures does it.
func TestReadmePictures(t *testing.T) {
	folder := os.Getenv("SVC_README_PICTURES")
	if folder == "" {
		t.Skip("SVC_README_PICTURES names no folder")
	}
	dir := ourConfig(t)
	base := serveConsole(t, dir)
	w := serveWorkspace(t, dir)
	w.see(t, "production", "Ada Lovelace", "Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov", "Tony Hoare", "Donald Knuth", "Frances Allen")
	key := w.key(t, "Ada", "protected_engineer")
	for _, scheme := range []string{"light", "dark"} {
		s := screen{1120, 700, false, scheme}
		p := blankTab(t, s)
		p.load(t, base+"/console/#/flags/pricing.headline?context=%7B%22user%22%3A%7B%22key%22%3A%22ada%22%2C%22plan%22%3A%22enterprise%22%7D%7D")
		p.says(t, ".here .gets-value", "Talk to us")
		p.click(t, ".here summary")
		p.says(t, ".here .tried .matched", "user.plan is enterprise")
		call[bool](t, p.tab, `() => { document.activeElement.blur(); scrollTo(0, 0); return true }`)
		p.picture(t, filepath.Join(folder, "why-"+scheme+".png"))
		s.height = 900
		p = openConsole(t, w, s, "#/flags/new-checkout", key)
		p.click(t, `[aria-label="Roll out in production"]`)
		p.write(t, `[aria-label="Percent of true"]`, "25")
		p.says(t, "dialog .impact", "8 saved contexts")
		p.picture(t, filepath.Join(folder, "rollout-"+scheme+".png"))
	}
}

func (p docsPage) picture(t *testing.T, file string) {
	t.Helper()
	call[bool](t, p.tab, `async () => { await document.fonts.ready; await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); return true }`)
	image := must.Get(chromedp.Run(p.ctx, chromedp.CaptureScreenshot()))(t)
	must.Do(t, os.WriteFile(file, image, 0o644))
}
