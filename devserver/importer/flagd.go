package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/murmur3"
)

// flagd reads flag definitions of flagd: variants, and targeting in JsonLogic.
var flagd = system{
	name: "flagd", title: "flagd",
	recognises: func(root map[string]json.RawMessage) bool {
		var flags map[string]struct {
			State    *string         `json:"state"`
			Variants json.RawMessage `json:"variants"`
		}
		if decode(root["flags"], &flags) != nil {
			return false
		}
		for _, f := range flags {
			if f.State != nil && len(f.Variants) > 0 && f.Variants[0] == '{' {
				return true
			}
		}
		return len(flags) == 0 && strings.Contains(string(root["$schema"]), "flagd")
	},
	flags: flagdFlags,
	notes: []string{
		"Properties keep their names, and the targeting key is user.key: OpenFeature's clients send the same contexts as before.",
		"JsonLogic compares a text with a number as if it were one; svc does not: send numbers as numbers.",
		"A fractional split by the targeting key puts everybody into the same arm as before.",
		"A flag that is disabled serves nothing, so that the default in the code counts, as in flagd.",
	},
}

type flagdFlag struct {
	State          string                     `json:"state"`
	Variants       map[string]json.RawMessage `json:"variants"`
	DefaultVariant *string                    `json:"defaultVariant"`
	Targeting      any                        `json:"targeting"`
	Metadata       map[string]any             `json:"metadata"`
}

func flagdFlags(root map[string]json.RawMessage) (flags []*flag, err error) {
	var raw map[string]json.RawMessage
	if err := decode(root["flags"], &raw); err != nil {
		return nil, errors.New(`"flags" is an object of flags by their keys, such as {"flags": {"dark-mode": {...}}}`)
	}
	evaluators := map[string]any{}
	if shared := root["$evaluators"]; shared != nil && decode(shared, &evaluators) != nil {
		return nil, errors.New(`"$evaluators" is an object of rules by their names`)
	}
	for _, key := range sortedKeys(raw) {
		f := &flag{Item: Item{Key: key, Pointer: under("", "flags", key)}}
		flags = append(flags, f)
		var def flagdFlag
		if decode(raw[key], &def) != nil {
			f.refuse(f.Pointer, `a flag is an object such as {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"}`)
			continue
		}
		for _, name := range sortedKeys(def.Variants) {
			f.variants = append(f.variants, variant{name, def.Variants[name]})
		}
		f.description, _ = def.Metadata["description"].(string)
		switch def.State {
		case "DISABLED":
			continue
		case "ENABLED":
		default:
			f.refuse(under(f.Pointer, "state"), "the state is ENABLED or DISABLED")
			continue
		}
		l := jsonLogic{flag: f, evaluators: evaluators, fallback: -1}
		if def.DefaultVariant != nil && *def.DefaultVariant != "" {
			if l.fallback = f.variant(*def.DefaultVariant); l.fallback < 0 {
				f.refuse(under(f.Pointer, "defaultVariant"), "there is no variant %q", *def.DefaultVariant)
				continue
			}
		}
		at := under(f.Pointer, "targeting")
		if target, isObject := def.Targeting.(map[string]any); def.Targeting != nil && !(isObject && len(target) == 0) {
			if err := l.outcome(def.Targeting, at, always, 0); err != nil {
				f.refuse(err.pointer, "%s", err.message)
				continue
			}
		} else {
			l.otherwise(always)
		}
	}
	return flags, nil
}

// jsonLogic turns the targeting of one flag into rules.
type jsonLogic struct {
	*flag
	evaluators map[string]any
	fallback   int // the default variant, or -1
	steps      int // operations looked at
}

// logicError is why a rule has no counterpart, and where it stands.
type logicError struct{ pointer, message string }

func wrong(pointer, format string, args ...any) *logicError {
	return &logicError{pointer, fmt.Sprintf(format, args...)}
}

// Bounds on the JsonLogic of one flag, by way of $ref too: how deep it may nest, and how
// many operations it may have.
const (
	maxLogic = 50
	maxSteps = 20_000
)

// operation takes an operation apart, by way of $ref.
func (l *jsonLogic) operation(node any, at string, depth *int) (operator string, args []any, err *logicError) {
	for {
		object, _ := node.(map[string]any)
		if *depth++; *depth > maxLogic {
			return "", nil, wrong(at, "the rules nest deeper than %d, or lead in a circle by $ref", maxLogic)
		}
		if l.steps++; l.steps > maxSteps {
			return "", nil, wrong(at, "the rules take more than %d steps, with what they refer to by $ref", maxSteps)
		}
		if len(object) != 1 {
			return "", nil, nil
		}
		for operator, node = range object {
		}
		if operator == "$ref" {
			name, _ := node.(string)
			shared, known := l.evaluators[name]
			if !known {
				return "", nil, wrong(at, "there is no %q among the $evaluators", name)
			}
			node = shared
			continue
		}
		list, isList := node.([]any)
		if !isList {
			list = []any{node}
		}
		return operator, list, nil
	}
}

// outcome adds the rules of what a node comes to, where a condition holds.
func (l *jsonLogic) outcome(node any, at string, when condition, depth int) *logicError {
	serves := func(name string) *logicError {
		number := l.variant(name)
		if number < 0 {
			return wrong(at, "there is no variant %q: flagd answers with an error here, for which svc has no rule", name)
		}
		l.rules = append(l.rules, serve(when, number))
		return nil
	}
	switch v := node.(type) {
	case nil:
		return l.noVariant(at, when)
	case string:
		return serves(v)
	case bool, json.Number:
		return serves(fmt.Sprint(v))
	}
	operator, args, err := l.operation(node, at, &depth)
	switch {
	case err != nil:
		return err
	case operator == "if" || operator == "?:":
		return l.branches(args, under(at, operator), when, depth)
	case operator == "fractional":
		return l.fractional(args, under(at, operator), when)
	}
	holds, err := l.condition(node, at, depth)
	if err != nil {
		return err
	}
	outer := when
	when = all(outer, holds)
	if err := serves("true"); err != nil {
		return err
	}
	when = outer
	return serves("false")
}

// noVariant serves the default variant. Where there is none, the code's own default
// counts, which nothing but the end of the rules can say.
func (l *jsonLogic) noVariant(at string, when condition) *logicError {
	if l.fallback < 0 && !when.isAlways() {
		return wrong(at, "without a defaultVariant nothing is served here, which no rule of svc says: name a variant")
	}
	l.otherwise(when)
	return nil
}

func (l *jsonLogic) otherwise(when condition) {
	if l.fallback >= 0 {
		l.rules = append(l.rules, serve(when, l.fallback))
	}
}

func (l *jsonLogic) branches(args []any, at string, when condition, depth int) *logicError {
	i := 0
	for ; i+1 < len(args); i += 2 {
		holds, err := l.condition(args[i], element(at, i), depth)
		if err == nil {
			err = l.outcome(args[i+1], element(at, i+1), all(when, holds), depth)
		}
		if err != nil {
			return err
		}
	}
	if i < len(args) {
		return l.outcome(args[i], element(at, i), when, depth)
	}
	return l.noVariant(at, when)
}

func element(at string, i int) string { return fmt.Sprintf("%s/%d", at, i) }

// fractional is a split, and the default variant for who has no property to split by.
func (l *jsonLogic) fractional(args []any, at string, when condition) *logicError {
	by, keyed, named := targetingKey, true, false
	if len(args) > 0 {
		if _, isArm := args[0].([]any); !isArm {
			var ok bool
			if by, keyed, ok = splitProperty(args[0]); !ok {
				return wrong(element(at, 0), `svc splits by one property, which is hashed behind the flag's key: {"cat": [{"var": "$flagd.flagKey"}, {"var": "email"}]}`)
			}
			args, named = args[1:], true
		}
	}
	split := rule{when: all(when, present(by)), by: by}
	var total int64
	for i, a := range args {
		parts, _ := a.([]any)
		if len(parts) == 0 || len(parts) > 2 {
			return wrong(at, `an arm is a variant and its weight, such as ["on", 50]`)
		}
		name, weight := fmt.Sprint(parts[0]), int64(1)
		if len(parts) == 2 {
			literal, _ := parts[1].(json.Number)
			var err error
			if weight, err = literal.Int64(); err != nil || weight > 1<<31-1 {
				return wrong(at, "the weight of the arm %q is no integer of at most 2147483647", name)
			}
		}
		number := l.variant(name)
		if number < 0 {
			return wrong(at, "arm %d: there is no variant %q", i, name)
		}
		split.arms = append(split.arms, arm{number, max(weight, 0)})
		total += max(weight, 0)
	}
	if !keyed {
		l.approximate(at, "flagd hashes %s alone, svc the flag's key and %s: the shares are the same, and people are in other arms", by, by)
	}
	if total > 0 {
		l.rules = append(l.rules, split)
	}
	if by != targetingKey && keyed {
		l.approximate(at, "who has no %s is in the arm where the server flagd has all of them; some of flagd's providers have them in another", by)
	}
	if total > 0 && named && keyed { // what is absent is the empty text: all of these are in one arm
		at := int64(uint64(murmur3.StringSum32(l.Key)) * uint64(total) >> 32)
		for _, a := range split.arms {
			if at -= a.weight; at < 0 {
				l.rules = append(l.rules, serve(when, a.variant))
				return nil
			}
		}
	}
	return l.noVariant(at, when)
}

// targetingKey is the property that OpenFeature's targeting key stands for.
const targetingKey = "user.key"

// splitProperty is what a fractional splits by, and whether the flag's key is hashed
// before it.
func splitProperty(node any) (property string, keyed, ok bool) {
	if property, ok = variable(node); ok {
		return property, false, true
	}
	object, _ := node.(map[string]any)
	parts, _ := object["cat"].([]any)
	if len(object) != 1 || len(parts) != 2 {
		return "", false, false
	}
	key, isKey := named(parts[0])
	property, ok = variable(parts[1])
	return property, true, ok && isKey && key == "$flagd.flagKey"
}

// variable is the property that {"var": ...} names, in the words of svc.
func variable(node any) (property string, ok bool) {
	property, ok = named(node)
	return property, ok && !strings.HasPrefix(property, "$")
}

// named is variable for what flagd itself adds to the context, too.
func named(node any) (property string, ok bool) {
	object, _ := node.(map[string]any)
	named, isThere := object["var"]
	if list, isList := named.([]any); isList && len(list) == 1 {
		named = list[0]
	}
	name, isText := named.(string)
	if len(object) != 1 || !isThere || !isText || name == "" {
		return "", false
	}
	if name == "targetingKey" {
		return targetingKey, true
	}
	return name, strings.Count(name, ".") <= 1
}
