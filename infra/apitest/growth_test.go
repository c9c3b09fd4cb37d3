package apitest

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/memory"
)

// TestAnInstanceGrowsLittleOverManyWorkspaces: one instance of the delivery function that
// has served many workspaces keeps at most 70 MB of them.
func TestAnInstanceGrowsLittleOverManyWorkspaces(t *testing.T) {
	const workspaces, flags, most = 40, 500, 70 << 20
	h := open(t)
	from := source.Source{Name: "many flags", Files: map[string][]byte{}}
	for path, text := range apiload.ManyFlags(flags) {
		from.Files[path] = []byte(text)
	}
	keys := make([]string, workspaces)
	for i := range keys {
		w, err := h.stores.Create(background(t), admin.Creation{Name: fmt.Sprint("workspace ", i), Source: &from, Author: repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()}})
		must(t, err)
		key, _, err := w.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "web", Environment: "production"})
		must(t, err)
		keys[i] = key.Reveal()
	}
	api, err := h.New(background(t), nil, slog.New(slog.DiscardHandler))
	must(t, err)
	before := memory.InUse()
	for _, key := range keys {
		r := httptest.NewRequest("GET", poll, nil)
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d %.300s", w.Code, w.Body)
		}
	}
	grown := memory.InUse() - before
	t.Logf("%d workspaces of %d flags: %.1f MB more", workspaces, flags, float64(grown)/(1<<20))
	if grown > most {
		t.Errorf("%d workspaces of %d flags take %d bytes, at most %d are allowed", workspaces, flags, grown, most)
	}
	api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/healthz", nil)) // it is still in use
}
