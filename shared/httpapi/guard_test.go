package httpapi_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
)

// TestAGuardTakesBackWhatOthersApproved, and nobody else does without them.
func TestAGuardTakesBackWhatOthersApproved(t *testing.T) {
	w := reviewing(t, `{"production": {"approvals": 1}}`)
	ada, grace, bot := w.newKey(access.KindUser, "engineer"), w.newKey(access.KindUser, "engineer"), w.newKey(access.KindServiceAccount, "engineer")
	named := w.as(bot, "GET", "/whoami", "").ok().text("/principal/id")
	w.as(ada, "PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true, "guard": "`+named+`"}`).ok()
	proposed := w.propose(ada, darkInProd)
	w.approve(grace, proposed).ok()
	commit := w.as(ada, "POST", proposed+"/apply?guard="+named, "").ok().text("/commitSha")
	for _, list := range []string{"/flags/checkout.redesign/history", "/activity"} {
		if told := string(w.get(list).ok().body); strings.Count(told, `"guard":"`+named+`"`) != 2 || strings.Contains(told, "Svc-") {
			t.Errorf("%s says %s", list, told)
		}
	}
	undo := fmt.Sprintf(`{"message": "error rate 0.2", "operations": [{"op": "revert", "commitSha": %q, "mode": "undo"}]}`, commit)
	w.want(w.as(ada, "POST", "/changes", undo), required)
	w.want(w.as(w.newKey(access.KindServiceAccount, "engineer"), "POST", "/changes", undo), required)
	dry := w.as(bot, "POST", "/changes?dryRun=true", undo).ok()
	done := w.as(bot, "POST", "/changes", undo).ok()
	if dry.at("/reviewRequired") != nil || done.at("/changed") != true {
		t.Errorf("%s, then %s", dry.body, done.body)
	}
	for _, at := range []string{"/activity", "/activity?type=feature_flag&key=checkout.redesign"} {
		if told := w.get(at).ok(); told.text("/activity/0/undoes/0") != commit || told.at("/activity/1/undoes") != nil {
			t.Errorf("%s says %s", at, told.body)
		}
	}
	if again := w.as(bot, "POST", "/changes", undo).ok(); again.at("/changed") != false {
		t.Errorf("again: %s", again.body)
	}
}

// TestAnUndoNamesWhatItTakesBack in the history and the activity, of commits without a guard
// too; what is undone already is named by nothing.
func TestAnUndoNamesWhatItTakesBack(t *testing.T) {
	w := newWorld(t, shop())
	on := func(environment string) string {
		return w.do("PATCH", "/flags/checkout.redesign/environments/"+environment, `{"enabled": true, "replaceTargeting": true}`).ok().text("/commitSha")
	}
	lone, whole := on("staging"), on("development")
	w.do("POST", "/flags/checkout.redesign/revert", `{"mode": "undo", "commitSha": "`+lone[:12]+`"}`).ok()
	w.do("POST", "/changes", `{"operations": [{"op": "revert", "mode": "undo", "commitSha": "`+whole+`"}]}`).ok()
	w.do("POST", "/flags/checkout.redesign/revert", `{"mode": "restore", "commitSha": "`+lone+`"}`).ok()
	for _, list := range []string{"/flags/checkout.redesign/history", "/activity?type=feature_flag&key=checkout.redesign", "/activity"} {
		field := strings.Split(strings.TrimPrefix(list[strings.LastIndex(list, "/"):], "/"), "?")[0]
		a := w.get(list).ok()
		for i, want := range []string{"", whole, lone, "", ""} {
			if got, _ := a.at(fmt.Sprintf("/%s/%d/undoes/0", field, i)).(string); got != want {
				t.Errorf("%s: the entry %d takes back %q, want %q: %s", list, i, got, want, a.body)
			}
		}
	}
}

func TestWhereGuardsAreNamed(t *testing.T) {
	w := newWorld(t, shop())
	for _, test := range []struct{ method, path, body, issue string }{
		{"PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true, "guard": 1}`, "/guard"},
		{"PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true, "guard": ""}`, "/guard"},
		{"PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true, "guard": "a\nb"}`, "/guard"},
		{"POST", "/flags/checkout.redesign/environments/staging/pause", `{"guard": "a"}`, "/guard"},
		{"DELETE", "/flags/checkout.redesign?guard=a%0Ab", "", "?guard"},
		{"PUT", "/schemas/new/document", `{"document": {}, "guard": 1}`, "/guard"},
		{"POST", "/changes", `{"guard": "a ", "operations": [{"op": "fold"}]}`, "/guard"},
		{"POST", "/changes", `{"operations": [{"op": "patch", "type": "feature_flag", "key": "checkout.redesign", "environment": "staging", "body": {"enabled": true, "guard": "a"}}]}`, "/operations/0/body/guard"},
		{"POST", "/changes", `{"operations": [{"op": "create", "type": "feature_flag", "body": {"key": "x", "guard": "a"}}]}`, "/operations/0/body/guard"},
	} {
		a := w.do(test.method, test.path, test.body)
		if got := a.refused(); got != "400 BAD_REQUEST" || a.text("/details/issues/0/path") != test.issue {
			t.Errorf("%s %s: %s %s", test.path, test.body, got, a.body)
		}
	}
}

// TestAGuardIsNamedInAnyWrite of the one item, and takes it back.
func TestAGuardIsNamedInAnyWrite(t *testing.T) {
	const schema = `{"document": {"type": "object"}, "guard": "watch"}`
	for name, test := range map[string]struct{ method, path, body, item, was string }{
		"a flag is deleted":    {"DELETE", "/flags/colour?guard=watch", "", "/flags/colour", "200"},
		"a config is deleted":  {"DELETE", "/configs/checkout.timeout?guard=watch", "", "/configs/checkout.timeout", "200"},
		"a segment is deleted": {"DELETE", "/segments/beta-users?guard=watch", "", "/segments/beta-users", "200"},
		"a level is deleted":   {"DELETE", "/log-levels/log-level.cart?guard=watch", "", "/log-levels/log-level.cart/document", "200"},
		"a schema is replaced": {"PUT", "/schemas/limits/document", "", "/schemas/limits/document", "200"},
		"a schema is deleted":  {"DELETE", "/schemas/unused?guard=watch", "", "/schemas/unused/document", "200"},
		"a schema is created":  {"PUT", "/schemas/new/document", schema, "/schemas/new/document", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop())
			key, _ := w.guardian("engineer", "protected_engineer")
			w.do("PUT", "/schemas/unused/document", `{"document": {"type": "object"}}`).ok()
			body := test.body
			if strings.HasSuffix(name, "replaced") {
				body = fmt.Sprintf(`{"document": {"type": "object"}, "guard": "watch", "expectedCommitSha": %q}`, w.get(test.item).ok().text("/commitSha"))
			}
			before := w.get(test.item).at("/document")
			commit := w.do(test.method, test.path, body).ok().text("/commitSha")
			w.clock = w.clock.Add(time.Second)
			if a := w.alerts(key, "firing", w.clock).ok(); a.text("/undoes") != commit || a.at("/changed") != true {
				t.Fatalf("%s", a.body)
			}
			if a := w.get(test.item); fmt.Sprint(a.status) != test.was || !reflect.DeepEqual(a.at("/document"), before) {
				t.Errorf("%d %s, before %v", a.status, a.body, before)
			}
		})
	}
}
