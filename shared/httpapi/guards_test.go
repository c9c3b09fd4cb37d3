package httpapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// guardian is a guard key of a service account, and that account.
func (w *world) guardian(roles ...string) (key string, of access.Principal) {
	w.t.Helper()
	made, of, err := w.ledger.Registry().IssueKey(context.Background(), access.KeyRequest{Kind: access.KindGuard, Name: "watch", Roles: roles, Topic: "arn:aws:sns:eu-west-1:123456789012:alarms"})
	must.Do(w.t, err)
	return made.Reveal(), of
}

// alerts tells of an alert that began at a time.
func (w *world) alerts(key, status string, began time.Time) *reply {
	w.t.Helper()
	return w.as(key, "POST", "/guards/alertmanager", fmt.Sprintf(`{"version": "4", "receiver": "svc", "alerts": [{"status": %q, "labels": {"alertname": "ErrorRate"}, "annotations": {"summary": "5 %% fail"}, "startsAt": %q}]}`, status, began.Format(time.RFC3339)))
}

func TestAnAlertTakesBackWhatNamedItsGuard(t *testing.T) {
	on := func(w *world, environment, guard string) string {
		return w.do("PATCH", "/flags/checkout.redesign/environments/"+environment, `{"enabled": true, "replaceTargeting": true`+guard+`}`).ok().text("/commitSha")
	}
	off := func(w *world) {
		w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": false}`).ok()
	}
	const named = `, "guard": "watch"`
	for name, test := range map[string]struct {
		before func(w *world, key string)
		guard  string
		roles  string
		after  func(w *world, key string)
		status string
		began  time.Duration // after the commit
		late   time.Duration // when it is told, after it began
		want   string
	}{
		"fires":                   {guard: named, want: "is taken back"},
		"of another guard":        {guard: `, "guard": "other"`, want: "nothing is taken back"},
		"of no guard":             {want: "nothing is taken back"},
		"resolved":                {guard: named, status: "resolved", want: "nothing is taken back"},
		"began before the commit": {guard: named, began: -2 * time.Minute, want: "nothing is taken back"},
		"an hour late":            {guard: named, late: time.Hour, want: "is taken back"},
		"a day late":              {guard: named, late: 24 * time.Hour, want: "nothing is taken back"},
		"a day after the commit":  {guard: named, began: 25 * time.Hour, want: "nothing is taken back"},
		"fires twice":             {guard: named, after: func(w *world, key string) { w.alerts(key, "firing", w.clock).ok() }, want: "was taken back already"},
		"undone by somebody": {guard: named, after: func(w *world, _ string) {
			w.do("POST", "/flags/checkout.redesign/revert", `{"mode": "undo", "commitSha": "`+w.lastCommit()+`"}`).ok()
		}, want: "was taken back already"},
		"changed again": {guard: named, after: func(w *world, _ string) { off(w) }, want: "409 CONFLICT OVERLAP"},
		"an earlier commit stands": {before: func(w *world, _ string) {
			w.do("PATCH", "/flags/colour/environments/staging", `{"value": "red"`+named+`}`).ok()
		}, guard: named, after: func(w *world, key string) { w.alerts(key, "firing", w.clock).ok() }, want: "was taken back already"},
		"may not edit": {guard: named, roles: "member", want: "403 FORBIDDEN PERMISSION_DENIED"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop())
			role := "engineer"
			if test.roles != "" {
				role = test.roles
			}
			key, _ := w.guardian(role)
			if test.before != nil {
				test.before(w, key)
			}
			commit := on(w, "staging", test.guard)
			if w.clock = w.clock.Add(time.Second); test.after != nil {
				test.after(w, key)
			}
			began, status := w.clock.Add(test.began), "firing"
			if test.status != "" {
				status = test.status
			}
			w.clock = w.clock.Add(max(0, test.began) + test.late)
			before := w.commits()
			a := w.alerts(key, status, began)
			if got := a.text("/message"); strings.HasPrefix(test.want, "4") {
				w.want(a, test.want)
			} else if a.ok(); !strings.Contains(got, test.want) || a.at("/changed") != (test.want == "is taken back") {
				t.Errorf("%s, want %s", a.body, test.want)
			}
			if landed := w.commits() - before; landed > 0 != (test.want == "is taken back") {
				t.Errorf("%d commits", landed)
			}
			if test.want == "is taken back" {
				told := string(w.get("/flags/checkout.redesign/history").ok().body)
				for _, words := range []string{"Taken back by a guard: Alertmanager says that ErrorRate fires", "It does so since " + began.Format(time.RFC3339), "5 % fail", `"authorName":"watch"`} {
					if !strings.Contains(told, words) {
						t.Errorf("the history lacks %q: %s", words, told)
					}
				}
				if a.text("/undoes") != commit || a.text("/commitSha") == "" {
					t.Errorf("%s", a.body)
				}
			}
			held, log := strings.Join(w.held(), "; "), w.log.String()
			if wrong := strings.HasPrefix(test.want, "4"); wrong != strings.Contains(held, "a guard could not take a change back: "+commit) || wrong != strings.Contains(log, "a guard could not take a change back") {
				t.Errorf("the audit trail says %q, the log %s", held, log)
			}
		})
	}
}

// TestWhatAGuardCannotTakeBackIsToldOnce for a commit and an alert: Alertmanager tells of
// one that fires again and again.
func TestWhatAGuardCannotTakeBackIsToldOnce(t *testing.T) {
	w := newWorld(t, shop())
	key, of := w.guardian("engineer")
	change := func() (commit string) {
		commit = w.do("PATCH", "/flags/colour/environments/staging", `{"value": "red", "guard": "watch"}`).ok().text("/commitSha")
		w.do("PATCH", "/flags/colour/environments/staging", `{"value": "blue"}`).ok()
		w.clock = w.clock.Add(time.Second)
		return commit
	}
	told := func(want ...string) {
		t.Helper()
		if got := w.held(); len(got) != len(want) {
			t.Errorf("the audit trail tells %q", got)
		} else {
			for i, part := range want {
				if !strings.Contains(got[i], part) {
					t.Errorf("the audit trail tells %q, without %q", got[i], part)
				}
			}
		}
	}
	first := change()
	for range 3 {
		w.want(w.alerts(key, "firing", w.clock), "409 CONFLICT OVERLAP")
		w.clock = w.clock.Add(10 * time.Second)
	}
	told("back: " + first + ", Alertmanager says that ErrorRate fires, ")
	w.want(w.as(key, "POST", "/guards/alertmanager", fmt.Sprintf(`{"version": "4", "alerts": [{"status": "firing", "labels": {"alertname": "Latency"}, "startsAt": %q}]}`, w.clock.Format(time.RFC3339))), "409 CONFLICT OVERLAP")
	second := change()
	must.Do(t, w.ledger.Registry().SetRoles(context.Background(), of.ID, []string{"member"}))
	for range 2 {
		w.want(w.alerts(key, "firing", w.clock), "403 FORBIDDEN PERMISSION_DENIED")
	}
	told(first, "Latency", second)
}

// held is what the audit trail tells of guards.
func (w *world) held() (words []string) {
	for _, e := range must.Get(w.ledger.Registry().Audit(context.Background(), 0))(w.t) {
		for _, c := range e.Changes {
			if c.Action == access.GuardHeldUp {
				words = append(words, c.Words())
			}
		}
	}
	return words
}

func (w *world) lastCommit() string {
	w.t.Helper()
	return must.Get(w.ledger.Head(context.Background()))(w.t).Commit
}

// TestKeysOfGuards take back, and do nothing else; and other keys do not take back.
func TestKeysOfGuards(t *testing.T) {
	w := newWorld(t, shop())
	key, _ := w.guardian("engineer")
	const none = `{"version": "4", "alerts": []}`
	w.as(key, "POST", "/guards/alertmanager", none).ok()
	w.do("POST", "/guards/alertmanager", none, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("svc:"+key))).ok()
	for _, path := range []string{"/guards/alertmanager", "/guards/sns"} {
		for _, header := range []string{"Authorization: Bearer " + w.key, "Authorization: Bearer " + w.newKey(access.KindServiceAccount, "engineer"), "Authorization: Bearer " + key[:len(key)-1] + "x", "Authorization: Basic x", "-"} {
			a := w.do("POST", path, none, header)
			if got := a.refused(); got != "401 UNAUTHORIZED" || a.header.Get("WWW-Authenticate") != `Basic realm="svc"` {
				t.Errorf("%s with %s: %s, %v", path, header, got, a.header)
			}
		}
	}
	w.want(w.as(key, "GET", "/flags", ""), "401 UNAUTHORIZED")
	w.want(w.as(key, "PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true}`), "401 UNAUTHORIZED")
	w.want(w.as(key, "POST", "/guards/alertmanager", `{"version": "3"}`), "400 BAD_REQUEST")
	w.want(w.as(key, "POST", "/guards/alertmanager", `x`), "400 BAD_REQUEST")
	w.want(w.as(key, "POST", "/guards/sns", none), "403 FORBIDDEN")
	if !strings.Contains(w.log.String(), "a message of SNS was refused") {
		t.Errorf("the log says %s", w.log)
	}
}
