package table_test

import (
	"reflect"
	"testing"

	"svc.example/svc/shared/table"
)

func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"n":{"N":"1"},"d":{"S":"x"},"b":{"B":"AA=="}}`,
		`{"pk":{"S":"head"}}`, `{"x":{"S":"a","N":"1"}}`, `{"x":{"Z":"1"}}`, `{"":{"S":""}}`, `null`, `[]`, `{"x":{}}`, `{"x":{"N":"1.5"}}`, `{"x":{"S":null}}`, `{"t":{"BOOL":true}}`, `{"x":{"BOOL":"true"}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := table.Decode(text)
		if err != nil {
			return
		}
		if a["pk"] != nil || a["sk"] != nil {
			t.Fatalf("%q names the row's key", text)
		}
		if back, err := table.Decode(table.Encode(a)); err != nil || !reflect.DeepEqual(back, a) {
			t.Fatalf("%q: %v, then %v, %v", text, a, back, err)
		}
	})
}
