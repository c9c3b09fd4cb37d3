package httpapi_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func changeSet(operations ...string) string {
	return `{"operations":[` + strings.Join(operations, ",") + `]}`
}

func TestChangeSets(t *testing.T) {
	w := newWorld(t, shop())
	before := w.get("/activity?limit=1").ok().text("/activity/0/sha")
	body := `{"message":"Launch","operations":[` + strings.Join([]string{
		`{"op":"create","type":"config","body":{"key":"limit","valueType":"int","value":3}}`,
		`{"op":"patch","type":"config","key":"limit","environment":"staging","body":{"value":4}}`,
		`{"op":"create","type":"segment","body":{"key":"testers"}}`,
		`{"op":"create","type":"feature_flag","body":{"key":"launch"}}`,
		`{"op":"patch","type":"feature_flag","key":"launch","environment":"production","body":{"rollout":[{"value":true,"percent":25},{"value":false,"percent":75}]}}`,
		`{"op":"patch","type":"log_level","key":"shop","body":{"level":"WARN"}}`,
		`{"op":"put","type":"schema","key":"limits","document":{"maximum":9}}`,
		`{"op":"copy","from":"production","to":"staging","keys":["launch"]}`,
		`{"op":"delete","type":"segment","key":"testers","expectedCommitSha":"` + before + `"}`,
	}, ",") + `]}`
	dry := w.do("POST", "/changes?dryRun=true", body).ok()
	if dry.text("/commitSha") != before || dry.at("/dryRun") != true || dry.at("/changed") != true {
		t.Errorf("a dry run: %s", dry.body)
	}
	if dry.at("/results/0/before") != nil || dry.text("/results/0/after/key") != "limit" || dry.at("/results/4/before/environments/0") != nil ||
		dry.text("/results/4/after/environments/0/id") != "production" || dry.at("/results/8/before") == nil || dry.at("/results/8/after") != nil {
		t.Errorf("the documents of a dry run: %s", dry.body)
	}
	a := w.do("POST", "/changes", body).ok()
	if strings.Contains(string(a.body), `"after"`) {
		t.Errorf("what is written tells documents: %s", a.body)
	}
	if a.text("/previousCommitSha") != before || a.text("/results/5/key") != "log-level.shop" || a.text("/results/7/messages/0/scope") != "staging" || a.at("/results/8/changed") != true {
		t.Errorf("%s", a.body)
	}
	if history := w.get("/flags/launch/history").ok(); history.text("/history/0/sha") != a.text("/commitSha") || !strings.HasPrefix(history.text("/history/0/message"), "Launch\n\n") || history.at("/history/1") != nil {
		t.Errorf("the history: %s", history.body)
	}
	undo := w.do("POST", "/changes", changeSet(
		`{"op":"revert","type":"feature_flag","key":"launch","commitSha":"`+a.text("/commitSha")+`","mode":"undo"}`,
		`{"op":"revert","type":"config","key":"limit","commitSha":"`+a.text("/commitSha")[:8]+`","mode":"undo"}`)).ok()
	if w.get("/flags/launch").status != 404 || w.get("/configs/limit").status != 404 || undo.at("/changed") != true {
		t.Errorf("undone: %s", undo.body)
	}
}

func TestACommitIsTakenBackWhole(t *testing.T) {
	w := newWorld(t, shop())
	on := func(key, environment string) string {
		return `{"op":"patch","type":"feature_flag","key":"` + key + `","environment":"` + environment + `","body":{"enabled":true}}`
	}
	made := w.do("POST", "/changes", changeSet(`{"op":"create","type":"feature_flag","body":{"key":"a"}}`, `{"op":"create","type":"config","body":{"key":"b","valueType":"int","value":3}}`)).ok().text("/commitSha")
	switched := w.do("POST", "/changes", changeSet(on("a", "staging"), on("checkout.redesign", "staging"))).ok().text("/commitSha")
	undo := func(commit string) string {
		return changeSet(`{"op":"revert","commitSha":"` + commit + `","mode":"undo"}`)
	}
	on0 := w.get("/flags/a/document").ok().at("/document/environments/0")
	if dry := w.do("POST", "/changes?dryRun=true", undo(switched)).ok(); dry.text("/results/0/key") != "a" || dry.text("/results/1/key") != "checkout.redesign" || dry.at("/results/2") != nil {
		t.Errorf("a dry run: %s", dry.body)
	}
	if a := w.do("POST", "/changes", undo(made)); a.refused() != "409 CONFLICT OVERLAP" { // the flag has been switched since
		t.Errorf("%s", a.body)
	}
	w.do("POST", "/changes", undo(switched)).ok()
	if now := w.get("/flags/a/document").ok().at("/document/environments/0"); on0 == nil || now != nil {
		t.Errorf("%v became %v", on0, now)
	}
	w.do("POST", "/changes", undo(made)).ok()
	if a, b := w.get("/flags/a").status, w.get("/configs/b").status; a != 404 || b != 404 {
		t.Errorf("what was made is there: %d, %d", a, b)
	}
	schema := w.do("POST", "/changes", changeSet(`{"op":"put","type":"schema","key":"limits","document":{"maximum":9}}`)).ok().text("/commitSha")
	for body, want := range map[string]string{
		undo(schema[:8]):              "400 BAD_REQUEST",
		undo(strings.Repeat("0", 40)): "404 NOT_FOUND",
		changeSet(`{"op":"revert","commitSha":"` + made + `","mode":"restore"}`):              "400 BAD_REQUEST",
		changeSet(`{"op":"revert","type":"config","commitSha":"` + made + `","mode":"undo"}`): "400 BAD_REQUEST",
	} {
		if a := w.do("POST", "/changes", body); a.refused() != want {
			t.Errorf("%s: want %s, got %s", body, want, a.body)
		}
	}
	if a := w.do("POST", "/changes", undo(schema)).ok(); a.text("/results/0/key") != "limits" {
		t.Errorf("%s", a.body)
	}
}

// TestDocumentsOfADryRun: the first ones are told, and nothing of them that is confidential.
func TestDocumentsOfADryRun(t *testing.T) {
	w := newWorld(t, shop())
	var operations []string
	for i := range 25 {
		operations = append(operations, fmt.Sprintf(`{"op":"create","type":"feature_flag","body":{"key":"f%d"}}`, i))
	}
	many := w.do("POST", "/changes?dryRun=true", changeSet(operations...)).ok()
	if told := strings.Count(string(many.body), `"after"`); told != 20 {
		t.Errorf("%s", many.body)
	}
	large := fmt.Sprintf(`{"op":"create","type":"config","body":{"key":"large","valueType":"string","value":%q}}`, strings.Repeat("x", 300<<10))
	if a := w.do("POST", "/changes?dryRun=true", changeSet(operations[0], large, operations[1])).ok(); a.at("/results/0/after") == nil || a.at("/results/1/after") != nil || a.at("/results/2/after") != nil {
		t.Errorf("%.300s", a.body)
	}
	on := func(key string) string {
		return `{"op":"patch","type":"feature_flag","key":"` + key + `","environment":"staging","body":{"enabled":true}}`
	}
	w.do("POST", "/changes", changeSet(operations[:2]...)).ok()
	both := w.do("POST", "/changes?dryRun=true", changeSet(on("f0"), on("f1"), strings.Replace(on("f1"), "true", "false", 1))).ok()
	if both.at("/results/0/before/environments/0") != nil || both.text("/results/0/before/key") != "f0" || both.text("/results/0/after/environments/0/id") != "staging" ||
		!reflect.DeepEqual(both.at("/results/1/after"), both.at("/results/2/before")) || both.at("/results/2/after") == nil {
		t.Errorf("%s", both.body)
	}
	guess := w.do("POST", "/changes?dryRun=true", changeSet(`{"op":"patch","type":"config","key":"api.token","environment":"staging","body":{"value":"c1ph3rt3xt"}}`)).ok()
	if guess.at("/results/0/after/environments/0/rules/0/value/confidential") != true || strings.Contains(string(guess.body), "c1ph3rt3xt") {
		t.Errorf("%s", guess.body)
	}
}

// TestChangeSetsThatAreTooLong: what else is wrong with some is in TestRefusals.
func TestChangeSetsThatAreTooLong(t *testing.T) {
	w := newWorld(t, shop())
	long := `{"op":"patch","type":"feature_flag","key":"f","environment":"production","body":{"rollout":[` + strings.Repeat(`{"value":true,"percent":1},`, 1000) + `{"value":true,"percent":1}]}}`
	on := `{"op":"patch","type":"feature_flag","key":"checkout.redesign","environment":"staging","body":{"enabled":true}}`
	for body, want := range map[string]string{
		changeSet(strings.Repeat(on+",", 2000) + on): "400 BAD_REQUEST /operations",
		changeSet(long): "400 BAD_REQUEST /operations/0/body/rollout",
		strings.Repeat(" ", 5<<20) + changeSet(on): "413 PAYLOAD_TOO_LARGE",
		strings.Repeat(" ", 4<<20) + changeSet(on): "OK",
	} {
		if a := w.do("POST", "/changes", body); strings.TrimSpace(a.refused()+" "+a.places()) != want {
			t.Errorf("%.200s: %s at %s, want %s\n%.600s", body, a.refused(), a.places(), want, a.body)
		}
	}
}
