package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
)

// delivery is a request that a receiver got.
type delivery struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// receiver takes what it is sent, unless it is down.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  []delivery
	down bool
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		d := delivery{map[string]string{}, string(body)}
		for name := range q.Header {
			d.Headers[strings.ToLower(name)] = q.Header.Get(name)
		}
		r.got = append(r.got, d)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

// TestConsoleWebhooks: an admin has a receiver told of changes, tries it, and gives it
// another secret. What it got is held against the library of Standard Webhooks.
func TestConsoleWebhooks(t *testing.T) {
	t.Parallel()
	w := &workspace{data: filepath.Join(t.TempDir(), "data"), port: freeport.Take()}
	w.base = "http://127.0.0.1:" + w.port
	w.halt = w.start(t, "--import", copySample(t, nil), "--workspace", "acme", "--webhook-allow", "127.0.0.1")
	to := newReceiver(t)
	p := openSignedIn(t, w, desk, "#/settings/webhooks", "Ada", "admin")
	p.says(t, ".empty", "No webhooks yet")
	p.withAxe(t)

	p.button(t, "Add a webhook")
	p.sound(t, "a new webhook")
	p.label(t, "Name", "chat")
	p.label(t, "Address", to.URL+"/services/sesame")
	p.button(t, "Add")
	secret := p.secret(t)
	p.shutSecret(t)
	p.says(t, ".feed", "Told of no change yet")
	p.sound(t, "webhooks")
	p.visit(t, "#/settings/webhooks")
	p.click(t, ".feed a.key")
	p.button(t, "Send a test")
	p.says(t, "main", "Delivered: the answer is 200.")
	p.sound(t, "a webhook")
	if gap := call[float64](t, p.tab, `() => { const at = document.querySelector("main .actions.apart"); return at.getBoundingClientRect().top - at.previousElementSibling.getBoundingClientRect().bottom }`); gap < 8 {
		t.Errorf("the test is %v px below the text before it", gap)
	}

	// A chat checks no signature, so there is nothing to copy; what cannot be reached is said at once.
	p.visit(t, "#/settings/webhooks")
	p.button(t, "Add a webhook")
	p.label(t, "Name", "team")
	p.label(t, "Address", "https://10.0.0.1/services/T")
	p.selects(t, "Form", "Slack")
	p.button(t, "Add")
	p.says(t, "dialog .problem", "10.0.0.1 is an address of a private network")
	p.do(t, "another address", chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("dialog .field input")[1].select()`))
	p.insert(t, to.URL+"/services/T")
	p.button(t, "Add")
	p.gone(t, "dialog")
	p.says(t, ".notice", "team is added.")
	if p.sees(t, `[aria-label="New secret: team"]`) {
		t.Error("a chat is offered a secret")
	}
	p.button(t, "Delete: team")
	p.button(t, "Delete")
	p.gone(t, "dialog")

	key := w.key(t, "Grace", "protected_engineer")
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/staging", `{"enabled": true}`)
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/staging", `{"enabled": false}`)
	eventually(t, "the changes arrive", func() (any, bool) { return to.all(), len(to.all()) == 3 })
	got := to.all()
	if body := got[2].Body; !strings.Contains(body, `"type":"change"`) || !strings.Contains(body, "new-checkout") || !strings.Contains(body, "Grace") || !strings.Contains(body, w.base+"/console/#/flags/new-checkout") {
		t.Errorf("a change is told as %s", body)
	}
	p.visit(t, "#/settings/webhooks")
	p.button(t, "New secret: chat")
	p.button(t, "Make the secret")
	second := p.secret(t)
	p.shutSecret(t)
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/staging", `{"enabled": true}`)
	eventually(t, "the change arrives", func() (any, bool) { return to.all(), len(to.all()) == 4 })

	// The receiver of the guide takes them too, each once.
	shown := node(t, guides.Snippet(t, "devserver/guides/webhooks.md", "receiver"))
	port := freeport.Take()
	shown.Env = append(os.Environ(), "SECRET="+second, "PORT="+port)
	listening := must.Get(shown.StdoutPipe())(t)
	must.Do(t, shown.Start())
	t.Cleanup(func() { _ = shown.Process.Kill(); _ = shown.Wait() })
	lines := bufio.NewScanner(listening)
	lines.Scan()
	for i, want := range []int{http.StatusUnauthorized, http.StatusNoContent, http.StatusNoContent} {
		d := got[0] // by the first secret
		if i > 0 {
			d = to.all()[3]
		}
		r := must.Get(http.NewRequest(http.MethodPost, "http://127.0.0.1:"+port, strings.NewReader(d.Body)))(t)
		for name, value := range d.Headers {
			r.Header.Set(name, value)
		}
		answer := must.Get(http.DefaultClient.Do(r))(t)
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("the guide's receiver answers %d, want %d", answer.StatusCode, want)
		}
	}
	if lines.Scan(); !strings.HasPrefix(lines.Text(), "change "+w.base+"/console/#/flags/new-checkout {") {
		t.Errorf("the guide's receiver prints %s", lines.Text())
	}

	verify := node(t, testdata(t, "verify-webhooks.js"))
	verify.Stdin = strings.NewReader(string(must.Get(json.Marshal(map[string]any{"secrets": []string{secret, second}, "deliveries": to.all()}))(t)))
	out, err := verify.CombinedOutput()
	// The first three are by the first secret, the last by both; and none once a byte has changed.
	if want := "true false false\ntrue false false\ntrue false false\ntrue true false\n"; err != nil || string(out) != want {
		t.Errorf("the library says %s, %v; want %s", out, err, want)
	}

	to.mu.Lock()
	to.down = true
	to.mu.Unlock()
	w.send(t, key, "PATCH", "/v1/flags/new-checkout/environments/staging", `{"enabled": false}`)
	p.visit(t, "#/settings/audit")
	p.says(t, "main", "Webhook added: chat")
	p.visit(t, "#/settings/webhooks")
	eventually(t, "it is shown what waits", func() (any, bool) {
		p.visit(t, "#/settings/audit")
		p.visit(t, "#/settings/webhooks")
		text := call[string](t, p.tab, `() => document.querySelector("main").innerText`)
		return text, strings.Contains(text, "1 waiting")
	})
	p.click(t, ".feed a.key")
	p.says(t, ".feed", "1 attempt")
	p.sound(t, "a webhook that takes nothing")
	if folder := os.Getenv("SVC_PICTURES"); folder != "" {
		for _, s := range []screen{{320, 700, false, "dark"}, desk, {1920, 1080, false, "light"}} {
			p.do(t, "a screen", chromedp.EmulateViewport(s.width, s.height))
			p.prefer(t, s.scheme)
			for name, place := range map[string]string{"one": "", "list": "#/settings/webhooks", "add": "#/settings/webhooks?do=add"} {
				if place != "" {
					p.visit(t, place)
					p.wait(t, ".feed, dialog .form")
				}
				p.picture(t, filepath.Join(folder, fmt.Sprintf("webhooks-%s-%d.png", name, s.width)))
			}
		}
		p.visit(t, "#/settings/webhooks")
	}
	p.visit(t, "#/settings/webhooks")
	if page := call[string](t, p.tab, `() => document.documentElement.outerHTML`); strings.Contains(page, "sesame") || strings.Contains(page, "whsec_") {
		t.Error("the page has what is secret")
	}
	p.button(t, "Delete: chat")
	p.button(t, "Delete")
	p.says(t, ".empty", "No webhooks yet")
}
