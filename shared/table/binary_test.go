package table_test

import (
	"reflect"
	"testing"

	"svc.example/svc/shared/table"
)

func FuzzDecodeBinary(f *testing.F) {
	f.Add(table.EncodeBinary(table.Attributes{"n": table.Number(-1 << 62), "d": table.Text("x\x00"), "b": table.Bytes{}, "t": table.Truth(true)}))
	f.Add([]byte("\x01\x01aS\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, stored []byte) {
		a, err := table.DecodeBinary(stored, nil)
		if err != nil {
			return
		}
		if back, err := table.DecodeBinary(table.EncodeBinary(a), nil); err != nil || !reflect.DeepEqual(back, a) {
			t.Fatalf("%q: %v, then %v, %v", stored, a, back, err)
		}
	})
}
