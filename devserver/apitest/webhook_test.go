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

// TestWebhooksHearOfAChangeRequest, from the proposal to the commit and in order, whenever the
// server is killed; a chat is told who approved what.
func TestWebhooksHearOfAChangeRequest(t *testing.T) {
	files := apiload.Fixture()
	files["svc.json"] = strings.Replace(files["svc.json"], "{", `{"review": {"production": {}}, `, 1)
	w := newWorkplace(t, files, 3)
	var mu sync.Mutex
	seen, told, chat, failures := map[string]bool{}, map[int64][]string{}, []string{}, 0
	receiver := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		text, _ := io.ReadAll(r.Body)
		var sent struct {
			Text string
			Data struct {
				Number       int64
				Kind, Commit string
			}
		}
		_ = json.Unmarshal(text, &sent)
		switch id := r.Header.Get("Webhook-Id"); {
		case failures < 3 && rand.N(10) == 0: // each is a wait of some seconds
			failures++
			out.WriteHeader(http.StatusBadGateway)
		case seen[id]:
		case sent.Text != "":
			seen[id], chat = true, append(chat, sent.Text)
		default:
			seen[id], told[sent.Data.Number] = true, append(told[sent.Data.Number], strings.TrimSpace(sent.Data.Kind+" "+sent.Data.Commit))
		}
	}))
	defer receiver.Close()
	port := freeport.Take()
	start := func() *process {
		return &process{must.Get(svcbinary.Start(must.Get(svcbinary.Swift())(t), "api", "--data", w.dir, "--port", port, "--webhook-allow", "127.0.0.1", "--public-url", "https://flags.example.com"))(t), "http://127.0.0.1:" + port}
	}
	p := start()
	t.Cleanup(func() { p.Kill() })
	for _, form := range []string{"standard", "slack"} {
		must.Get(command(background(t), "webhook", "create", "--data", w.dir, "--name", form, "--form", form, "--address", receiver.URL, "--kind", "request"))(t)
	}
	ask := func(key, method, path, body string) (answer struct {
		ID, CommitSHA string
		Preview       struct{ Digest string }
	}) {
		t.Helper()
		r := must.Get(http.NewRequest(method, p.base+"/v1/change-requests"+path, strings.NewReader(body)))(t)
		r.Header.Set("Authorization", "Bearer "+key)
		a := must.Get(http.DefaultClient.Do(r))(t)
		defer a.Body.Close()
		text := must.Get(io.ReadAll(a.Body))(t)
		if a.StatusCode != 200 {
			t.Fatalf("%s %s: %s %s", method, path, a.Status, text)
		}
		must.Do(t, json.Unmarshal(text, &answer))
		return answer
	}
	want := map[int64]string{}
	const rounds = 3
	for n := int64(1); n <= rounds; n++ {
		id := ask(w.keys[0], "POST", "", fmt.Sprintf(`{"title": "Launch %d", "operations": [{"op": "create", "type": "feature_flag", "body": {"key": "launch-%[1]d"}}]}`, n)).ID
		ask(w.keys[2], "POST", "/"+id+"/comments", `{"text": "Not to be told."}`)
		digest := fmt.Sprintf(`{"digest": %q}`, ask(w.keys[2], "GET", "/"+id, "").Preview.Digest)
		ask(w.keys[2], "POST", "/"+id+"/approvals", digest)
		ask(w.keys[2], "DELETE", "/"+id+"/approvals", "")
		ask(w.keys[2], "POST", "/"+id+"/approvals", digest)
		want[n] = "created, commented, approved, withdrawn, approved, applied " + ask(w.keys[0], "POST", "/"+id+"/apply", "").CommitSHA
		p.Kill() // right after it was answered
		p = start()
	}
	for deadline := time.Now().Add(apiload.Patience); ; time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		missing, got := 0, fmt.Sprint(told)
		for n := range want {
			if strings.Join(told[n], ", ") != want[n] {
				missing++
			}
		}
		complete := missing == 0 && len(chat) == 6*rounds
		mu.Unlock()
		if complete {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("want %v, got %s and %q in the chat\n%s", want, got, chat, p.Log)
		}
	}
	approved := 0
	for _, text := range chat {
		if strings.Contains(text, "approved change request 1*\n• Launch 1\n<https://flags.example.com/console/#/requests/1|Open in the console>") {
			approved++
		}
	}
	if approved != 2 || strings.Contains(strings.Join(chat, ""), "Not to be told") {
		t.Errorf("%d approvals in the chat: %q", approved, chat)
	}
	must.Do(t, p.Stop())
}
