package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// chromium is the one browser of a run, once a test has needed it.
var chromium struct {
	sync.Mutex
	ctx context.Context
}

// rebound is a name that leads to this machine, as whoever owns it may have it do.
const rebound = "rebound.example"

func browser(t *testing.T) context.Context {
	t.Helper()
	path := testenv.Program(t, "on Debian, apt-get install chromium", "chromium", "chromium-browser", "google-chrome")
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.ctx != nil {
		return chromium.ctx
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(svcbinary.Folder(), "profile")),
	}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
		"disable-background-networking", "disable-component-update", "disable-sync",
		"disable-dev-shm-usage",
		// A tab that is not in front would poll more slowly.
		"disable-background-timer-throttling", "disable-backgrounding-occluded-windows", "disable-renderer-backgrounding",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	// A name of somebody else's that was made to lead here.
	options = append(options, chromedp.Flag("host-resolver-rules", "MAP "+rebound+" 127.0.0.1"))
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	chromium.ctx = ctx
	return ctx
}

func closeBrowser() {
	if chromium.ctx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(chromium.ctx, patience)
	defer cancel()
	if err := chromedp.Cancel(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "closing the browser: %v\n", err)
	}
}

// tab is a page in a browser profile of its own.
type tab struct {
	ctx context.Context
	log *traffic
}

func openTab(t *testing.T, url string) tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return attach(t, ctx, url)
}

// attach loads a page into a tab and follows what it sends.
func attach(t *testing.T, ctx context.Context, url string) tab {
	t.Helper()
	tab := tab{ctx, &traffic{byID: map[network.RequestID]*exchange{}}}
	must.Do(t, chromedp.Listen(ctx, tab.log.record))
	must.Get(chromedp.Call(ctx, network.Enable, network.EnableParams{}))(t)
	tab.load(t, url)
	return tab
}

func (tab tab) load(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	tab.bringToken(t, url)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("loading %s: %v", url, err)
	}
}

// tokens are those of the consoles of directories, by the ports of the servers, and given
// are the tabs that have them.
var tokens, given sync.Map

// opensConsole notes the token that a server has printed.
func opensConsole(t *testing.T, server *svcbinary.Server) {
	t.Helper()
	address, err := url.Parse(server.Console())
	token, printed := strings.CutPrefix(address.Fragment, "token=")
	if err != nil || !printed {
		t.Fatalf("the console is said to be at %q", server.Console())
	}
	tokens.Store(address.Port(), token)
}

// bringToken opens the address with the token of a console in a tab that is led to it.
func (tab tab) bringToken(t *testing.T, address string) {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil || at.Hostname() == rebound {
		return
	}
	token, console := tokens.Load(at.Port())
	if !console || strings.Contains(address, "#token=") {
		return
	}
	if _, has := given.LoadOrStore([3]any{tab.ctx, at.Host, token}, true); has {
		return
	}
	for _, address := range []string{fmt.Sprintf("http://%s/console/#token=%s", at.Host, token), "about:blank"} {
		must.Do(t, chromedp.Do(tab.ctx, chromedp.Navigate(address)))
	}
}

func (tab tab) reload(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Reload()); err != nil {
		t.Fatalf("reloading: %v", err)
	}
}

// call calls a JavaScript function of the page, awaits what it returns, and
// decodes it.
func call[T any](t *testing.T, tab tab, function string, args ...any) T {
	t.Helper()
	words := make([]string, len(args))
	for i, arg := range args {
		word := must.Get(json.Marshal(arg))(t)
		words[i] = string(word)
	}
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	expression := "(" + function + ")(" + strings.Join(words, ",") + ")"
	result, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("calling %.60s: %v", function, err)
	}
	return result
}

// text is what a person sees on the page.
func (tab tab) text(t *testing.T) string {
	t.Helper()
	return call[string](t, tab, `() => document.body.innerText`)
}

func (tab tab) waitForText(t *testing.T, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the page says %q", want), func() (any, bool) {
		got := tab.text(t)
		return fmt.Sprintf("%q", got), got == want
	})
}

// exchange is one request as the browser sent it, and how it was answered on
// the wire. A page is shown a 200 where its browser revalidated and got a 304.
type exchange struct {
	Method   string
	URL      string
	Status   int64 // 0 until it is answered
	Sent     map[string]string
	Received map[string]string
	Waited   float64 // for its connection, in milliseconds
}

// preflight is the browser's own question; no page here sends OPTIONS.
func (e exchange) preflight() bool { return e.Method == "OPTIONS" }

func (e exchange) String() string { return fmt.Sprintf("%s %d %.80s", e.Method, e.Status, e.URL) }

// traffic is what a tab has sent, in order.
type traffic struct {
	mu    sync.Mutex
	order []network.RequestID
	byID  map[network.RequestID]*exchange
}

// record takes the browser's events. The headers and status of the wire come
// in events of their own, before or after those of the page.
func (l *traffic) record(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		x := l.of(e.RequestID)
		x.Method, x.URL = e.Request.Method, e.Request.URL
	case *network.EventRequestWillBeSentExtraInfo:
		l.of(e.RequestID).Sent = lowerCase(e.Headers)
	case *network.EventResponseReceived:
		if e.Response.Timing != nil {
			l.of(e.RequestID).Waited = e.Response.Timing.SendStart
		}
	case *network.EventResponseReceivedExtraInfo:
		x := l.of(e.RequestID)
		x.Status, x.Received = e.StatusCode, lowerCase(e.Headers)
	}
}

func (l *traffic) of(id network.RequestID) *exchange {
	if l.byID[id] == nil {
		l.byID[id] = &exchange{}
		l.order = append(l.order, id)
	}
	return l.byID[id]
}

func lowerCase(headers network.Headers) map[string]string {
	all := map[string]string{}
	for name, value := range headers {
		all[strings.ToLower(name)] = fmt.Sprint(value)
	}
	return all
}

// answered returns the exchanges that went to a URL, or to one below it, and
// have been answered.
func (l *traffic) answered(prefix string) []exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []exchange
	for _, id := range l.order {
		if x := l.byID[id]; strings.HasPrefix(x.URL, prefix) && x.Status != 0 && x.Sent != nil {
			copied := *x
			copied.Sent, copied.Received = maps.Clone(x.Sent), maps.Clone(x.Received)
			list = append(list, copied)
		}
	}
	return list
}

// origins returns where requests went. What a page brings with it, as data,
// goes nowhere.
func (l *traffic) origins(t *testing.T) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, x := range l.byID {
		u := must.Get(url.Parse(x.URL))(t)
		if origin := u.Scheme + "://" + u.Host; u.Host != "" && !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	return all
}

// wait waits for an exchange that fits.
func (l *traffic) wait(t *testing.T, what, prefix string, fits func(exchange) bool) exchange {
	t.Helper()
	var found exchange
	eventually(t, what, func() (any, bool) {
		list := l.answered(prefix)
		i := slices.IndexFunc(list, fits)
		if i < 0 {
			return list, false
		}
		found = list[i]
		return nil, true
	})
	return found
}

// waitForPreflight waits for the browser's own question to a URL and checks
// what came with it and the answer to it.
func (l *traffic) waitForPreflight(t *testing.T, url string) {
	t.Helper()
	x := l.wait(t, "a preflight", url, exchange.preflight)
	if x.Status != 204 {
		t.Errorf("the preflight was %v, not answered by 204", x)
	}
	// A browser that is told nothing forgets after five seconds, and asks before each poll.
	age, err := strconv.Atoi(x.Received["access-control-max-age"])
	if _, allowed := x.Received["access-control-allow-origin"]; allowed && (err != nil || age < 600) {
		t.Errorf("a browser may remember the preflight for %q seconds", x.Received["access-control-max-age"])
	}
	if key, sent := x.Sent["authorization"]; sent {
		t.Errorf("a browser sent a key with a preflight: %s", key)
	}
}

// waited is for how long a request to a URL, or to one below it, waited at most for its
// connection, in milliseconds.
func (l *traffic) waited(prefix string) float64 {
	longest := 0.0
	for _, x := range l.answered(prefix) {
		longest = max(longest, x.Waited)
	}
	return longest
}
