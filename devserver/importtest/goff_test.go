package importtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/thomaspoignant/go-feature-flag/ffcontext"
	"github.com/thomaspoignant/go-feature-flag/model/dto"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// valueOf calls the evaluation of a flag with nothing in its options, whose type has no
// name outside of GO Feature Flag.
func valueOf[options, details any](evaluate func(string, ffcontext.Context, options) (any, details), key string, c ffcontext.Context) any {
	var none options
	value, _ := evaluate(key, c, none)
	return value
}

// goFeatureFlag is what GO Feature Flag's own evaluator serves to contexts that came as
// JSON.
func goFeatureFlag(t *testing.T, flags object, contexts []object) (served []map[string]json.RawMessage) {
	models := map[string]dto.DTO{}
	for key, def := range flags {
		var model dto.DTO
		must.Do(t, json.Unmarshal(must.Get(json.Marshal(def))(t), &model))
		evaluated := model.Convert()
		must.Do(t, evaluated.IsValid())
		models[key] = model
	}
	for _, flat := range contexts {
		var c object
		must.Do(t, json.Unmarshal(must.Get(json.Marshal(flat))(t), &c))
		b := ffcontext.NewEvaluationContextBuilder(c["targetingKey"].(string))
		for name, value := range c {
			if name != "targetingKey" {
				b.AddCustom(name, value)
			}
		}
		values := map[string]json.RawMessage{}
		for key, model := range models {
			evaluated := model.Convert()
			values[key] = must.Get(json.Marshal(valueOf(evaluated.Value, key, b.Build())))(t)
		}
		served = append(served, values)
	}
	return served
}

// comparison is one of GO Feature Flag's queries.
func comparison(r *rand.Rand) string {
	text := func() string { return pick(r, "a", "AB", "Pro", "free", "0", "") }
	order := pick(r, "eq", "==", "ne", "!=", "gt", ">", "LT", "le", "GE")
	return pick(r,
		fmt.Sprintf("%s %s %q", pick(r, "plan", "email"), pick(r, "eq", "ne", "co", "sw", "ew", "!="), text()),
		fmt.Sprintf("age %s %d", order, pick(r, -3, -2, -1, 0, 1, 3, 17, 18)),
		fmt.Sprintf("age %s %s", order, pick(r, "17.5", "-0.5", "18.0", "1.8e1")),
		fmt.Sprintf("beta %s %v", pick(r, "eq", "ne"), pick(r, true, false)),
		fmt.Sprintf("anonymous %s %v", pick(r, "eq", "ne"), pick(r, true, false)),
		fmt.Sprintf("version %s %s", order, pick(r, "1.2.3", "2.0.0")),
		fmt.Sprintf("%s in [%q, %q]", pick(r, "plan", "key"), text(), pick(r, "k-1", "pro")),
		pick(r, "plan pr", "key pr", "anonymous pr", "age in [0, 18]", "age in [17.5,40.0]", "email eq null", "email ne null", "key eq \"K-3\"", "anonymous eq null"))
}

func aQuery(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		return comparison(r)
	}
	part := func() string { return aQuery(r, depth-1) }
	return pick(r, part()+" and "+part(), part()+" or "+part(), part()+" or "+part()+" and "+part(), "("+part()+")", "not ("+part()+")", "NOT( "+part()+" )")
}

// TestGOFeatureFlag: what svc makes of random flags serves what GO Feature Flag's own
// evaluator does.
func TestGOFeatureFlag(t *testing.T) {
	testenv.Slow(t)
	r := rand.New(rand.NewPCG(20, 4))
	serves := func() object {
		if r.IntN(12) == 0 {
			return object{"percentage": object{"red": 30, "blue": 70}}
		}
		return pick(r, object{"variation": pick(r, "red", "blue", "green")}, object{"percentage": object{"red": 0, "blue": 100}})
	}
	flags := object{}
	for _, key := range keys(flagCount) {
		var rules list
		for range r.IntN(4) {
			rule := serves()
			rule["query"], rule["disable"] = aQuery(r, 2), r.IntN(15) == 0
			rules = append(rules, rule)
		}
		def := object{"variations": object{"red": "#f00", "blue": "#00f", "green": "#0f0"}, "targeting": rules, "defaultRule": serves()}
		switch r.IntN(20) {
		case 0:
			def["disable"] = true
		case 1:
			def["bucketingKey"] = "email"
		case 2:
			def["experimentation"] = pick(r, object{"start": "2020-01-01T00:00:00Z"}, object{"end": "2020-01-01T00:00:00Z"},
				object{"start": "2020-01-01T00:00:00Z", "end": "9020-01-01T00:00:00Z"}, object{"start": "9020-01-01T00:00:00Z"})
		}
		flags[key] = def
	}
	people := contexts(r, contextCount)
	for i := range people {
		if i%3 == 0 {
			people[i]["anonymous"] = i%2 == 0
		}
	}
	compare(t, "goff", flags, people, "", goFeatureFlag(t, flags, people))
}
