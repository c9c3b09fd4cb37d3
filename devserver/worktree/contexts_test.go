package worktree

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// poll asks as an application does, of a server that takes every question.
func (p *page) poll(method, path, body string) {
	p.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("User-Agent", "the app")
	p.api.Beside(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.Contains(body+path, "refused") {
			w.WriteHeader(http.StatusBadRequest)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

func native(context string) string {
	return "/api/v2/configs/eval-with-context/" + base64.URLEncoding.EncodeToString([]byte(context))
}

// What applications ask with is what rules are completed from, and what a change is
// tried on: it is told of clients as a whole, and as contexts one by one.
func TestContextsOfPollsAreRemembered(t *testing.T) {
	p := open(t)
	p.poll("GET", native(`{"user": {"key": "u1", "plan": "pro", "age": 30, "beta": true, "teams": ["a", "b"]}, "device": {"os": "linux"}}`), "")
	p.poll("POST", "/ofrep/v1/evaluate/flags", `{"context": {"targetingKey": "u2", "user.plan": "free", "team": {"key": "t1"}, "locale": "de"}}`)
	p.poll("POST", "/ofrep/v1/evaluate/flags/new-checkout", `{"context": {"targetingKey": "u1", "user.key": "u3"}}`)
	for _, odd := range []string{`{`, `[]`, `{"user": 1}`, `{"user": {"key": ["u"]}}`, `{"user": {"plan": "` + strings.Repeat("x", maxContext) + `", "key": "long"}}`, "\xff"} {
		p.poll("GET", native(odd), "")
		p.poll("POST", "/ofrep/v1/evaluate/flags", odd)
		p.poll("POST", "/ofrep/v1/evaluate/flags", `{"context": `+odd+`}`)
	}
	p.poll("POST", "/ofrep/v1/evaluate/flags/refused", `{"context": {"targetingKey": "stranger"}}`)

	found := map[string]string{}
	for _, c := range p.must("GET", "/v1/contexts?properties=true&limit=100", "")["contexts"].([]any) {
		row := c.(map[string]any)
		found[fmt.Sprint(row["type"], "/", row["key"], " ", row["environment"])] = fmt.Sprint(row["context"])
	}
	want := map[string]string{
		"user/u1 development": "map[user:map[age:30 beta:true key:u1 plan:pro teams:[a b]]]",
		"user/u2 development": "map[user:map[key:u2 plan:free]]",
		"user/u3 development": "map[user:map[key:u3]]",
		"team/t1 development": "map[team:map[key:t1]]",
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("contexts are %v, want %v", found, want)
	}
	if some := p.must("GET", "/v1/contexts?query=PRO", "")["contexts"].([]any); len(some) != 1 {
		t.Errorf("%v have pro", some)
	}

	told := map[string]map[string]any{}
	for _, c := range p.must("GET", "/v1/clients", "")["clients"].([]any) {
		told[c.(map[string]any)["protocol"].(string)] = c.(map[string]any)
	}
	if got := fmt.Sprint(told["native"]["contexts"], told["native"]["flags"], told["native"]["all"]); !strings.Contains(got, "map[device:map[os:linux] user:map[age:30 beta:true key:u1 plan:pro teams:[a b]]]") || !strings.HasSuffix(got, "[] true") {
		t.Error(got)
	}
	got := fmt.Sprint(told["ofrep"]["contexts"], told["ofrep"]["flags"], told["ofrep"]["all"])
	for _, part := range []string{"map[:map[locale:de] team:map[key:t1] user:map[key:u2 plan:free]]", "map[user:map[key:u3]]", "[new-checkout]", "true"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}

	p.write(flagPath, flagText)
	after := p.must("PATCH", "/v1/flags/new-checkout/environments/development?dryRun=true&impact=true", `{"enabled": true}`)
	if reached := fmt.Sprint(after["impact"]); !strings.Contains(reached, "contexts:4") || !strings.Contains(reached, "changed:4") {
		t.Errorf("the change reaches %s", reached)
	}
	var walked []string
	for at := "?environment=development&limit=1"; at != ""; {
		page := p.must("GET", "/v1/contexts/export"+at, "")
		for _, c := range page["contexts"].([]any) {
			walked = append(walked, fmt.Sprint(c.(map[string]any)["key"]))
		}
		cursor, more := page["nextCursor"].(string)
		if at = ""; more {
			at = "?environment=development&limit=1&cursor=" + cursor
		}
	}
	if len(walked) != 4 || walked[0] != "t1" {
		t.Errorf("%v are exported", walked)
	}
	p.must("DELETE", "/v1/contexts/user/u1", "")
	if left := p.must("GET", "/v1/contexts", "")["contexts"].([]any); len(left) != 3 {
		t.Errorf("%v are left", left)
	}
}

// Whatever asks, and however often, little is remembered.
func TestRememberedContextsAreBounded(t *testing.T) {
	p := open(t)
	for i := range maxSeenContexts + 20 {
		p.poll("GET", native(fmt.Sprintf(`{"user": {"key": "u%d"}}`, i)), "")
		p.poll("POST", fmt.Sprintf("/ofrep/v1/evaluate/flags/flag-%d", i), `{"context": {"targetingKey": "same"}}`)
	}
	p.poll("POST", "/ofrep/v1/evaluate/flags", `{"context": {"targetingKey": "`+strings.Repeat("x", 2*maxAsked)+`"}}`)
	if n := p.api.clients.contexts.saved.Held(); n != maxSeenContexts {
		t.Errorf("%d contexts are remembered", n)
	}
	for _, c := range p.must("GET", "/v1/clients", "")["clients"].([]any) {
		row := c.(map[string]any)
		if n := len(row["contexts"].([]any)); n > maxClientContexts {
			t.Errorf("%d contexts of a client", n)
		}
		if n := len(row["flags"].([]any)); n > maxClientFlags {
			t.Errorf("%d flags of a client", n)
		}
	}
}
