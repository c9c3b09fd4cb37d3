package browsertest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// serveHosted serves the sample by the functions, behind what API Gateway does. The
// gateway answers in its own words where instead does.
func serveHosted(t *testing.T, instead func(w http.ResponseWriter, r *http.Request) bool) (base, key string) {
	t.Helper()
	base, workspace := startHosted(t, instead, nil)
	return base, issueKey(t, workspace, access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@acme.example", Roles: []string{"protected_engineer"}})
}

func issueKey(t *testing.T, workspace *admin.Workspace, of access.KeyRequest) string {
	t.Helper()
	key, _, err := workspace.IssueKey(t.Context(), "", of)
	must.Do(t, err)
	return key.Reveal()
}

// startHosted is serveHosted with settings that with adds, which may be nil. It returns the
// workspace, as its operator has it.
func startHosted(t *testing.T, instead func(w http.ResponseWriter, r *http.Request) bool, with func(site *instance.Site)) (base string, workspace *admin.Workspace) {
	t.Helper()
	var functions http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if instead == nil || !instead(w, r) {
			functions.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	site := instance.Site{DynamoDB: standin.DynamoDB(t), S3: standin.S3(t), PublicURL: server.URL}
	if with != nil {
		with(&site)
	}
	site.Table, site.Bucket = standin.Table(t, standin.DynamoDBClient(t)), standin.Bucket(t, standin.S3Client(t))
	cfg := must.Get(standin.OperatorConfig(t.Context(), t.Setenv, site.DynamoDB, site.S3))(t)
	stores := admin.Open(cfg, site.Table, site.Bucket)
	must.Do(t, stores.CreateTable(t.Context()))
	from := must.Get(source.Read(t.Context(), "../sample/directory", func(path string) string { return path }))(t)
	workspace = must.Get(stores.Create(t.Context(), admin.Creation{Name: "acme", Source: &from, Author: repository.Signature{Name: "Ada", Email: "ada@acme.example", When: time.Now()}}))(t)
	functions = must.Get(site.New(t.Context(), nil, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))))(t)
	return server.URL, workspace
}

func TestConsoleWorksHosted(t *testing.T) {
	base, key := serveHosted(t, nil)
	p := blankTab(t, desk)
	p.load(t, base+"/")
	p.wait(t, "#key")
	if loaded := p.log.answered(base + "/console/"); len(loaded) < 3 || len(loaded) > 5 { // without a window, there is no icon
		t.Errorf("a browser that had nothing has loaded %v", loaded)
	}
	p.signIn(t, key)
	p.says(t, ".row .key", "new-checkout")
	p.visit(t, "#/flags/new-checkout")
	p.togglesAndUndoes(t, base, key, func() {})
	p.visit(t, "#/flags/new-checkout/history")
	p.says(t, ".timeline li:nth-child(2)", "production turned on")
	p.clean(t, base)
}

// What stands before the functions refuses in words of its own, and the functions say
// of a request alone that it cannot be answered: a person is told which.
func TestConsoleTellsOfThrottlesAndOutages(t *testing.T) {
	var answer atomic.Pointer[string]
	var asked atomic.Int64
	base, key := serveHosted(t, func(w http.ResponseWriter, r *http.Request) bool {
		body := answer.Load()
		if body == nil || !strings.HasPrefix(r.URL.Path, "/v1/flags/") {
			return false
		}
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		status, text, _ := strings.Cut(*body, " ")
		if status == "503" {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
		} else {
			if strings.Contains(text, "try again in 1 s") {
				w.Header().Set("Retry-After", "1")
			}
			w.WriteHeader(429)
		}
		_, _ = w.Write([]byte(text))
		return true
	})
	says := func(text string) { answer.Store(&text) }
	p := blankTab(t, desk)
	p.load(t, base+"/console/")
	p.signIn(t, key)
	p.says(t, ".row .key", "new-checkout")
	says(`429 {"message":"Too Many Requests"}`)
	p.visit(t, "#/flags/new-checkout")
	p.says(t, ".away p", "The server gets too many requests from here at the moment. Trying again in ")
	answer.Store(nil)
	p.wait(t, ".scope")
	p.gone(t, ".away p")
	asked.Store(0)
	says(`429 {"error":"RATE_LIMITED","message":"too many requests with this key; try again in 1 s"}`)
	p.visit(t, "#/flags/pricing.headline")
	eventually(t, "it is asked until it is answered", func() (any, bool) { return asked.Load(), asked.Load() > 9 })
	if told := call[string](t, p.tab, `() => document.querySelector(".away p").innerText`); strings.Contains(told, "key") || !strings.Contains(told, "Trying again in 1 s.") {
		t.Errorf("somebody without a key is told: %s", told)
	}
	answer.Store(nil)
	p.wait(t, ".scope")
	p.gone(t, ".away p")
	asked.Store(0)
	says(`503 {"error":"UNAVAILABLE","message":"the storage did not answer in time; the request can be repeated"}`)
	p.visit(t, "#/flags/search.suggestions")
	p.says(t, ".away p", "The storage did not answer in time")
	p.says(t, ".box.bad", "The storage did not answer in time")
	p.gone(t, ".away p") // the rest of the workspace answers
	before := asked.Load()
	answer.Store(nil)
	p.click(t, ".box.bad button")
	p.wait(t, ".scope")
	if before > 10 {
		t.Errorf("what could not be answered was asked %d times", before)
	}
}
