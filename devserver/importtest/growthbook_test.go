package importtest

import (
	"math/rand/v2"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

// member is a condition of GrowthBook on one attribute.
func member(r *rand.Rand) object {
	text := func() string { return pick(r, "a", "ab", "pro", "free") }
	return pick(r,
		object{"plan": text()}, object{"age": pick(r, 0, 3, 18)}, object{"beta": pick(r, true, false)}, object{"plan": nil},
		object{"email": object{pick(r, "$eq", "$ne"): text()}}, object{"age": object{pick(r, "$eq", "$ne"): pick(r, 0, 18)}},
		object{"age": object{pick(r, "$lt", "$lte", "$gt", "$gte"): pick[any](r, -1, 0, 17.5, 18), pick(r, "$lt", "$gt"): pick(r, -1, 40)}},
		object{"plan": object{pick(r, "$in", "$nin"): list{text(), text()}}}, object{"plan": object{pick(r, "$in", "$nin"): list{}}},
		object{"email": object{"$exists": pick(r, true, false)}}, object{"email": object{"$not": object{"$in": list{text()}}}},
		object{"id": object{pick(r, "$inGroup", "$notInGroup"): pick(r, "early", "late")}},
		object{"email": object{"$regex": pick(r, "^a", "b$", "ro")}})
}

func members(r *rand.Rand, depth int) object {
	if depth == 0 || r.IntN(3) == 0 {
		return member(r)
	}
	part := func() any { return members(r, depth-1) }
	return pick(r, object{"$and": list{part(), part()}}, object{"$or": list{part(), part()}}, object{"$nor": list{part(), part()}}, object{"$not": part()}, object{"$or": list{}})
}

// TestGrowthBook: what svc makes of random features serves what GrowthBook's own SDK does.
func TestGrowthBook(t *testing.T) {
	testenv.Slow(t)
	r := rand.New(rand.NewPCG(20, 2))
	colour := func() any { return pick(r, "red", "blue", "green") }
	features := object{"plain": object{"defaultValue": true}, "none": object{"defaultValue": object{"limit": 3}, "rules": list{}}}
	for _, key := range keys(flagCount) {
		var rules list
		for range r.IntN(4) {
			rule := object{"condition": members(r, 2), "force": colour()}
			if r.IntN(10) == 0 {
				rule["coverage"] = 0.5
			}
			if r.IntN(15) == 0 {
				rule = object{"variations": list{"red", "blue"}, "weights": list{0.3, 0.7}, "coverage": pick(r, 1, 0.4), "hashAttribute": pick(r, "id", "email")}
			}
			rules = append(rules, rule)
		}
		features[key] = object{"defaultValue": colour(), "rules": rules}
	}
	definition := object{"features": features, "savedGroups": object{"early": keys(40), "late": object{"type": "list", "values": keys(7)}}}
	people := contexts(r, contextCount)
	compare(t, "growthbook", definition, people, "", theirs(t, "growthbook", definition, people))
}
