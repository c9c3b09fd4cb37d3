package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/standin"
)

// TestBackupsBesideTheService: each of ten backups that are made while clients write as
// fast as the functions answer, keys are made and packs are merged, is restored as a
// whole, and has whatever a client was told of before it began.
func TestBackupsBesideTheService(t *testing.T) {
	clients, rounds := 8, 10
	if testing.Short() {
		clients, rounds = 4, 2
	}
	files := map[string]string{"svc.json": `{"environments": ["production"]}`}
	for i := range clients {
		key := fmt.Sprint("flag-", i)
		files[apiload.PathOf("flags", key)] = apiload.Canonical(apiload.NewDocument("feature_flag", "bool", key, "", apiload.ValueOf("bool", false)))
	}
	h := create(t, files, clients)
	api, err := h.New(background(t), nil, slog.New(slog.DiscardHandler))
	must(t, err)
	server := httptest.NewServer(api)
	defer server.Close()
	ended, end := context.WithCancel(t.Context())
	defer end()
	var working sync.WaitGroup
	var written, beside atomic.Int64
	acknowledged := make([]atomic.Pointer[string], clients)
	client := apiload.NewHTTPClient(t)
	for i := range clients {
		working.Go(func() {
			for n := 0; ended.Err() == nil; n++ {
				o := &apiload.Operation{Kind: apiload.Toggle, Family: "flags", Key: fmt.Sprint("flag-", i), Scope: "production", Enabled: n%2 == 0}
				status, body, err := apiload.SendOnce(t.Context(), client, server.URL+"/v1", h.keys[i], o)
				if err == nil && (status == http.StatusConflict || status == http.StatusServiceUnavailable) {
					continue // too many were faster
				}
				if err != nil || status != http.StatusOK {
					t.Errorf("%d, %v: %s", status, err, body)
					return
				}
				answer, err := o.Read(status, body)
				must(t, err)
				acknowledged[i].Store(&answer.Commit)
				written.Add(1)
			}
		})
	}
	working.Go(func() {
		for ended.Err() == nil {
			if _, err := h.workspace.Compact(background(t), admin.Compacting{}); err != nil && !errors.Is(err, repository.ErrBusy) {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	type taken struct {
		text   bytes.Buffer
		before []string
	}
	all := make([]taken, rounds)
	var during time.Duration
	began := time.Now()
	for n := range all {
		h.issueKey(t, fmt.Sprint("late ", n), fmt.Sprint("late", n, "@example.com"), "engineer")
		for i := range acknowledged {
			if commit := acknowledged[i].Load(); commit != nil {
				all[n].before = append(all[n].before, *commit)
			}
		}
		count, from := written.Load(), time.Now()
		_, err := h.workspace.Backup(background(t), &all[n].text, t.TempDir(), nil)
		must(t, err)
		beside.Add(written.Load() - count)
		during += time.Since(from)
	}
	took := time.Since(began)
	end()
	working.Wait()
	t.Logf("%d clients: %.0f writes a second, %.0f of them while a backup was made, which took %d ms", clients,
		float64(written.Load())/took.Seconds(), float64(beside.Load())/during.Seconds(), during.Milliseconds()/int64(rounds))
	for n := range all {
		other := open(t)
		r, err := other.stores.Restore(background(t), &all[n].text, admin.Restoration{Dir: t.TempDir()})
		if err != nil {
			t.Fatalf("backup %d: %v", n, err)
		}
		ledger := dynamo.New(standin.DynamoDBClient(t), other.Table).Ledger(access.ID(r.ID))
		head, err := ledger.Head(background(t))
		must(t, err)
		for _, commit := range all[n].before {
			if sha, _, err := ledger.At(background(t), head, "svc.json", commit); err != nil || sha == "" {
				t.Errorf("backup %d lacks %s, which a client was told of before it began: %v", n, commit, err)
			}
		}
		if r.Keys != len(h.keysOf(t, r)) || r.Keys < n+1 {
			t.Errorf("backup %d has %d keys", n, r.Keys)
		}
	}
}

// keysOf are the records of the keys of what was restored.
func (h *service) keysOf(t *testing.T, r admin.Restored) []access.KeyRecord {
	t.Helper()
	keys, err := r.Workspace.Registry().Keys(background(t))
	must(t, err)
	return keys
}
