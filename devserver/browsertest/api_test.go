package browsertest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/freeport"
)

// api is a svc api that serves a workspace made of everyTypeFiles.
type api struct {
	base string
	data string
}

func serveAPI(t *testing.T, flags ...string) api {
	t.Helper()
	dir := everyTypeDir(t)
	a := api{data: filepath.Join(t.TempDir(), "data")}
	var problem string
	for range 3 { // another program may take a free port first
		port := freeport.Take()
		a.base = "http://127.0.0.1:" + port
		if problem = launch(t, append([]string{"api", "--data", a.data, "--import", dir, "--port", port}, flags...)...); problem == "" {
			return a
		}
		if !strings.Contains(problem, "is taken") {
			break
		}
	}
	t.Fatalf("svc api: %s", problem)
	return a
}

// issueKey makes a key as the guide says, while the server runs.
func (a api) issueKey(t *testing.T) string {
	t.Helper()
	return svc(t, "key", "create", "--data", a.data, "--kind", "user", "--name", "Ada Lovelace", "--email", "ada@acme.example", "--role", "protected_engineer")
}

// get asks the API itself, past every browser, and decodes the answer.
func get[T any](t *testing.T, url, key string) T {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	var value T
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil || a.StatusCode != 200 {
		t.Fatalf("GET %s: %s, %v\n%.500s", url, a.Status, err, text)
	}
	return value
}

// do carries out what a person does, and waits for what it needs.
func (tab tab) do(t *testing.T, what string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
