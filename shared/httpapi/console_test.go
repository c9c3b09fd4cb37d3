package httpapi_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/database"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/settings"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/webhook"
)

// pages is a world with the console's own routes beside the API.
type pages struct {
	*world
	registry *access.Registry
	handler  http.Handler
}

func newPages(t *testing.T) *pages {
	t.Helper()
	w := newWorld(t, shop())
	p := &pages{world: w, registry: w.ledger.Registry().Registry}
	w.clock = time.Now() // by which the registry goes
	rows := bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db")))
	stores := func(string) settings.Stores {
		return settings.Stores{Registry: p.registry, Now: time.Now,
			Workspace: func(ctx context.Context) (*provision.Workspace, error) {
				record, err := p.registry.Workspace(ctx)
				return provision.New(record, w.ledger, w.repo), err
			},
			Audit: func(ctx context.Context, newest int) ([]audit.Event, error) {
				entries, err := p.registry.Audit(ctx, newest)
				return audit.Events(entries, nil, newest), err
			},
			Webhooks: func() *webhook.Manager {
				return &webhook.Manager{Sender: &webhook.Sender{Table: rows, Now: time.Now, Client: webhook.Client(nil, nil), Refused: webhook.Refused(nil)}, Workspace: string(workspaceID),
					Head: func(context.Context) (webhook.Position, error) { return webhook.Position{}, nil }}
			}}
	}
	p.handler = must.Get(httpapi.New(httpapi.Options{Service: w.service, BasePath: httpapi.ConsolePath + "/v1", PublicURL: "https://svc.test", Limit: unlimited,
		Now: time.Now, Console: &httpapi.Console{Stores: stores, Workspace: string(workspaceID)}}, append(httpapi.ForPages(), httpapi.Sessions(), httpapi.SettingsGroup())...))(t)
	return p
}

// signIn has somebody added and signed in.
func (p *pages) signIn(name string, roles ...string) (session string, id access.ID) {
	p.t.Helper()
	oneTime, owner, err := p.registry.IssueKey(p.t.Context(), access.KeyRequest{Kind: access.KindOneTime, Name: name, Roles: roles, Expires: access.OneTimeFor})
	must.Do(p.t, err)
	key, _, err := p.registry.SignIn(p.t.Context(), oneTime, access.Key{})
	must.Do(p.t, err)
	return key.Reveal(), owner.ID
}

// ask asks as the page does, with a session.
func (p *pages) ask(session, method, path, body string, headers ...string) *reply {
	p.t.Helper()
	r := httptest.NewRequest(method, "https://svc.test"+httpapi.ConsolePath+path, strings.NewReader(body))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set(httpapi.PageHeader, "1")
	r.AddCookie(&http.Cookie{Name: httpapi.SessionCookie, Value: session})
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); value == "" {
			r.Header.Del(name)
		}
	}
	recorder := httptest.NewRecorder()
	p.handler.ServeHTTP(recorder, r)
	return &reply{t: p.t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

// Who may do what: an admin everything but what is a person's own, everybody what is theirs.
func TestSettingsAreManagedByWhoMay(t *testing.T) {
	p := newPages(t)
	type person struct {
		session, key string
		id           access.ID
	}
	people := map[string]*person{}
	for _, who := range []string{"admin", "engineer", "member"} {
		of := &person{}
		of.session, of.id = p.signIn(who, who)
		made := p.ask(of.session, "POST", "/settings/keys", `{"kind": "user", "name": "laptop"}`).ok()
		of.key = made.text("/id")
		if key := made.text("/key"); !strings.HasPrefix(key, "svc_uk_") || made.text("/ownerName") != who {
			t.Errorf("%s makes %s", who, made.body)
		}
		people[who] = of
	}
	const topic = "arn:aws:sns:eu-west-1:123456789012:alarms"
	if before := string(p.ask(people["admin"].session, "GET", "/settings/keys", "").ok().body); !strings.Contains(before, `"guards":[]`) {
		t.Errorf("there are guards: %s", before)
	}
	ci := p.ask(people["admin"].session, "POST", "/settings/principals", `{"type": "service_account", "name": "ci", "roles": ["engineer"]}`).ok().text("/id")
	made := p.ask(people["admin"].session, "POST", "/settings/webhooks", `{"name": "siem", "address": "https://siem.invalid/secret", "kinds": ["audit"]}`).ok()
	hook := made.text("/id")
	if !strings.HasPrefix(made.text("/secret"), "whsec_") {
		t.Errorf("a webhook is made: %s", made.body)
	}
	path := strings.NewReplacer("{admin}", string(people["admin"].id), "{member}", string(people["member"].id), "{ci}", ci,
		"{member's}", people["member"].key, "{engineer's}", people["engineer"].key, "{hook}", hook).Replace
	for _, c := range []struct{ method, path, body, admin, engineer, member string }{
		{"GET", "/settings/principals", "", "OK", "403", "403"},
		{"GET", "/settings/keys", "", "OK", "OK", "OK"},
		{"GET", "/settings/environments", "", "OK", "OK", "OK"},
		{"GET", "/settings/audit", "", "OK", "403", "403"},
		{"GET", "/settings/audit?limit=0", "", "400", "400", "400"},
		{"POST", "/settings/principals", `{"type": "user", "name": "Eve", "email": "eve@acme.example", "roles": ["admin"]}`, "OK", "403", "403"},
		{"POST", "/settings/principals", `{"type": "user", "name": "Eve", "email": "eve@acme.example", "roles": []}`, "409", "403", "403"},
		{"POST", "/settings/principals", `{"type": "user", "name": "Bob", "email": "bob@acme.example", "roles": ["king"]}`, "400", "403", "403"},
		{"POST", "/settings/principals", `{"type": "user", "name": " ", "roles": []}`, "400", "403", "403"},
		{"PATCH", "/settings/principals/{ci}", `{"roles": ["admin"]}`, "OK", "403", "403"},
		{"PATCH", "/settings/principals/{admin}", `{"roles": ["engineer"]}`, "409", "403", "403"},
		{"PATCH", "/settings/principals/{admin}", `{"roles": ["admin", "engineer"]}`, "OK", "403", "403"},
		{"PATCH", "/settings/principals/{admin}", `{"disabled": true}`, "409", "403", "403"},
		{"PATCH", "/settings/principals/{admin}", `{"name": "Grace Hopper", "email": "grace@acme.example"}`, "OK", "403", "403"},
		{"PATCH", "/settings/principals/{member}", `{"email": "grace@acme.example"}`, "409", "403", "403"},
		{"PATCH", "/settings/principals/{member}", `{"name": " "}`, "400", "403", "403"},
		{"PATCH", "/settings/principals/{ci}", `{"email": "ci@acme.example"}`, "409", "403", "403"},
		{"PATCH", "/settings/principals/0000000000000000", `{"disabled": true}`, "404", "403", "403"},
		{"POST", "/settings/principals/{member}/address", "", "OK", "403", "403"},
		{"POST", "/settings/principals/{ci}/address", "", "409", "403", "403"},
		{"PATCH", "/settings/principals/{ci}", `{"identity": {"issuer": "https://id.test", "subject": "1"}}`, "409", "403", "403"},
		{"PATCH", "/settings/principals/{member}", `{"identity": {"issuer": "https://id.test", "subject": "1"}}`, "OK", "403", "403"},
		{"PATCH", "/settings/principals/{admin}", `{"identity": {"issuer": "https://id.test", "subject": "1"}}`, "409", "403", "403"},
		{"PATCH", "/settings/principals/{admin}", `{"identity": {"issuer": "https://id.test"}}`, "400", "403", "403"},
		{"PATCH", "/settings/principals/{member}", `{"identity": null}`, "OK", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "service_account", "name": "ci", "principalId": "{member}"}`, "409", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "user", "name": "theirs", "principalId": "{admin}"}`, "OK", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "user", "name": "theirs", "principalId": "{member}"}`, "403", "403", "OK"},
		{"POST", "/settings/keys", `{"kind": "session", "name": "theirs"}`, "400", "400", "400"},
		{"POST", "/settings/keys", `{"kind": "service_account", "name": "ci", "principalId": "{ci}"}`, "OK", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "service_account", "name": "ci"}`, "400", "400", "400"},
		{"POST", "/settings/keys", `{"kind": "guard", "name": "alerts", "principalId": "{ci}", "topic": "` + topic + `"}`, "OK", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "guard", "name": "alerts", "principalId": "{ci}", "topic": "alarms"}`, "400", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "public_sdk", "name": "web", "environment": "staging"}`, "OK", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "public_sdk", "name": "web", "environment": "old"}`, "400", "403", "403"},
		{"POST", "/settings/keys", `{"kind": "public_sdk", "name": "web"}`, "400", "403", "403"},
		{"POST", "/settings/keys/{member's}/rotation", `{"overlapHours": 1}`, "403", "403", "OK"},
		{"DELETE", "/settings/keys/{engineer's}", "", "OK", "OK", "403"},
		{"POST", "/settings/keys/{engineer's}/rotation", `{"overlapHours": 1}`, "403", "409", "403"},
		{"POST", "/settings/environments", `{"name": "qa", "type": "test"}`, "OK", "403", "403"},
		{"POST", "/settings/environments", `{"name": "QA"}`, "422", "403", "403"},
		{"POST", "/settings/environments", `{"name": "eu", "type": "pro duction\n"}`, "422", "403", "403"},
		{"PATCH", "/settings/environments/qa", `{"type": "Production!"}`, "422", "403", "403"},
		{"PATCH", "/settings/environments/qa", `{"type": "canary"}`, "OK", "403", "403"},
		{"PATCH", "/settings/environments/qa", `{"position": 0}`, "400", "400", "400"},
		{"PATCH", "/settings/environments/qa", `{"position": 1}`, "OK", "403", "403"},
		{"GET", "/settings/sign-in", "", "OK", "403", "403"},
		{"PATCH", "/settings/environments/qa", `{"archived": true}`, "OK", "403", "403"},
		{"PATCH", "/settings/environments/none", `{"archived": true}`, "422", "403", "403"},
		{"GET", "/settings/webhooks", "", "OK", "403", "403"},
		{"POST", "/settings/webhooks", `{"name": "chat", "address": "https://hooks.test/services/T/secret", "kinds": ["change"], "form": "slack", "tags": ["web"]}`, "OK", "403", "403"},
		{"POST", "/settings/webhooks", `{"name": "chat", "address": "ftp://hooks.test", "kinds": ["change"]}`, "422", "403", "403"},
		{"POST", "/settings/webhooks", `{"name": "chat", "address": "https://u:p@hooks.test", "kinds": ["change"]}`, "422", "403", "403"},
		{"POST", "/settings/webhooks", `{"name": "chat", "address": "https://hooks.test", "kinds": []}`, "422", "403", "403"},
		{"POST", "/settings/webhooks", `{"name": "chat", "address": "https://hooks.test", "kinds": ["poll"]}`, "400", "400", "400"},
		{"POST", "/settings/webhooks", `{"name": "chat", "address": "https://10.0.0.1/x", "kinds": ["change"]}`, "422", "403", "403"},
		{"POST", "/settings/webhooks", `{"name": "chat", "address": "http://localhost:8080", "kinds": ["change"]}`, "422", "403", "403"},
		{"PATCH", "/settings/webhooks/{hook}", `{"address": "https://[::1]/x"}`, "422", "403", "403"},
		{"POST", "/settings/webhooks", `{"name": "chat"}`, "422", "403", "403"},
		{"GET", "/settings/webhooks/{hook}", "", "OK", "403", "403"},
		{"PATCH", "/settings/webhooks/{hook}", `{"environments": ["production"]}`, "OK", "403", "403"},
		{"PATCH", "/settings/webhooks/{hook}", `{"name": ""}`, "422", "403", "403"},
		{"POST", "/settings/webhooks/{hook}/rotation", `{"overlapHours": 1}`, "OK", "403", "403"},
		{"POST", "/settings/webhooks/{hook}/rotation", `{"overlapHours": 1000}`, "400", "400", "400"},
		{"POST", "/settings/webhooks/{hook}/test", "", "OK", "403", "403"},
		{"POST", "/settings/webhooks/{hook}/deliveries/msg_1", "", "404", "403", "403"},
		{"DELETE", "/settings/webhooks/{hook}", "", "OK", "403", "403"},
		{"GET", "/settings/webhooks/{hook}", "", "404", "403", "403"},
		{"DELETE", "/settings/principals/{member}/sessions", "", "OK", "403", "OK"},
	} {
		// Those who may not come first: what is done does not get in their way.
		for _, who := range []struct{ name, want string }{{"member", c.member}, {"engineer", c.engineer}, {"admin", c.admin}} {
			if strings.HasSuffix(c.path, "{member}/sessions") && who.name != "member" {
				people["member"].session, _ = p.signIn("member")
			}
			a := p.ask(people[who.name].session, c.method, path(c.path), path(c.body))
			got := fmt.Sprint(a.status)
			if a.status < 300 {
				got = "OK"
			}
			if got != who.want {
				t.Errorf("%s: %s %s %s: %d, not %s: %s", who.name, c.method, c.path, c.body, a.status, who.want, a.body)
			}
		}
	}
	reviewed := p.ask(people["admin"].session, "PATCH", "/settings/environments/production", `{"review": {"approvals": 1}}`).ok()
	if !strings.Contains(string(reviewed.body), `"review":{"approvals":1,"roles":[],"authorMayApprove":false}`) {
		t.Errorf("a review by people of any role: %s", reviewed.body)
	}
	if shown := string(p.ask(people["admin"].session, "GET", "/settings/keys", "").ok().body); !strings.Contains(shown, `"topic":"`+topic+`"`) {
		t.Errorf("the topic of a guard key is not shown: %s", shown)
	}
	// An admin is shown all keys, everybody else their own; nobody the text of one. Everybody
	// is told whom alerts have a key of.
	for who, of := range people {
		if who == "member" {
			of.session, _ = p.signIn("member")
		}
		var list struct {
			Keys   []map[string]any
			Guards []string
		}
		a := p.ask(of.session, "GET", "/settings/keys", "").ok()
		must.Do(t, json.Unmarshal(a.body, &list))
		others := 0
		for _, key := range list.Keys {
			if key["principalId"] != string(of.id) {
				others++
			}
		}
		if guards := fmt.Sprint(list.Guards); guards != "[ci]" {
			t.Errorf("%s is told of the guards %s", who, guards)
		}
		if len(list.Keys) == 0 || (others > 0) != (who == "admin") {
			t.Errorf("%s is shown %d keys of others: %s", who, others, a.body)
		}
	}
	for _, path := range []string{"/session", "/settings/keys", "/settings/principals", "/settings/environments", "/settings/webhooks", "/settings/audit"} {
		if a := p.ask(people["admin"].session, "GET", path, "").ok(); strings.Contains(string(a.body), "svc_") || strings.Contains(string(a.body), "whsec_") || strings.Contains(string(a.body), "/secret") {
			t.Errorf("%s has the text of a key: %s", path, a.body)
		}
	}
	trail := string(p.ask(people["admin"].session, "GET", "/settings/audit", "").ok().body)
	for _, want := range []string{"user added: Eve", "user key made: laptop", "public SDK key made: web", "user key revoked: laptop", "webhook added: siem", "webhook siem", "webhook has a new secret: siem", "webhook deleted: siem", fmt.Sprintf(`"by":"admin (%s)"`, people["admin"].id)} {
		if !strings.Contains(trail, want) {
			t.Errorf("the trail lacks %q:\n%s", want, trail)
		}
	}
}

// TestASignInEndsTheSessionBefore: one browser has one session. What signs nobody in ends none.
func TestASignInEndsTheSessionBefore(t *testing.T) {
	p := newPages(t)
	bob, _ := p.signIn("Bob", "admin")
	oneTime, ada, err := p.registry.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindOneTime, Name: "Ada", Roles: []string{"admin"}, Expires: access.OneTimeFor})
	must.Do(t, err)
	body := fmt.Sprintf(`{"oneTimeKey": %q}`, oneTime.Reveal())
	alive := func(session string) bool { return p.ask(session, "GET", "/session", "").ok().at("/principal") != nil }
	if a := p.ask(bob, "POST", "/session", `{"oneTimeKey": "svc_ot_"}`); a.status != 401 || !alive(bob) {
		t.Errorf("%d %s ends a session", a.status, a.body)
	}
	forged := bob[:len(bob)-8] + "00000000"
	elsewhere := must.Get(access.NewKey(rand.Reader, access.KindSession, "0000000000000000", ada.ID))(t).Reveal()
	for _, before := range []string{forged, elsewhere, "svc", ""} {
		one, _, err := p.registry.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindOneTime, Name: "Ada", Principal: ada.ID, Expires: access.OneTimeFor})
		must.Do(t, err)
		if p.ask(before, "POST", "/session", fmt.Sprintf(`{"oneTimeKey": %q}`, one.Reveal())).ok(); !alive(bob) {
			t.Errorf("%q ends the session of another browser", before)
		}
	}
	p.ask(bob, "POST", "/session", body).ok()
	if alive(bob) {
		t.Error("the session before is alive")
	}
	session := must.Get(access.ParseKey(bob))(t)
	admin, _ := p.signIn("Hedy", "admin")
	trail := string(p.ask(admin, "GET", "/settings/audit", "").ok().body)
	if !strings.Contains(trail, fmt.Sprintf("signed out, who had signed in by one-time address (%s)", session.ID())) {
		t.Errorf("the trail does not tell that Bob is signed out:\n%s", trail)
	}
}

// TestWhatNobodyKnowsIsRefused in a body, by each of the page's own routes.
func TestWhatNobodyKnowsIsRefused(t *testing.T) {
	p := newPages(t)
	session, _ := p.signIn("Ada", "admin")
	for _, e := range httpapi.PageEndpoints() {
		path := strings.NewReplacer(httpapi.ConsolePath, "", "{id}", "0000000000000000", "{name}", "production").Replace(e.Path)
		if e.Method == "GET" {
			continue
		}
		if a := p.ask(session, e.Method, path, `{"unknown": 1}`); a.status != 400 || !strings.Contains(string(a.body), "unknown field") && !strings.Contains(string(a.body), "takes no body") {
			t.Errorf("%s %s: %d %s", e.Method, path, a.status, a.body)
		}
	}
}

// What any other page, and any program, may send does nothing, whatever cookie comes with it.
func TestThePageAloneAsksWithASession(t *testing.T) {
	p := newPages(t)
	session, _ := p.signIn("Ada", "admin", "engineer")
	key := p.newKey(access.KindUser, "protected_engineer")
	for name, c := range map[string]struct {
		session string
		headers []string
		want    int
	}{
		"the page":                               {session, nil, 200},
		"the page, in a browser that tells less": {session, []string{"Sec-Fetch-Site: ", "Origin: https://svc.test"}, 200},
		"no header of the page":                  {session, []string{httpapi.PageHeader + ": "}, 403},
		"another site":                           {session, []string{"Sec-Fetch-Site: cross-site"}, 403},
		"another host of the site":               {session, []string{"Sec-Fetch-Site: same-site"}, 403},
		"an address that somebody typed":         {session, []string{"Sec-Fetch-Site: none"}, 403},
		"another site, with our Origin":          {session, []string{"Sec-Fetch-Site: cross-site", "Origin: https://svc.test"}, 403},
		"another Origin":                         {session, []string{"Sec-Fetch-Site: ", "Origin: https://evil.test"}, 403},
		"an Origin that begins like ours":        {session, []string{"Sec-Fetch-Site: ", "Origin: https://svc.test.evil.test"}, 403},
		"the same host without TLS":              {session, []string{"Sec-Fetch-Site: ", "Origin: http://svc.test"}, 403},
		"neither":                                {session, []string{"Sec-Fetch-Site: "}, 403},
		"nobody":                                 {"", nil, 401},
		"a key in the cookie":                    {key, nil, 401},
		"a session as a key":                     {"", []string{"Authorization: Bearer " + session}, 401},
		"a key beside no session":                {"", []string{"Authorization: Bearer " + key}, 401},
	} {
		if a := p.ask(c.session, "GET", "/session", "", c.headers...); c.want != 403 && (a.status != 200 || (a.at("/principal") != nil) != (c.want == 200)) || c.want == 403 && a.status != 403 {
			t.Errorf("%s: GET /session: %d: %s", name, a.status, a.body)
		}
		for _, path := range []string{"/settings/keys", "/v1/flags"} {
			if a := p.ask(c.session, "GET", path, "", c.headers...); a.status != c.want {
				t.Errorf("%s: GET %s: %d: %.200s", name, path, a.status, a.body)
			}
		}
		if a := p.ask(c.session, "POST", "/settings/keys", `{"kind": "user", "name": "evil"}`, c.headers...); (a.status < 300) != (c.want == 200) {
			t.Errorf("%s makes a key: %d: %s", name, a.status, a.body)
		}
	}
	// The REST API reads no cookie, and takes no session.
	for _, headers := range [][]string{
		{"-", "Cookie: " + httpapi.SessionCookie + "=" + session},
		{"-", "Cookie: " + httpapi.SessionCookie + "=" + session, "Sec-Fetch-Site: same-origin", httpapi.PageHeader + ": 1"},
		{"Authorization: Bearer " + session},
	} {
		if a := p.get("/flags", headers...); a.status != 401 {
			t.Errorf("/v1 with %.40q: %d", headers, a.status)
		}
	}
	if a := p.do("GET", "/settings/keys", ""); a.status != 404 {
		t.Errorf("settings below /v1: %d", a.status)
	}
}
