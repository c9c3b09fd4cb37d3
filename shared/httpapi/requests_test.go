package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/must"
)

const (
	reviewed   = `{"environments": [{"name": "production", "protected": true}, "staging", {"name": "old", "archived": true}], "review": {"production": {"approvals": 1}}}`
	darkInProd = `[{"op": "patch", "type": "feature_flag", "key": "checkout.redesign", "environment": "production", "body": {"enabled": true}}]`
)

// reviewing is a shop whose production is reviewed.
func reviewing(t *testing.T, review string) *world {
	files := shop()
	files["svc.json"] = strings.Replace(reviewed, `{"production": {"approvals": 1}}`, review, 1)
	return newWorld(t, files)
}

// as sends a request under a key.
func (w *world) as(key, method, path, body string, headers ...string) *reply {
	w.t.Helper()
	return w.do(method, path, body, append(headers, "Authorization: Bearer "+key)...)
}

// propose makes a change request and returns its path.
func (w *world) propose(key, operations string) string {
	w.t.Helper()
	return "/change-requests/" + w.as(key, "POST", "/change-requests", `{"title": "Redesign", "description": "The new one converts better.", "operations": `+operations+`}`).ok().text("/id")
}

// digestOf is what an approval is for now.
func (w *world) digestOf(path string) string { return w.get(path).ok().text("/preview/digest") }

func (w *world) approve(key, path string) *reply {
	w.t.Helper()
	return w.as(key, "POST", path+"/approvals", fmt.Sprintf(`{"digest": %q}`, w.digestOf(path)))
}

func (w *world) want(a *reply, refused string) {
	w.t.Helper()
	if got := a.refused(); got != refused {
		w.t.Fatalf("%s, want %s: %s", got, refused, a.body)
	}
}

const required = "403 FORBIDDEN REVIEW_REQUIRED"

func TestAChangeThatOthersApprove(t *testing.T) {
	w := reviewing(t, `{"production": {"approvals": 1}}`)
	ada, grace := w.newKey(access.KindUser, "engineer"), w.newKey(access.KindUser, "engineer")
	w.want(w.as(ada, "PATCH", "/flags/checkout.redesign/environments/production", `{"enabled": true}`), required)
	dry := w.as(ada, "PATCH", "/flags/checkout.redesign/environments/production?dryRun=true&impact=true", `{"enabled": true}`).ok()
	if got := fmt.Sprint(dry.at("/reviewRequired")); got != "[production]" {
		t.Errorf("the dry run says %s", got)
	}
	shown := w.as(ada, "POST", "/change-requests?dryRun=true&impact=true", `{"title": "Redesign", "operations": `+darkInProd+`}`).ok()
	if shown.at("/preview/impact/production") == nil || len(w.get("/change-requests").ok().at("/changeRequests").([]any)) != 0 {
		t.Errorf("a dry run told %s", shown.body)
	}
	path := w.propose(ada, darkInProd)
	if told := w.as(grace, "GET", path, "").ok(); told.text("/preview/results/0/before/key") != "checkout.redesign" || told.text("/preview/results/0/after/environments/0/id") != "production" {
		t.Errorf("whoever approves it sees %s", told.body)
	}
	w.want(w.as(ada, "POST", path+"/apply", ""), required)
	w.want(w.approve(ada, path), "403 FORBIDDEN OWN_REQUEST")
	w.want(w.as(grace, "POST", path+"/approvals", `{"digest": "x"}`), "409 CONFLICT DIGEST_CHANGED")
	w.want(w.approve(w.newKey(access.KindServiceAccount, "engineer"), path), "403 FORBIDDEN PERMISSION_DENIED")
	w.want(w.approve(w.newKey(access.KindUser, "support"), path), "403 FORBIDDEN PERMISSION_DENIED")
	w.approve(grace, path).ok()
	w.approve(grace, path).ok() // once more is the same
	detail := w.get(path + "?impact=true").ok()
	if fmt.Sprint(detail.at("/preview/approved"), detail.at("/preview/requirements/0/given"), detail.at("/approvals/0/counts"), len(detail.at("/approvals").([]any))) != "true 1 true 1" {
		t.Fatalf("%s", detail.body)
	}
	w.want(w.as(w.newKey(access.KindUser, "support"), "POST", path+"/apply", ""), "403 FORBIDDEN PERMISSION_DENIED")
	applied := w.as(ada, "POST", path+"/apply", "").ok()
	commit := applied.text("/commitSha")
	if applied.text("/state") != "applied" || commit == "" || applied.text("/endedBy/name") != "Grace" {
		t.Fatalf("%s", applied.body)
	}
	head := must.Get(w.ledger.Head(context.Background()))(t)
	last := must.Get(w.repo.History(context.Background(), head, repository.Page{Limit: 1}))(t)[0]
	for _, line := range []string{"Redesign\n", "\nSvc-Request: 1\n", "\nSvc-Requested-By: Grace <grace@example.com>\n", "\nSvc-Approved-By: Grace <grace@example.com>\n"} {
		if last.SHA != commit || !strings.Contains(last.Message, line) {
			t.Errorf("the commit %s lacks %q: %s", last.SHA, line, last.Message)
		}
	}
	if history := w.get("/flags/checkout.redesign/history").ok(); strings.Contains(string(history.body), "Svc-") || !strings.Contains(string(history.body), "enabled") {
		t.Errorf("the history says %s", history.body)
	}
	again := w.as(grace, "POST", path+"/apply", "").ok()
	if again.text("/commitSha") != commit || must.Get(w.ledger.Head(context.Background()))(t).Commit != commit {
		t.Errorf("applied again: %s", again.body)
	}
	w.want(w.as(grace, "DELETE", path+"/approvals", ""), "409 CONFLICT NOT_OPEN")
	w.want(w.as(ada, "PATCH", path, `{"title": "x"}`), "409 CONFLICT NOT_OPEN")
	w.want(w.as(ada, "POST", path+"/close", ""), "409 CONFLICT NOT_OPEN")
	told := w.get("/activity").ok()
	for pointer, want := range map[string]string{"message": "Redesign\n\nThe new one converts better.", "changeRequest/id": "1", "changeRequest/author": "Grace", "changeRequest/approvedBy/0": "Grace"} {
		if got := told.text("/activity/0/" + pointer); got != want {
			t.Errorf("the activity says of its %s %q", pointer, got)
		}
	}
	if got := w.get("/flags/checkout.redesign/history").ok().text("/history/0/changeRequest/id"); got != "1" {
		t.Errorf("the history names the request %q", got)
	}
	if words := w.trail(); !slices.Equal(words, []string{"change request proposed: #1 Redesign", "change request approved: #1 Redesign", "change request applied: #1 Redesign"}) {
		t.Errorf("the audit trail says %q", words)
	}
	// What it did is taken back by a request that begins with the inverse.
	w.want(w.as(ada, "POST", "/flags/checkout.redesign/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, commit)), required)
	back := w.propose(ada, fmt.Sprintf(`[{"op": "revert", "commitSha": %q, "mode": "undo"}]`, commit))
	w.approve(grace, back).ok()
	w.as(ada, "POST", back+"/apply", "").ok()
	if text := w.get("/flags/checkout.redesign/document").ok(); !strings.Contains(string(text.body), `"beta"`) {
		t.Errorf("%s", text.body)
	}
}

// trail is what the audit trail says of requests and reviews.
func (w *world) trail() []string {
	w.t.Helper()
	var words []string
	for _, e := range must.Get(w.ledger.Registry().Audit(context.Background(), 0))(w.t) {
		for _, c := range e.Changes {
			if strings.HasPrefix(string(c.Action), "re") {
				words = append(words, c.Words())
			}
		}
	}
	return words
}

func TestAnApprovalIsForADigest(t *testing.T) {
	segment := strings.Replace(redesign, `"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["beta"]}`, `"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta-users"}`, 1)
	for name, test := range map[string]struct {
		meanwhile func(w *world, author, path string)
		why       string
	}{
		"its operations change": {func(w *world, author, path string) {
			w.as(author, "PATCH", path, `{"operations": `+strings.Replace(darkInProd, "true", `false, "replaceTargeting": true`, 1)+`}`).ok()
		}, "the flag \"checkout.redesign\", its operations changed"},
		"what it touches changes": {func(w *world, _, _ string) {
			w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true}`).ok()
		}, "the flag \"checkout.redesign\" changed"},
		"a segment that it reaches changes": {func(w *world, _, _ string) {
			w.push(map[string]string{"segments/beta-users.json": strings.Replace(beta, `["beta"]`, `["beta", "gamma"]`, 1)})
		}, "the segment \"beta-users\" changed"},
		"others have to review": {func(w *world, _, _ string) {
			w.push(map[string]string{"svc.json": strings.Replace(reviewed, `"approvals": 1`, `"approvals": 1, "roles": ["engineer"]`, 1)})
		}, "what has to be reviewed changed"},
		"who gave it lost the role": {func(w *world, _, _ string) { w.roles("support") }, "needs the permission config.edit.standard"},
		"who gave it is disabled": {func(w *world, _, _ string) {
			must.Do(w.t, w.ledger.Registry().SetDisabled(context.Background(), w.lastPrincipal(), true))
		}, "no longer here"},
		"its description changes": {func(w *world, author, path string) {
			w.as(author, "PATCH", path, `{"title": "Another", "description": "Why not?"}`).ok()
		}, ""},
		"another item changes": {func(w *world, _, _ string) {
			w.do("PATCH", "/flags/colour/environments/staging", `{"value": "red"}`).ok()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := reviewing(t, `{"production": {"approvals": 1}}`)
			w.push(map[string]string{"feature-flags/checkout.redesign.json": segment})
			ada, grace := w.newKey(access.KindUser, "engineer"), w.newKey(access.KindUser, "engineer")
			path := w.propose(ada, darkInProd)
			w.approve(grace, path).ok()
			test.meanwhile(w, ada, path)
			detail := w.get(path).ok()
			if got := detail.text("/approvals/0/why"); !strings.Contains(got, test.why) || (got == "") != (test.why == "") {
				t.Errorf("it does not count because %q, want %q", got, test.why)
			}
			applied := w.as(ada, "POST", path+"/apply", "")
			if test.why == "" {
				applied.ok()
				return
			}
			w.want(applied, required)
		})
	}
}

// TestAnApprovalOutlivesTheMoment: what begins when it is applied is the same a while later.
func TestAnApprovalOutlivesTheMoment(t *testing.T) {
	w := reviewing(t, `{"production": {"approvals": 1}}`)
	ada, grace := w.newKey(access.KindUser, "engineer"), w.newKey(access.KindUser, "engineer")
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, plan := range []string{`{"value": true, "from": false, "steps": [{"percent": 5}, {"at": "` + later + `", "percent": 50}]}`, `{"do": "hold"}`, `{"do": "resume"}`} {
		path := w.propose(ada, `[{"op": "patch", "type": "feature_flag", "key": "checkout.redesign", "environment": "production", "body": {"rolloutPlan": `+plan+`}}]`)
		w.approve(grace, path).ok()
		w.clock = w.clock.Add(90 * time.Second)
		if a := w.as(ada, "POST", path+"/apply", ""); a.status != 200 {
			t.Errorf("%s: %s", plan, a.body)
			break
		}
	}
}

// push writes files past the API and the review.
func (w *world) push(files map[string]string) {
	w.t.Helper()
	head := must.Get(w.ledger.Head(context.Background()))(w.t)
	base := must.Get(w.repo.Snapshot(context.Background(), head))(w.t)
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: w.clock}
	draft := repository.Draft{Author: by, Committer: by, Message: "pushed", Approved: true}
	for path, text := range files {
		draft.Changes = append(draft.Changes, repository.Change{Path: path, Content: []byte(text)})
	}
	must.Get(w.repo.Commit(context.Background(), base, draft))(w.t)
}

func (w *world) lastPrincipal() access.ID {
	all := must.Get(w.ledger.Registry().Principals(context.Background()))(w.t)
	return all[len(all)-1].ID
}

// roles gives the principal that was added last other roles.
func (w *world) roles(roles ...string) {
	must.Do(w.t, w.ledger.Registry().SetRoles(context.Background(), w.lastPrincipal(), roles))
}

func TestWhoApproves(t *testing.T) {
	for name, test := range map[string]struct {
		review    string
		approvers []string // their roles; "author" is who has proposed
		want      string   // what the last one is answered
		applies   string
	}{
		"one of two":               {`{"production": {"approvals": 2}}`, []string{"engineer"}, "OK", required},
		"two":                      {`{"production": {"approvals": 2}}`, []string{"engineer", "protected_engineer"}, "OK", "OK"},
		"a role that is asked for": {`{"production": {"roles": ["protected_engineer"]}}`, []string{"protected_engineer"}, "OK", "OK"},
		"without the role":         {`{"production": {"roles": ["protected_engineer"]}}`, []string{"engineer"}, "403 FORBIDDEN PERMISSION_DENIED", required},
		"the author may":           {`{"production": {"authorMayApprove": true}}`, []string{"author"}, "OK", "OK"},
		"the author counts once":   {`{"production": {"approvals": 2, "authorMayApprove": true}}`, []string{"author", "author"}, "OK", required},
		"nobody in particular":     {`{"staging": {}}`, nil, "", "OK"},
		"a member":                 {`{"production": {}}`, []string{"member"}, "403 FORBIDDEN PERMISSION_DENIED", required},
		"an admin":                 {`{"production": {}}`, []string{"admin"}, "403 FORBIDDEN PERMISSION_DENIED", required},
	} {
		t.Run(name, func(t *testing.T) {
			w := reviewing(t, test.review)
			author := w.newKey(access.KindUser, "engineer")
			path := w.propose(author, darkInProd)
			for i, role := range test.approvers {
				key := author
				if role != "author" {
					key = w.newKey(access.KindUser, role)
				}
				if a := w.approve(key, path); i == len(test.approvers)-1 {
					w.want(a, test.want)
				}
			}
			w.want(w.as(author, "POST", path+"/apply", ""), test.applies)
		})
	}
}

func TestWithoutApprovals(t *testing.T) {
	w := reviewing(t, `{"production": {}}`)
	bypass := w.newKey(access.KindUser, "engineer", "review_bypass")
	w.as(bypass, "PATCH", "/flags/checkout.redesign/environments/production", `{"enabled": true}`).ok()
	w.want(w.as(w.newKey(access.KindUser, "review_bypass"), "PATCH", "/flags/colour/environments/production", `{"value": "red"}`), "403 FORBIDDEN PERMISSION_DENIED")
	path := w.propose(w.newKey(access.KindUser, "engineer"), `[{"op": "patch", "type": "feature_flag", "key": "colour", "environment": "production", "body": {"value": "red"}}]`)
	w.as(bypass, "POST", path+"/apply", "").ok()
	if words := w.trail(); len(words) != 4 || words[0] != words[2] || !strings.HasSuffix(words[0], "in production") {
		t.Errorf("%q", words)
	}
	head := must.Get(w.ledger.Head(context.Background()))(t)
	for _, c := range must.Get(w.repo.History(context.Background(), head, repository.Page{Limit: 2}))(t) {
		if !strings.Contains(c.Message, "\nSvc-Review-Bypassed: production\n") {
			t.Errorf("%s", c.Message)
		}
	}
}

func TestRequestsThatAreWrong(t *testing.T) {
	w := reviewing(t, `{"production": {}}`)
	bad := w.do("POST", "/change-requests", `{"title": "a\nb", "expires": "yesterday", "operations": [{"op": "patch"}, {"op": "fly"}], "more": 1}`)
	w.want(bad, "400 BAD_REQUEST")
	for _, pointer := range []string{"/more", "/title", "/expires"} {
		if !strings.Contains(string(bad.body), `"`+pointer+`"`) {
			t.Errorf("%s is not told: %s", pointer, bad.body)
		}
	}
	bad = w.do("POST", "/change-requests", `{"title": "a", "operations": [{"op": "patch"}, {"op": "fly"}]}`)
	w.want(bad, "400 BAD_REQUEST")
	if !strings.Contains(string(bad.body), `"/operations/0/key"`) || !strings.Contains(string(bad.body), `"/operations/1/op"`) {
		t.Errorf("%s", bad.body)
	}
	w.want(w.do("POST", "/change-requests", `{}`), "400 BAD_REQUEST")
	w.want(w.do("POST", "/change-requests", `{"title": "a", "operations": []}`), "400 BAD_REQUEST")
	w.want(w.do("POST", "/change-requests", `{"title": "a", "operations": [{"op": "delete", "type": "config", "key": "nowhere"}]}`), "404 NOT_FOUND")
	w.want(w.do("POST", "/change-requests", `{"title": "a", "operations": [{"op": "delete", "type": "schema", "key": "limits"}]}`), "409 CONFLICT REFERENCED")
	for _, id := range []string{"1", "0", "01", "-1", "x", "99999999999"} {
		w.want(w.get("/change-requests/"+id), "404 NOT_FOUND")
	}
	w.want(w.get("/change-requests?state=other"), "400 BAD_REQUEST")
	w.want(w.get("/change-requests?type=config"), "400 BAD_REQUEST")
	w.want(w.get("/change-requests?cursor=abc&limit=0"), "400 BAD_REQUEST")
	path := w.propose(w.key, `[{"op": "delete", "type": "feature_flag", "key": "colour"}]`)
	w.want(w.as(w.newKey(access.KindUser, "engineer"), "PATCH", path, `{"title": "mine"}`), "403 FORBIDDEN PERMISSION_DENIED")
	w.want(w.as(w.newKey(access.KindUser, "member"), "POST", path+"/close", ""), "403 FORBIDDEN PERMISSION_DENIED")
	w.want(w.do("DELETE", path+"/approvals", ""), "404 NOT_FOUND")
	w.do("POST", path+"/comments", `{"text": "Why?"}`).ok()
	w.want(w.do("POST", path+"/comments", `{"text": " "}`), "400 BAD_REQUEST")
	// What it is about is deleted meanwhile.
	grace := w.newKey(access.KindUser, "engineer")
	w.approve(grace, path).ok()
	w.push(map[string]string{"feature-flags/colour.json": ""})
	w.remove("feature-flags/colour.json")
	detail := w.get(path).ok()
	if detail.at("/preview/digest") != nil || detail.text("/preview/conflict/error") != "NOT_FOUND" || detail.at("/preview/approved") != false || detail.text("/comments/0/text") != "Why?" {
		t.Errorf("%s", detail.body)
	}
	w.want(w.do("POST", path+"/apply", ""), "404 NOT_FOUND")
	w.want(w.as(grace, "POST", path+"/approvals", `{"digest": "x"}`), "404 NOT_FOUND")
	w.as(grace, "POST", path+"/close", "").ok()
	// One that expires.
	path = "/change-requests/" + w.do("POST", "/change-requests", `{"title": "a", "expires": "2026-03-02T10:00:00Z", "operations": `+darkInProd+`}`).ok().text("/id")
	w.approve(grace, path).ok()
	w.clock = w.clock.Add(time.Hour)
	w.want(w.do("POST", path+"/apply", ""), "409 CONFLICT NOT_OPEN")
	if got := w.get("/change-requests?state=expired").ok(); len(got.at("/changeRequests").([]any)) != 1 {
		t.Errorf("%s", got.body)
	}
	w.do("PATCH", path, `{"expires": ""}`).ok()
	w.do("POST", path+"/apply", "").ok()
}

// remove deletes a file past the API and the review.
func (w *world) remove(path string) {
	head := must.Get(w.ledger.Head(context.Background()))(w.t)
	base := must.Get(w.repo.Snapshot(context.Background(), head))(w.t)
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: w.clock}
	must.Get(w.repo.Commit(context.Background(), base, repository.Draft{Author: by, Committer: by, Message: "pushed", Approved: true, Changes: []repository.Change{{Path: path}}}))(w.t)
}

func TestListsOfRequests(t *testing.T) {
	w := reviewing(t, `{"production": {}}`)
	ada := w.newKey(access.KindUser, "engineer")
	var paths []string
	for range 5 {
		paths = append(paths, w.propose(ada, darkInProd))
	}
	other := w.propose(w.key, `[{"op": "delete", "type": "feature_flag", "key": "colour"}]`)
	w.do("POST", paths[3]+"/close", "").ok()
	ids := func(query string) string {
		t.Helper()
		var all []string
		for cursor := ""; ; {
			a := w.get("/change-requests?limit=2" + query + cursor).ok()
			for _, r := range a.at("/changeRequests").([]any) {
				all = append(all, r.(map[string]any)["id"].(string))
			}
			next := a.text("/nextCursor")
			if next == "" {
				return strings.Join(all, " ")
			}
			cursor = "&cursor=" + next
		}
	}
	for query, want := range map[string]string{
		"": "6 5 3 2 1 4", "&state=open": "6 5 3 2 1", "&state=closed": "4", "&state=applied": "", "&type=feature_flag&key=colour": "6", "&author=Grace": "6 5 3 2 1 4", "&author=nobody": "",
	} {
		if got := ids(query); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	if other != "/change-requests/6" {
		t.Error(other)
	}
	store := request.Store{Table: bolt.New(w.ledger.Database())}
	var events []string
	must.Do(t, store.Events(context.Background(), string(workspaceID), 4, func(e request.Event) (bool, error) {
		events = append(events, fmt.Sprintf("%d %s %d", e.Sequence, e.Kind, e.Number))
		return true, nil
	}))
	if got := strings.Join(events, ", "); got != "5 created 5, 6 created 6, 7 closed 4" {
		t.Errorf("events: %s", got)
	}
}

func TestWritesOfRequestsAreMadeOnceUnderTheirKey(t *testing.T) {
	w := reviewing(t, `{"production": {}}`)
	ada, grace := w.newKey(access.KindUser, "engineer"), w.newKey(access.KindUser, "engineer")
	create := `{"title": "a", "operations": ` + darkInProd + `}`
	last := ""
	for i, step := range []struct{ key, method, path, body string }{
		{ada, "POST", "/change-requests", create},
		{ada, "PATCH", "/change-requests/1", `{"title": "b"}`},
		{grace, "POST", "/change-requests/1/approvals", `{"digest": "@"}`},
		{grace, "DELETE", "/change-requests/1/approvals", ``},
		{grace, "POST", "/change-requests/1/comments", `{"text": "Hm."}`},
		{grace, "POST", "/change-requests/1/approvals", `{"digest": "@"}`},
		{ada, "POST", "/change-requests/1/apply", ``},
		{ada, "POST", "/change-requests", strings.Replace(create, "true", "false", 1)},
		{ada, "POST", "/change-requests/2/close", ``},
	} {
		if strings.Contains(step.body, "@") {
			last = w.digestOf("/change-requests/1")
		}
		send := func(body string) *reply {
			return w.as(step.key, step.method, step.path, strings.Replace(body, "@", last, 1), fmt.Sprint("Idempotency-Key: ", i))
		}
		first := send(step.body).ok()
		again := send(step.body).ok()
		if string(first.body) != string(again.body) || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s %s: %s\n%s", step.method, step.path, first.body, again.body)
		}
		if step.body != "" {
			w.want(send(step.body+" "), "422 UNPROCESSABLE_CONTENT IDEMPOTENCY_MISMATCH")
		}
	}
}

func TestAsManyRequestsAsThereMayBe(t *testing.T) {
	w := reviewing(t, `{"production": {}}`)
	body := `{"title": "a", "operations": ` + darkInProd + `}`
	for range 4 {
		key := w.newKey(access.KindUser, "member")
		for range 50 {
			w.as(key, "POST", "/change-requests", body).ok()
		}
		w.want(w.as(key, "POST", "/change-requests", body), "422 UNPROCESSABLE_CONTENT")
	}
	w.want(w.do("POST", "/change-requests", body), "422 UNPROCESSABLE_CONTENT")
	w.do("POST", "/change-requests/17/close", "").ok()
	w.do("POST", "/change-requests", body).ok()
	w.want(w.do("POST", "/change-requests", body), "422 UNPROCESSABLE_CONTENT")
}
