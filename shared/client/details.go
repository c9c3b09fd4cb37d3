package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/document"
)

// Reason says how a value came about.
type Reason string

// The reasons.
const (
	// Static: no rule of the item looks at the context.
	Static Reason = "STATIC"
	// TargetingMatch: a rule matched the context.
	TargetingMatch Reason = "TARGETING_MATCH"
	// Split: a weighted value was decided.
	Split Reason = "SPLIT"
	// Default: no rule matched, and the value is the caller's default.
	Default Reason = "DEFAULT"
	// Failed: the value is the caller's default, and Err says why.
	Failed Reason = "ERROR"
)

// Code is a kind of error, by the names that OpenFeature gives them.
type Code string

// The codes.
const (
	NotReady     Code = "PROVIDER_NOT_READY" // nothing has been loaded yet
	NotFound     Code = "FLAG_NOT_FOUND"
	TypeMismatch Code = "TYPE_MISMATCH"
	General      Code = "GENERAL" // a value that could not be resolved or decrypted
)

// Error is why a default was returned. It never holds a value.
type Error struct {
	Code    Code
	Key     string
	Message string
}

func (e *Error) Error() string { return e.Key + ": " + e.Message }

// Details are a value and how it came about.
type Details[T any] struct {
	Key    string
	Value  T
	Reason Reason
	// RuleSource is the list that the rule stands in: environment or default;
	// "" unless a rule matched.
	RuleSource string
	RuleIndex  int    // of the rule in that list; -1 unless a rule matched
	ArmIndex   int    // of a split; -1 otherwise
	Variant    string // its name, or else static, targeting:<rule> or split:<arm>
	Type       string // feature_flag, config or log_level; "" when not found
	ValueType  string
	Version    string // of the workspace
	Secret     bool   // the value must not stand in a log
	Err        error  // an *Error, or nil
}

// Evaluation is what Options.Evaluated is told: what a getter returned, with how
// it came about, and for whom.
type Evaluation struct {
	Details[any]
	UserKey string // the key of the context user; "" where it has none
}

// redacted stands for a secret where details are written out.
const redacted = "[redacted]"

func (d Details[T]) shown() any {
	if d.Secret {
		return redacted
	}
	return d.Value
}

// Format writes the details without a secret value, whatever the verb.
func (d Details[T]) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "%s=%v (%s)", d.Key, d.shown(), d.Reason)
	if d.Err != nil {
		fmt.Fprintf(f, ": %v", d.Err)
	}
}

// LogValue is what a log shows of the details: no secret value.
func (d Details[T]) LogValue() slog.Value {
	return slog.GroupValue(slog.String("key", d.Key), slog.Any("value", d.shown()), slog.String("reason", string(d.Reason)))
}

// MarshalJSON writes the details without a secret value.
func (d Details[T]) MarshalJSON() ([]byte, error) {
	out := map[string]any{"key": d.Key, "value": d.shown(), "reason": d.Reason}
	if d.Err != nil {
		out["error"] = d.Err.Error()
	}
	return json.Marshal(out)
}

// pick reads a value as a type, where it is one.
type pick[T any] func(*value) (T, bool)

func asBool(v *value) (bool, bool) { return v.boolean, v.kind == document.BoolValue }

func asString(v *value) (string, bool) {
	return v.text, v.kind == document.StringValue || v.kind == document.LogLevelValue
}

func asInt(v *value) (int64, bool) { return v.whole, v.kind == document.IntValue }

func asFloat(v *value) (float64, bool) {
	return v.float, v.kind == document.DoubleValue || v.kind == document.IntValue
}

func asList(v *value) ([]string, bool) {
	return slices.Clone(v.list), v.kind == document.StringListValue
}

func asDuration(v *value) (time.Duration, bool) { return v.span, v.kind == document.DurationValue }

func asJSON(v *value) (json.RawMessage, bool) {
	return json.RawMessage(slices.Clone(v.raw)), v.kind == document.JSONValue
}

func get[T any](c *Client, ctx context.Context, key string, or T, jit []*contexts.Set, as pick[T]) T {
	if c.options.Evaluated != nil {
		return details(c, ctx, key, or, jit, as).Value
	}
	t, i, err := c.find(key)
	if err != nil {
		return or
	}
	if v := c.evaluate(ctx, t, i, jit).value; v != nil && v.err == nil {
		if out, ok := as(v); ok {
			return out
		}
	}
	return or
}

func details[T any](c *Client, ctx context.Context, key string, or T, jit []*contexts.Set, as pick[T]) Details[T] {
	d := explained(c, ctx, key, or, jit, as)
	if c.options.Evaluated != nil {
		user, _ := contexts.Merged(ctx, c.global.Current()).Under(jitOf(jit)).Context("user")
		id, _ := user.Key()
		c.options.Evaluated(ctx, Evaluation{Details[any]{d.Key, d.Value, d.Reason, d.RuleSource, d.RuleIndex, d.ArmIndex, d.Variant, d.Type, d.ValueType, d.Version, d.Secret, d.Err}, id})
	}
	return d
}

func explained[T any](c *Client, ctx context.Context, key string, or T, jit []*contexts.Set, as pick[T]) Details[T] {
	d := Details[T]{Key: key, Value: or, Reason: Default, RuleIndex: -1, ArmIndex: -1}
	t, i, err := c.find(key)
	if t != nil {
		d.Version = t.version
	}
	if err != nil {
		return d.failed(err)
	}
	d.Type, d.ValueType = string(t.items[i].kind), string(t.items[i].valueType)
	out := c.evaluate(ctx, t, i, jit)
	switch {
	case out.value == nil:
		return d
	case out.value.err != nil:
		return d.failed(out.value.err)
	}
	served, ok := as(out.value)
	if !ok {
		return d.failed(&Error{Code: TypeMismatch, Message: "the value is of type " + string(out.value.kind)})
	}
	a := &t.answers[out.answer]
	d.Value, d.Secret = served, out.value.secret
	d.Reason, d.Variant = Reason(a.reason), a.variant
	d.RuleSource, d.RuleIndex, d.ArmIndex = string(a.list), a.rule, a.arm
	return d
}

func (d Details[T]) failed(err *Error) Details[T] {
	d.Reason = Failed
	d.Err = &Error{err.Code, d.Key, err.Message}
	return d
}
