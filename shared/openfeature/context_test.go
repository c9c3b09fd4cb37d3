package openfeature

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"

	"svc.example/svc/shared/contexts"
)

func spell(s *contexts.Set) string {
	var parts []string
	for c := range s.All() {
		for name, v := range c.All() {
			parts = append(parts, fmt.Sprintf("%s.%s=%s", c.Name(), name, v.Text()))
		}
	}
	return strings.Join(parts, " ")
}

func TestMapping(t *testing.T) {
	type flat = openfeature.FlattenedContext
	type object = map[string]any
	for _, tt := range []struct {
		flat flat
		want string
	}{
		{nil, ""}, {flat{}, ""},
		{flat{"user.plan": "pro", "user.a.b": 1, "region": "eu", "": "x", ".y": 2}, ".=x .region=eu .y=2 user.a.b=1 user.plan=pro"},
		{flat{"targetingKey": "u"}, "user.key=u"},
		{flat{"targetingKey": "u", "user.key": "explicit"}, "user.key=explicit"},
		{flat{"targetingKey": "u", "user.key": ""}, "user.key="},
		{flat{"targetingKey": "u", "user.key": nil}, "user.key=u"},
		{flat{"targetingKey": "u", "user": object{"key": "nested"}}, ".user= user.key=nested"},
		{flat{"targetingKey": 5}, ""},
		{flat{"user": object{"plan": "nested", "age": 3}, "user.plan": "flat"}, ".user= user.age=3 user.plan=flat"},
		{flat{"user.deep": object{"x": 1}}, "user.deep="},
	} {
		if got := spell(named(tt.flat)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.flat, got, tt.want)
		}
	}
}
