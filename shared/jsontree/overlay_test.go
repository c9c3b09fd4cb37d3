package jsontree_test

import (
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
