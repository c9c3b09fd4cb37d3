package dynamo

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestARowInAnArchiveIsWhatItWas(t *testing.T) {
	row := Key("a", "b")
	row["s"], row["none"], row["n"], row["b"], row["empty"] = Text("x\u2028\x00"), Text(""), Number(-7), Bytes([]byte{0, 255}), Bytes([]byte{})
	row["yes"], row["no"] = Bool(true), Bool(false)
	row["ss"] = &types.AttributeValueMemberSS{Value: []string{"a", "b"}}
	row["list"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{Text("x"), Number(1)}}
	row["fraction"] = &types.AttributeValueMemberN{Value: "1.5"}
	text, err := EncodeItem(row)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeItem(text)
	delete(row, HashKey)
	delete(row, RangeKey)
	if err != nil || !reflect.DeepEqual(got, row) {
		t.Errorf("%s is read as %v, %v", text, got, err)
	}
}

func FuzzDecodeItem(f *testing.F) {
	for _, text := range []string{`{"n":{"N":"1"},"d":{"S":"x"},"b":{"B":"AA=="},"s":{"SS":["a"]},"t":{"BOOL":true}}`,
		`{"pk":{"S":"head"}}`, `{"x":{"S":"a","N":"1"}}`, `{"x":{"L":[]}}`, `{"x":{"Z":"1"}}`, `{"x":{"M":{"y":{"L":[{"Z":"1"}]}}}}`, `{"":{"S":""}}`, `null`, `[]`, `{"x":{}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		row, err := DecodeItem(text)
		if err != nil {
			return
		}
		if row[HashKey] != nil || row[RangeKey] != nil {
			t.Fatalf("%q names the row's key", text)
		}
		again, err := EncodeItem(row)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeItem(again); err != nil || !reflect.DeepEqual(back, row) {
			t.Fatalf("%q: %v, then %v, %v", text, row, back, err)
		}
	})
}
