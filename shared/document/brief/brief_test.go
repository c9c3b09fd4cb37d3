package brief_test

import (
	"fmt"
	"reflect"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/brief"
	"svc.example/svc/shared/testing/must"
)

const full = `{"id": "17", "key": "a", "type": "feature_flag", "valueType": "string", "name": "A", "description": "What it is for", "tags": ["t"],
	"default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["pro", "é"]}}],
		"value": {"type": "weighted_values", "value": {"hashByPropertyName": "user.key", "weightedValues": [
			{"weight": 70000, "value": {"type": "string", "value": "x"}}, {"weight": 300, "value": {"type": "string", "value": "y", "decryptWith": "k"}}]}}}]},
	"environments": [{"id": "production", "rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "p"}}]},
		{"id": "elsewhere", "rules": [{"criteria": [], "value": {"type": "string", "value": "e"}}]}],
	"variants": [{"name": "on", "value": {"type": "string", "value": "x"}}, {"value": {"type": "string", "value": "y"}}]}`

func view(t testing.TB, text string) *document.Document {
	t.Helper()
	tree := must.Get(document.Parse([]byte(text)))(t)
	return document.View(tree)
}

// TestRead: of a document its brief has what one environment is served.
func TestRead(t *testing.T) {
	short := brief.Append(nil, view(t, full))
	var r brief.Reader
	for range 2 { // with nothing shared yet, and with what the first has left
		got := must.Get(r.Read(short, "production"))(t)
		if got.ID != "17" || got.Type != document.Flag || got.ValueType != document.StringValue || got.Name+got.Description != "" || len(got.Variants) != 1 {
			t.Errorf("%+v", got)
		}
		split := got.Default[0].Value.Weighted
		if split.HashByProperty != "user.key" || split.Arms[0].Weight != 70_000 || split.Arms[1].Value.DecryptWith != "k" || string(split.Arms[0].Value.Content.Compact()) != `"x"` {
			t.Errorf("%+v", split)
		}
		if criterion := got.Default[0].Criteria[0]; criterion.PropertyName != "user.plan" || string(criterion.ValueToMatch.Content.Compact()) != `["pro","é"]` {
			t.Errorf("%+v", criterion)
		}
		if own, has := got.Own("production"); !has || len(own) != 1 {
			t.Errorf("%+v", own)
		}
		if own, has := got.Own("elsewhere"); !has || len(own) != 0 {
			t.Errorf("another environment's rules are read: %+v", own)
		}
		if names := r.Environments(short); !reflect.DeepEqual(names, []string{"production", "elsewhere"}) {
			t.Error(names)
		}
	}
}

// TestFormat: what is stored is read by other versions of svc. A change of it
// raises Format.
func TestFormat(t *testing.T) {
	const want = "1:000106000231370100026f6e08060322782201010f0009757365722e706c616e0108090c5b2270726f222c22c3a9225d040d1902f0a204080603227822ac020a0600016b03227922021d0c01010e0000000806032270220009656c73657768657265080100080603226522"
	if got := fmt.Sprintf("%d:%x", brief.Format, brief.Append(nil, view(t, full))); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(brief.Append(nil, view(f, full)))
	f.Add(brief.Append(nil, view(f, `{"key":"s","type":"segment","default":{"rules":[]},"environments":[{"id":"production","rules":[]},{"id":"production","rules":[]}]}`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r brief.Reader
		r.Environments(b)
		d, err := r.Read(b, "production")
		if err != nil {
			return
		}
		short := brief.Append(nil, d)
		again, err := new(brief.Reader).Read(short, "production")
		if err != nil || string(brief.Append(nil, again)) != string(short) {
			t.Errorf("%x is read as %+v, which is read as %+v, %v", b, d, again, err)
		}
	})
}
