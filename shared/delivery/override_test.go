package delivery

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// overridden answers with the test directory, in which u1 gets other values.
func overridden(t *testing.T, values map[string]document.Value) http.Handler {
	all := sources(t, directory)
	for i := range all {
		if value, found := values[all[i].Key]; found {
			u1 := &document.Value{Type: document.StringListValue, Content: jsontree.NewArray(jsontree.NewString("u1"))}
			all[i].Overrides = []document.Rule{{Criteria: []document.Criterion{{Operator: "PROP_IS_ONE_OF", PropertyName: "user.key", ValueToMatch: u1}}, Value: value}}
		}
	}
	table := newTable(all, "development", "v1")
	return (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil },
		Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }, Random: func() float64 { return 0 }}).Mux()
}

func TestAnOverrideIsServedToThoseItIsFor(t *testing.T) {
	h := overridden(t, map[string]document.Value{"redesign": {Type: document.BoolValue, Content: jsontree.NewBool(true)}})
	own := text(t, poll(h, `{"user":{"key":"u1"}}`))
	if want := `"redesign":{"value":{"type":"bool","value":true},"configId":"redesign","configType":"feature_flag","valueType":"bool","reason":"OVERRIDE"},`; !strings.Contains(own, want) {
		t.Errorf("u1 is answered %s, want %s", own, want)
	}
	one := text(t, do(h, "POST", ofrepFlags+"/redesign", `{"context":{"targetingKey":"u1"}}`))
	if want := `{"key":"redesign","value":true,"reason":"STATIC","variant":"on","metadata":{"configType":"feature_flag","valueType":"bool","override":true,"version":"v1"}}`; one != want {
		t.Errorf("OFREP answers u1 %s, want %s", one, want)
	}
	plain := serve(t, false)
	for _, context := range []string{`{"user":{"key":"u2"}}`, `{"user":{"plan":"pro"}}`, `{}`} {
		if got, want := text(t, poll(h, context)), text(t, poll(plain, context)); got != want {
			t.Errorf("%s is answered\n%s, without the override\n%s", context, got, want)
		}
	}
}

// TestAConfidentialOverrideIsWithheld, as any value that is confidential.
func TestAConfidentialOverrideIsWithheld(t *testing.T) {
	h := overridden(t, map[string]document.Value{"password": {Type: document.StringValue, Content: jsontree.NewString("hush"), Confidential: true}})
	if got := text(t, poll(h, `{"user":{"key":"u1","plan":"open"}}`)); strings.Contains(got, "password") || strings.Contains(got, "hush") {
		t.Error(got)
	}
	if one := do(h, "POST", ofrepFlags+"/password", `{"context":{"targetingKey":"u1"}}`); one.StatusCode != http.StatusNotFound {
		t.Error(one.StatusCode, text(t, one))
	}
}
