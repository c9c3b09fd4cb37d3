package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
)

func TestEvaluate(t *testing.T) {
	w := newWorld(t, shop())
	first := w.get("/workspace").ok().text("/commitSha")
	w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true}`).ok()
	head := w.get("/workspace").ok().text("/commitSha")
	for _, c := range []struct{ body, pointer, want string }{
		{`{"environment": "production"}`, "/commitSha", head},
		{`{"environment": "production"}`, "/environment", "production"},
		{`{"environment": "production"}`, "/missing", "[]"},
		{`{"environment": "production"}`, "/evaluations/checkout.limits/value/max", "3"},
		{`{"environment": "production"}`, "/evaluations/checkout.limits/explanation", "<nil>"},
		{`{"environment": "production"}`, "/evaluations/log-level.cart", "<nil>"},
		{`{"environment": "production", "keys": []}`, "/evaluations", "map[]"},
		{`{"environment": "production", "keys": ["nothing", "beta-users", "colour", "broken", "nothing"]}`, "/missing", "[nothing beta-users broken]"},
		{`{"environment": "production", "context": {"user": {"plan": "beta"}}}`, "/evaluations/checkout.redesign/value", "true"},
		{`{"environment": "staging"}`, "/evaluations/checkout.redesign/value", "true"},
		{`{"environment": "staging", "at": "` + first + `"}`, "/evaluations/checkout.redesign/value", "false"},
		{`{"environment": "staging", "at": "` + first[:7] + `"}`, "/commitSha", first},
		{`{"environment": "staging", "at": "` + first + `", "explain": true}`, "/evaluations/checkout.redesign/explanation/0/ruleSource", "default"},
		{`{"environment": "staging", "at": "` + head + `"}`, "/evaluations/checkout.redesign/value", "true"},
		{`{"environment": "staging"}`, "/evaluations/api.token/confidential", "true"},
		{`{"environment": "staging"}`, "/evaluations/api.token/value", "<nil>"},
		{`{"environment": "staging"}`, "/evaluations/master.key/confidential", "true"},
		{`{"environment": "production", "explain": true, "context": {"user": {"plan": "free"}}}`, "/evaluations/checkout.redesign/explanation/0/criteria/0/actual", "free"},
		{`{"environment": "production", "explain": true, "context": {"user": {"key": "u-1"}}}`, "/evaluations/colour/explanation/0/split/arms/0/chosen", "true"},
	} {
		if got := fmt.Sprint(w.do("POST", "/evaluate", c.body).ok().at(c.pointer)); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.body, c.pointer, got, c.want)
		}
	}
	if now := w.get("/workspace").ok().text("/commitSha"); now != head {
		t.Errorf("evaluating has moved the head to %s", now)
	}
	w.alter = func(e *control.Entry) error { // it is a read, which needs no role and no subscription
		e.Workspace.BillingInactive, e.Principal.Roles = true, nil
		return nil
	}
	w.do("POST", "/evaluate?nonsense=1", `{"environment": "staging"}`).ok()
}

// TestEvaluateRefusals: all that is wrong is told at once, with its place.
func TestEvaluateRefusals(t *testing.T) {
	w := newWorld(t, shop())
	keys := `"k"` + strings.Repeat(`, "k"`, 100)
	for body, want := range map[string]string{
		``:                        "400 BAD_REQUEST ",
		`[]`:                      "400 BAD_REQUEST ",
		`{}`:                      "400 BAD_REQUEST /environment",
		`{"environment": ""}`:     "400 BAD_REQUEST /environment",
		`{"environment": null}`:   "400 BAD_REQUEST /environment",
		`{"environment": "prod"}`: "404 NOT_FOUND",
		`{"environment": "old"}`:  "404 NOT_FOUND",
		`{"environment": "staging", "at": "abcd"}`: "404 NOT_FOUND",
		`{"environment": 1, "at": "XYZ", "keys": [1], "context": {"user": "me", "team": []}, "explain": "yes", "why": true}`: "400 BAD_REQUEST /why /at /context/team /context/user /environment /explain /keys/0",
		`{"environment": "staging", "context": []}`:                         "400 BAD_REQUEST /context",
		`{"environment": "staging", "keys": null}`:                          "400 BAD_REQUEST /keys",
		`{"environment": "staging", "keys": [` + keys + `]}`:                "400 BAD_REQUEST /keys",
		`{"environment": "staging", "context": {"user": {"a": 1, "a": 2}}}`: "400 BAD_REQUEST /context/user/a",
	} {
		a := w.do("POST", "/evaluate", body)
		got := a.refused()
		places := map[string]bool{}
		if issues, ok := a.at("/details/issues").([]any); ok {
			for _, issue := range issues {
				path := issue.(map[string]any)["path"].(string)
				places[path] = true
			}
		}
		status, rest, _ := strings.Cut(want, " ")
		code, pointers, _ := strings.Cut(rest, " ")
		wanted := map[string]bool{}
		for _, pointer := range strings.Fields(pointers) {
			wanted[pointer] = true
		}
		if !strings.HasPrefix(got, status+" "+code) || pointers != "" && !maps.Equal(places, wanted) {
			t.Errorf("%.80s: %s at %v, want %s", body, got, places, want)
		}
	}
}

// TestEvaluateIsBounded: what is large is compressed where that is asked for, and
// refused where it cannot be sent.
func TestEvaluateIsBounded(t *testing.T) {
	files := map[string]string{"svc.json": declaration}
	words := `"` + strings.Repeat("word ", 2000) + `"`
	for i := range 30 {
		key := fmt.Sprintf("f%02d", i)
		rules := `{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.bio", "valueToMatch": {"type": "string_list", "value": [` + strings.Repeat(words+",", 10) + words + `]}}], "value": {"type": "string", "value": ` + words + `}}`
		files["feature-flags/"+key+".json"] = `{"key": "` + key + `", "type": "feature_flag", "valueType": "string", "default": {"rules": [` + rules +
			`, {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": ` + words + `}}]}}`
	}
	w := newWorldWith(t, files, httpapi.Options{Limit: unlimited, MaxAnswer: 50_000})
	body := `{"environment": "staging", "explain": true, "context": {"user": {"bio": ` + words + `}}}`
	if a := w.do("POST", "/evaluate", body); a.refused() != "400 BAD_REQUEST" || !strings.Contains(a.text("/message"), "accept gzip in Accept-Encoding, or name fewer keys") {
		t.Errorf("%d %.200s", a.status, a.body)
	}
	a := w.do("POST", "/evaluate", body, "Accept-Encoding: gzip").ok()
	if a.header.Get("Content-Encoding") != "gzip" || a.header.Get("ETag") != "" || a.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v", a.header)
	}
	criterion := "/evaluations/f00/explanation/0/criteria/0/"
	if actual := a.text(criterion + "actual"); a.at(criterion+"truncated") != true || len(actual) > 1024 || !strings.HasPrefix(actual, "word word") {
		t.Errorf("a long property is told as %q", actual)
	}
	if a := w.do("POST", "/evaluate", `{"environment": "staging", "context": {"user": {"bio": "`+strings.Repeat("x", 1<<20)+`"}}}`); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a context of a megabyte: %d", a.status)
	}
}
