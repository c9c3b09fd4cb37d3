package telemetry

import (
	"strconv"
	"testing"
)

func TestUsageListsTheLargestTypes(t *testing.T) {
	counts := map[string]int{"user": 5, "team": 5}
	if u := NewUsage("2026-11", counts, 0); len(u.Types) != 2 || u.Types[0].Type != "team" || u.OtherTypes != 0 {
		t.Errorf("%+v", u)
	}
	for i := range 37_000 {
		counts["made-up-"+strconv.Itoa(i)] = 1
	}
	u := NewUsage("2026-11", counts, 0)
	if len(u.Types) != MaxListedTypes || u.Types[1].Type != "user" || u.Keys != 37_010 || u.OtherTypes != 37_002-MaxListedTypes {
		t.Errorf("%d types, %d others, %d keys, %v", len(u.Types), u.OtherTypes, u.Keys, u.Types[:3])
	}
}
