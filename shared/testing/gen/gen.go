// Package gen makes documents and contexts at random, for tests that hold two ways
// of evaluating them together.
package gen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/workspace"
)

// Random makes documents and contexts.
type Random struct{ *rand.Rand }

// New is a Random that makes the same of the same seed.
func New(seed uint64) Random { return Random{rand.New(rand.NewPCG(seed, 0))} }

func pick[T any](d Random, all ...T) T { return all[d.IntN(len(all))] }

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

var properties = []string{"user.key", "user.plan", "user.age", "user.version", "user.joined", "user.tags", "team.id", "plain", "user.a.b", "svc.current-time"}

func (d Random) scalar() any {
	return pick[any](d, "free", "pro", "u-1", "u-2", "u-3", "1.2.3", "2.0.0-rc.1", "1.2", "2023-11-14T22:13:20Z", "soon", "", "ünï", "com.acme.cart",
		0, 7, 42, 42.5, -3, 1e300, 1700000000000, true, false, "42", "true", strings.Repeat("long ", 400))
}

func (d Random) property() any {
	switch d.IntN(8) {
	case 0:
		return nil
	case 1:
		return []any{d.scalar(), d.scalar(), nil, []any{"nested"}}
	case 2:
		return map[string]any{"an": "object"}
	case 3:
		return slices.Repeat([]any{"item"}, 400)
	}
	return d.scalar()
}

// Context draws the contexts of a request, as JSON.
func (d Random) Context() string {
	named := map[string]map[string]any{}
	for _, property := range properties {
		if d.IntN(3) == 0 {
			continue
		}
		context, name, dotted := strings.Cut(property, ".")
		if !dotted {
			context, name = "", property
		}
		if named[context] == nil {
			named[context] = map[string]any{}
		}
		named[context][name] = d.property()
	}
	return encode(named)
}

func (d Random) operand() map[string]any {
	switch d.IntN(7) {
	case 0:
		return map[string]any{"type": "string", "value": pick(d, "pro", "^u-[12]$", "com.acme", "1.2.3", "2.0.0", "2023-11-14T22:13:20Z", "(", "u-")}
	case 1:
		return map[string]any{"type": "int", "value": pick[any](d, 7, 42, "42", 1700000000000)}
	case 2:
		return map[string]any{"type": "double", "value": pick[any](d, 42.5, "0.1")}
	case 3:
		return map[string]any{"type": "int_range", "value": map[string]any{"start": 0, "end": pick(d, 10, 50)}}
	case 4:
		return map[string]any{"type": "string", "value": "pro", "confidential": true}
	}
	list := []any{}
	for range d.IntN(4) {
		list = append(list, fmt.Sprint(d.scalar()))
	}
	return map[string]any{"type": "string_list", "value": list}
}

// criterion asks for segments and flags of lower numbers alone: a circle is not served.
func (d Random) criterion(segments, flags int) map[string]any {
	switch d.IntN(7) {
	case 0:
		return map[string]any{"operator": "ALWAYS_TRUE"}
	case 1:
		return map[string]any{"operator": pick(d, "IN_SEG", "NOT_IN_SEG"), "valueToMatch": map[string]any{"type": "string", "value": fmt.Sprint("segment-", d.IntN(segments+1)-1)}}
	case 2:
		asked := pick(d, fmt.Sprint("flag-", d.IntN(max(flags, 0)+1)-1), "config-0")
		if flags < 0 {
			asked = "flag-0" // of segments, which may not ask
		}
		return map[string]any{"operator": pick(d, evaluation.FlagIsOneOf, evaluation.FlagIsNotOneOf), "propertyName": asked,
			"valueToMatch": map[string]any{"type": "string_list", "value": pick(d, []string{"true"}, []string{"a", "false"}, []string{"1", "9007199254740993", "b"}, []string{strings.Repeat("x", 2000)})}}
	case 3:
		return map[string]any{"operator": "OF_A_LATER_DAY", "propertyName": pick(d, properties...), "valueToMatch": d.operand()}
	}
	c := map[string]any{"operator": pick(d, evaluation.Operators()...), "propertyName": pick(d, properties...)}
	if d.IntN(10) > 0 && c["operator"] != "ALWAYS_TRUE" {
		c["valueToMatch"] = d.operand()
	}
	return c
}

func (d Random) value(kind string) map[string]any {
	v := map[string]any{"type": kind}
	switch kind {
	case "bool":
		v["value"] = d.IntN(2) == 0
	case "string":
		v["value"] = pick(d, "a", "b", "c", strings.Repeat("x", 2000))
	case "int":
		v["value"] = pick[any](d, 1, "2", 9007199254740993)
	case "json":
		v["value"] = pick[any](d, map[string]any{"n": 1.5}, []any{1, "two"}, nil, slices.Repeat([]any{"item"}, 400))
	}
	if kind == "bool" {
		return v
	}
	switch d.IntN(12) {
	case 0:
		v["confidential"] = true
	case 1:
		v = map[string]any{"type": "provided", "value": map[string]any{"source": "ENV_VAR", "lookup": "SECRET"}}
	case 2:
		v["value"], v["decryptWith"] = "c1ph3r", "key"
	}
	return v
}

func (d Random) rules(kind string, segments, flags int) map[string]any {
	rules := []any{}
	for range d.IntN(4) {
		criteria := []any{}
		for range d.IntN(4) {
			criteria = append(criteria, d.criterion(segments, flags))
		}
		value := d.value(kind)
		if d.IntN(4) == 0 {
			arms := []any{}
			for range 1 + d.IntN(4) {
				arms = append(arms, map[string]any{"value": d.value(kind), "weight": pick(d, 0, 1, 25_000, 100_000)})
			}
			split := map[string]any{"weightedValues": arms}
			if d.IntN(4) > 0 {
				split["hashByPropertyName"] = pick(d, properties...)
			}
			value = map[string]any{"type": "weighted_values", "value": split}
		}
		rules = append(rules, map[string]any{"criteria": criteria, "value": value})
	}
	return map[string]any{"rules": rules}
}

// Workspace draws the documents of a workspace: four segments, five flags and three
// configs, some with rules of their own for an environment or for staging.
func (d Random) Workspace(t testing.TB, environment string) *workspace.Workspace {
	t.Helper()
	ws := &workspace.Workspace{}
	add := func(key, kind, valueType string, segments, flags int, more map[string]any) {
		doc := map[string]any{"key": key, "type": kind, "valueType": valueType, "default": d.rules(valueType, segments, flags)}
		if d.IntN(2) == 0 && kind != "segment" {
			own := d.rules(valueType, segments, flags)
			own["id"] = pick(d, environment, "staging")
			doc["environments"] = []any{own}
		}
		for name, value := range more {
			doc[name] = value
		}
		stored := workspace.Stored{Path: workspace.Path(document.Type(kind), key), Key: key, Text: []byte(encode(doc))}
		if _, issues := document.Decode(stored.Read().Tree); len(issues) > 0 {
			t.Fatalf("%s: %v", stored.Text, issues)
		}
		ws.Items = append(ws.Items, stored)
	}
	for i := range 4 {
		add(fmt.Sprint("segment-", i), "segment", "bool", i, -1, nil)
	}
	for i := range 5 {
		add(fmt.Sprint("flag-", i), "feature_flag", pick(d, "bool", "string", "int", "json"), 4, i, nil)
	}
	for i := range 3 {
		add(fmt.Sprint("config-", i), "config", pick(d, "string", "json"), 4, 5, map[string]any{"sendToClientSdk": d.IntN(2) == 0})
	}
	slices.SortFunc(ws.Items, func(a, b workspace.Stored) int { return strings.Compare(a.Path, b.Path) })
	return ws
}
