package telemetry_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

// TestDecodingStoredContexts: what encoding/json makes of one is read as encoding/json
// reads it.
func TestDecodingStoredContexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z@.,:{}\[\]"\\<> ]{0,12}`))
		property := rapid.Custom(func(t *rapid.T) telemetry.Property {
			return telemetry.Property{Name: text.Draw(t, "name"), Kind: telemetry.Kind(rapid.Byte().Draw(t, "kind")),
				Text: text.Draw(t, "text"), List: rapid.SliceOfN(text, 0, 3).Draw(t, "list")}
		})
		saved := telemetry.Saved{Environment: text.Draw(t, "environment"), Type: text.Draw(t, "type"), Key: text.Draw(t, "key"),
			LastSeen: time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "last seen")).UTC(), Properties: rapid.SliceOfN(property, 0, 4).Draw(t, "properties")}
		encodedSaved := must.Get(json.Marshal(saved))(t)
		var gotSaved, wantSaved telemetry.Saved
		must.Do(t, json.Unmarshal(encodedSaved, &wantSaved))
		if err := gotSaved.Decode(encodedSaved); err != nil || !reflect.DeepEqual(gotSaved, wantSaved) {
			t.Fatalf("%s: %#v, want %#v, %v", encodedSaved, gotSaved, wantSaved, err)
		}
	})
	const begin = `{"Environment":"e","Type":"t","Key":"k","LastSeen":"2026-11-20T12:00:00Z","Properties":[`
	for _, text := range []string{``, `{`, begin, begin + `{"name":"x`, `[]`, `{"Key":1}`, begin + `]}x`} {
		var s telemetry.Saved
		if err := s.Decode([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, s)
		}
	}
	var s telemetry.Saved
	if err := s.Decode([]byte(` {"Properties": [{"kind": 2, "name": "a", "later": 1}], "Key": "k"}`)); err != nil || s.Key != "k" || s.Properties[0].Name != "a" {
		t.Errorf("%+v %v", s, err)
	}
}
