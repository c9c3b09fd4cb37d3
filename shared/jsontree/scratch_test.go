package jsontree_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

func TestScratchReadsAsParseDoes(t *testing.T) {
	long := `[` + strings.Repeat(`{"a":[1,2],"b":{}},`, 1000) + `0]`
	scratch := jsontree.NewScratch()
	for _, text := range []string{`{"a":[1,{"b":null}],"c":"é"}`, long, `[]`, `{"a":`, `{"a":1,"a":2}`, `1`, long, `{"z":[[],[0]]}`} {
		want, wantErr := jsontree.Parse([]byte(text))
		got, err := scratch.ParseWithin([]byte(text), math.MaxInt)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%.40s: %v, want %v", text, err, wantErr)
		}
		if err == nil && string(got.Encode()) != string(want.Encode()) {
			t.Errorf("%.40s was read as %.80s", text, got.Encode())
		}
	}
	if _, err := scratch.ParseWithin([]byte(`[1,2]`), 2); err == nil {
		t.Error("three values were read where two may be")
	}
}

// Who keeps a node by mistake finds it empty, not full of what another document has.
func TestATreeInAScratchIsGoneWithTheNext(t *testing.T) {
	scratch := jsontree.NewScratch()
	kept, _ := scratch.ParseWithin([]byte(`{"secret":[1,2]}`), math.MaxInt)
	inner := kept.Get("secret")
	must.Get(scratch.ParseWithin([]byte(`1`), math.MaxInt))(t)
	if len(kept.Members) > 0 || inner.Kind != 0 || len(inner.Items) > 0 {
		t.Errorf("what is kept is %s and %s", kept.Compact(), inner.Compact())
	}
}

func TestAScratchLeavesNoGarbage(t *testing.T) {
	texts := make([][]byte, 8)
	for i := range texts {
		texts[i] = []byte(`{"key":` + strconv.Itoa(i) + `,"rules":[{"criteria":[1,2,3],"value":{"type":"string"}}],"tags":[[],[1],[1,2]]}`)
	}
	scratch := jsontree.NewScratch()
	read := func() {
		for _, text := range texts {
			must.Get(scratch.ParseWithin(text, math.MaxInt))(t)
		}
	}
	if made := testing.AllocsPerRun(10, read); made > 0 {
		t.Errorf("%.0f pieces of memory were made for %d texts", made, len(texts))
	}
}
