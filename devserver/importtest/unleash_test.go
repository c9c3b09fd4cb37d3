package importtest

import (
	"math/rand/v2"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

// constraint is one of Unleash's.
func constraint(r *rand.Rand) object {
	text := func() string { return pick(r, "a", "AB", "pro", "free", "B") }
	c := pick(r,
		object{"contextName": pick(r, "plan", "email"), "operator": pick(r, "IN", "NOT_IN"), "values": pick(r, list{text(), text()}, list{"", " pro "}, list{})},
		object{"contextName": pick(r, "plan", "email"), "operator": pick(r, "STR_STARTS_WITH", "STR_ENDS_WITH", "STR_CONTAINS"), "values": list{text(), text()}, "caseInsensitive": r.IntN(2) == 0},
		object{"contextName": "userId", "operator": "IN", "values": keys(40)},
		object{"contextName": "age", "operator": "NUM_" + pick(r, "EQ", "GT", "GTE", "LT", "LTE"), "value": pick(r, "-1", "0", "17.5", "18")},
		object{"contextName": "beta", "operator": "IN", "values": list{"true"}},
		object{"contextName": "version", "operator": "SEMVER_" + pick(r, "EQ", "GT", "GTE", "LT", "LTE"), "value": pick(r, "1.2.3", "2.0.0")},
		object{"contextName": "currentTime", "operator": pick(r, "DATE_AFTER", "DATE_BEFORE"), "value": pick(r, "2020-01-01T00:00:00.000Z", "9020-01-01T00:00:00Z")},
		object{"contextName": "email", "operator": "REGEX", "value": pick(r, "^A", "b$", "r.b"), "caseInsensitive": r.IntN(2) == 0})
	c["inverted"] = r.IntN(3) == 0
	return c
}

// TestUnleash: what svc makes of random features serves what Unleash's own SDK does.
func TestUnleash(t *testing.T) {
	testenv.Slow(t)
	r := rand.New(rand.NewPCG(20, 5))
	strategy := func() object {
		s := pick(r, object{"name": "default"}, object{"name": "userWithId", "parameters": object{"userIds": pick(r, "k-1, k-2 ,k-3", "", "k-7")}},
			object{"name": "flexibleRollout", "parameters": object{"rollout": pick[any](r, "100", 100, "0"), "stickiness": pick(r, "default", "email", "random", "userId")}})
		if r.IntN(12) == 0 {
			s = pick(r, object{"name": "flexibleRollout", "parameters": object{"rollout": "30", "stickiness": "userId", "groupId": "g"}},
				object{"name": "gradualRolloutUserId", "parameters": object{"percentage": "30"}}, object{"name": "theirOwn"})
		}
		var constraints list
		for range r.IntN(3) {
			constraints = append(constraints, constraint(r))
		}
		s["constraints"] = constraints
		if r.IntN(6) == 0 {
			s["segments"] = list{pick(r, 1, 2)}
		}
		return s
	}
	var features list
	for _, key := range keys(flagCount) {
		strategies := list{}
		for range r.IntN(4) {
			strategies = append(strategies, strategy())
		}
		def := object{"name": key, "enabled": r.IntN(10) > 0, "strategies": strategies}
		if r.IntN(12) == 0 {
			def["variants"] = list{object{"name": "x", "weight": 500}, object{"name": "y", "weight": pick(r, 0, 500), "payload": object{"type": "string", "value": "why"}}}
		}
		features = append(features, def)
	}
	definition := object{"version": 2, "features": features, "segments": list{
		object{"id": 1, "constraints": list{constraint(r)}}, object{"id": 2, "constraints": list{constraint(r), constraint(r)}}}}
	people := contexts(r, contextCount)
	compare(t, "unleash", definition, people, "", theirs(t, "unleash", definition, people))
}
