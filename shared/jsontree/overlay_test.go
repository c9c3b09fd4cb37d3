package jsontree_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

type person struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Email string   `json:"email,omitempty"`
	Roles []string `json:"roles"`
}

type book struct {
	Owner  *person  `json:"owner,omitempty"`
	People []person `json:"people"`
}

func TestOverlay(t *testing.T) {
	ada, bob := person{ID: "1", Name: "Ada", Email: "a@b.c", Roles: []string{"x"}}, person{ID: "2", Name: "Bob"}
	for name, c := range map[string]struct {
		stored, want string
		was, now     any
	}{
		"an unknown member stays where it is": {
			stored: `{"id":"1","colour":"red","name":"Ada","roles":["x"],"more":{"n":1.0}}`, was: person{ID: "1", Name: "Ada", Roles: []string{"x"}},
			now:  person{ID: "1", Name: "Ada L.", Roles: []string{"y"}},
			want: `{"id":"1","colour":"red","name":"Ada L.","roles":["y"],"more":{"n":1.0}}`,
		},
		"a known member goes": {
			stored: `{"id":"1","name":"Ada","email":"a@b.c","roles":["x"],"n":1}`, was: ada, now: person{ID: "1", Name: "Ada", Roles: []string{"x"}},
			want: `{"id":"1","name":"Ada","roles":["x"],"n":1}`,
		},
		"a new member comes": {
			stored: `{"id":"2","n":1}`, was: person{ID: "2"}, now: bob,
			want: `{"id":"2","n":1,"name":"Bob","roles":null}`,
		},
		"objects within, and lists by id": {
			stored: `{"v":9,"owner":{"id":"1","n":1},"people":[{"id":"1","n":2},{"id":"2","n":3}]}`,
			was:    book{Owner: &ada, People: []person{{ID: "1"}, {ID: "2"}}}, now: book{Owner: &bob, People: []person{bob, {ID: "3"}}},
			want: `{"v":9,"owner":{"id":"2","n":1,"name":"Bob","roles":null},"people":[{"id":"2","n":3,"name":"Bob","roles":null},` +
				`{"id":"3","name":"","roles":null}]}`,
		},
		"another kind is replaced": {stored: `[1]`, was: []int{1}, now: bob, want: `{"id":"2","name":"Bob","roles":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(jsontree.Overlay([]byte(c.stored), c.was, c.now))(t)
			if text := string(got.Compact()); text != c.want {
				t.Errorf("%s\nwant %s", text, c.want)
			}
		})
	}
	if _, err := jsontree.Overlay([]byte(`{`), 1, 2); err == nil {
		t.Error("a text that is no JSON was taken")
	}
}

func TestIssuesInWords(t *testing.T) {
	some := []jsontree.Issue{{Pointer: "/a", Message: "is missing"}, {Message: "is odd"}}
	for want, issues := range map[string][]jsontree.Issue{
		"":                          nil,
		"/a: is missing; is odd":    some,
		"x; x; x; x; x; and 2 more": slices.Repeat([]jsontree.Issue{{Message: "x"}}, 7),
	} {
		if got := jsontree.InWords(issues); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBounded(t *testing.T) {
	all := slices.Repeat([]jsontree.Issue{{Message: "x"}}, jsontree.MaxIssues+2)
	if got := jsontree.Bounded(all[:jsontree.MaxIssues]); len(got) != jsontree.MaxIssues {
		t.Errorf("%d issues became %d", jsontree.MaxIssues, len(got))
	}
	got := jsontree.Bounded(all)
	if last := got[len(got)-1]; len(got) != jsontree.MaxIssues+1 || last != jsontree.More(2) {
		t.Errorf("%d issues became %d, the last %v", len(all), len(got), last)
	}
	if all[jsontree.MaxIssues].Message != "x" {
		t.Error("the caller's issues were written over")
	}
}

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
