package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

// TestWebhooksAcrossKills: a server that is killed at any time, and a receiver that is down
// now and then. Each commit arrives, under one id however often it does, and those of an item
// in their order.
func TestWebhooksAcrossKills(t *testing.T) {
	s := &site{workplace: newWorkplace(t, apiload.Fixture(), 1), t: t, client: apiload.NewHTTPClient(t)}
	var mu sync.Mutex
	ids, order, repeats := map[string]string{}, []string{}, 0
	midway := make(chan struct{}, 100) // a delivery that has arrived, and is not answered
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var dies <-chan struct{}
		defer func() {
			if dies != nil {
				midway <- struct{}{}
				<-dies
			}
		}()
		mu.Lock()
		defer mu.Unlock()
		if rand.N(25) == 0 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var sent struct{ Data struct{ Commit string } }
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &sent)
		commit, id := sent.Data.Commit, r.Header.Get("Webhook-Id")
		if before, again := ids[commit]; again && before != id {
			t.Errorf("%s has two ids", commit)
		} else if again {
			repeats++
		} else {
			order = append(order, commit)
			if len(order)%9 == 5 {
				dies = r.Context().Done()
			}
		}
		ids[commit] = id
	}))
	defer receiver.Close()
	start := func() {
		t.Helper()
		port := freeport.Take()
		server := must.Get(svcbinary.Start(must.Get(svcbinary.Swift())(t), "api", "--data", s.dir, "--port", port, "--webhook-allow", "127.0.0.1",
			"--rate-limit", "1000000", "--rate-burst", "1000000", "--anonymous-limit", "1000000", "--anonymous-burst", "1000000"))(t)
		t.Cleanup(server.Kill)
		s.p = &process{server, "http://127.0.0.1:" + port}
	}
	start()
	secret := must.Get(command(background(t), "webhook", "create", "--data", s.dir, "--name", "receiver", "--address", receiver.URL+"/hidden", "--kind", "change"))(t)
	if !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("the secret is %s", secret)
	}
	again := func() {
		s.p.Kill()
		start()
	}
	var commits []string
	for n := range 60 {
		text := s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, n%2 == 0))
		var made struct{ CommitSHA string }
		must.Do(t, json.Unmarshal([]byte(text), &made))
		commits = append(commits, made.CommitSHA)
		if n%6 == 5 {
			time.Sleep(time.Duration(rand.N(400)) * time.Millisecond)
			again()
		}
	}
	for deadline := time.Now().Add(apiload.Patience); ; time.Sleep(50 * time.Millisecond) {
		select {
		case <-midway:
			again()
		default:
		}
		mu.Lock()
		got, all := strings.Join(order, "\n"), strings.Join(commits, "\n")
		mu.Unlock()
		if got == all {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d commits arrived in order; %d repeats\n%s", len(order), len(commits), repeats, s.p.Log)
		}
	}
	if t.Logf("%d commits, %d repeats", len(commits), repeats); repeats == 0 {
		t.Error("no delivery was cut off")
	}
	if strings.Contains(s.p.Log.String(), "hidden") || strings.Contains(s.p.Log.String(), strings.TrimSpace(secret)) {
		t.Errorf("the log tells: %s", s.p.Log)
	}
	must.Do(t, s.p.Stop())
}
