package importtest

import (
	"math/rand/v2"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

type object = map[string]any
type list = []any

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func property(name string) object { return object{"var": name} }

// comparisons are leaves of JsonLogic on properties of the kinds that contexts have.
func comparisons(r *rand.Rand) any {
	text := func() string { return pick(r, "a", "b", "ab", "pro", "free") }
	operator := pick(r, "<", "<=", ">", ">=")
	return pick[any](r,
		object{pick(r, "==", "===", "!=", "!=="): list{property(pick(r, "plan", "email")), text()}},
		object{pick(r, "==", "!="): list{pick(r, -1, 0, 3, 18), property("age")}},
		object{pick(r, "==", "!="): list{property("beta"), pick(r, true, false)}},
		object{pick(r, "==", "!="): list{property("plan"), nil}},
		object{operator: list{property("age"), pick[any](r, -1, 0, 3, 17.5, 18)}},
		object{operator: list{pick(r, -1, 0, 3, 18), property("age")}},
		object{pick(r, "<", "<="): list{pick(r, -1, 0, 3), property("age"), pick(r, 3, 18)}},
		object{pick(r, ">", "<"): list{property("$flagd.timestamp"), pick(r, 1_000_000_000, 9_000_000_000)}},
		object{"in": list{property("plan"), list{text(), text()}}},
		object{"in": list{property("age"), list{3, 18}}},
		object{"in": list{text(), property("email")}},
		object{pick(r, "starts_with", "ends_with"): list{property("email"), text()}},
		object{"sem_ver": list{property("version"), pick(r, "=", "!=", "<", "<=", ">", ">=", "^", "~"), pick(r, "1.2.3", "2.0.0")}},
		property(pick(r, "beta", "plan", "age")),
		object{"$ref": "staff"},
		pick[any](r, true, false, nil, object{"==": list{property("plan"), "pro"}}),
	)
}

func condition(r *rand.Rand, depth int) any {
	if depth == 0 || r.IntN(3) == 0 {
		return comparisons(r)
	}
	part := func() any { return condition(r, depth-1) }
	return pick[any](r, object{"and": list{part(), part()}}, object{"or": list{part(), part()}}, object{"!": list{part()}}, object{"!!": list{part()}})
}

func targeting(r *rand.Rand, depth int) any {
	if depth > 0 && r.IntN(4) > 0 {
		branches := list{condition(r, 2), targeting(r, depth-1)}
		for range r.IntN(3) {
			branches = append(branches, targeting(r, depth-1))
			if len(branches)%2 == 1 {
				branches[len(branches)-1], branches = condition(r, 1), append(branches, targeting(r, depth-1))
			}
		}
		return object{"if": branches}
	}
	arms := list{list{"red", r.IntN(60)}, list{"blue", 1 + r.IntN(60)}, list{"green"}}
	behindKey := list{object{"cat": list{property("$flagd.flagKey"), property(pick(r, "email", "targetingKey"))}}}
	return pick[any](r, "red", "blue", "green", nil, object{"fractional": arms}, object{"fractional": append(behindKey, arms...)},
		object{"fractional": append(list{property("email")}, arms...)})
}

// TestFlagd: what svc makes of random targeting serves what flagd's own evaluator does.
func TestFlagd(t *testing.T) {
	testenv.Slow(t)
	r := rand.New(rand.NewPCG(20, 1))
	flags := object{"gone": object{"state": "DISABLED", "variants": object{"on": true, "off": false}, "defaultVariant": "on"},
		"bool": object{"state": "ENABLED", "variants": object{"true": true, "false": false}, "defaultVariant": "false", "targeting": condition(r, 2)}}
	for _, key := range keys(flagCount) {
		flags[key] = object{"state": "ENABLED", "variants": object{"red": "#f00", "blue": "#00f", "green": "#0f0"}, "defaultVariant": pick(r, "red", "blue"), "targeting": targeting(r, 2)}
	}
	definition := object{"flags": flags, "$evaluators": object{"staff": object{"ends_with": list{property("email"), "b"}}}}
	people := contexts(r, contextCount)
	compare(t, "flagd", definition, people, "", theirs(t, "flagd", definition, people))
}

// contexts are some at random, in which each property is of one kind, or absent.
func contexts(r *rand.Rand, n int) (all []object) {
	for range n {
		c := object{"targetingKey": pick(r, keys(100)...)}
		for name, value := range (object{"plan": pick(r, "pro", "free", "a", "0x"), "email": pick(r, "a", "ab", "prob", "zz@b"), "age": pick[any](r, -2, 0, 3, 17.5, 18, 40),
			"beta": pick(r, true, false), "version": pick(r, "1.2.3", "1.2.4", "1.9.0", "2.0.0", "2.0.0-rc.1", "0.1.0")}) {
			if r.IntN(4) > 0 {
				c[name] = value
			}
		}
		all = append(all, c)
	}
	return all
}
