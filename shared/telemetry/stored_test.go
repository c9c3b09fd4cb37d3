package telemetry_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/telemetry"
)

// TestDecodingStoredContexts: what json.Marshal makes of one is read as json.Unmarshal
// reads it.
func TestDecodingStoredContexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z@.,:{}\[\]"\\<> ]{0,12}`))
		property := rapid.Custom(func(t *rapid.T) telemetry.Property {
			return telemetry.Property{Name: text.Draw(t, "name"), Kind: telemetry.Kind(rapid.Byte().Draw(t, "kind")),
				Text: text.Draw(t, "text"), List: rapid.SliceOfN(text, 0, 3).Draw(t, "list")}
		})
		encoded, err := json.Marshal(telemetry.Stored{Seen: rapid.Int64().Draw(t, "seen"), Properties: rapid.SliceOfN(property, 0, 4).Draw(t, "properties")})
		if err != nil {
			t.Fatal(err)
		}
		saved := telemetry.Saved{Environment: text.Draw(t, "environment"), Type: text.Draw(t, "type"), Key: text.Draw(t, "key"),
			LastSeen: time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "last seen")).UTC(), Properties: []telemetry.Property{property.Draw(t, "property")}}
		encodedSaved, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		var gotSaved, wantSaved telemetry.Saved
		if err := json.Unmarshal(encodedSaved, &wantSaved); err != nil {
			t.Fatal(err)
		}
		if err := gotSaved.Decode(encodedSaved); err != nil || !reflect.DeepEqual(gotSaved, wantSaved) {
			t.Fatalf("%s: %#v, want %#v, %v", encodedSaved, gotSaved, wantSaved, err)
		}
		var got, want telemetry.Stored
		if err := json.Unmarshal(encoded, &want); err != nil {
			t.Fatal(err)
		}
		if err := got.Decode(encoded); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %#v, want %#v, %v", encoded, got, want, err)
		}
	})
	for _, text := range []string{``, `{`, `{"seen":1,"properties":[`, `{"seen":1,"properties":[{"name":"x`, `[]`, `{"seen":"1"}`, `{"seen":1,"properties":[]}x`} {
		var s telemetry.Stored
		if err := s.Decode([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, s)
		}
	}
	var s telemetry.Stored
	if err := s.Decode([]byte(` {"properties": [{"kind": 2, "name": "a", "later": 1}], "seen": 7}`)); err != nil || s.Seen != 7 || s.Properties[0].Name != "a" {
		t.Errorf("%+v %v", s, err)
	}
}
