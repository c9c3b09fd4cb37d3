package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"svc.example/svc/shared/contexts"
)

// Bool is the value of a bool flag or config in the scope of ctx, or the
// default. As with every getter, jit is just-in-time context: for this
// evaluation alone, over the scoped and the global context.
func (c *Client) Bool(ctx context.Context, key string, or bool, jit ...*contexts.Set) bool {
	return get(c, ctx, key, or, jit, asBool)
}

// String is the value of a string, or the default.
func (c *Client) String(ctx context.Context, key string, or string, jit ...*contexts.Set) string {
	return get(c, ctx, key, or, jit, asString)
}

// Int is the value of an int, or the default.
func (c *Client) Int(ctx context.Context, key string, or int64, jit ...*contexts.Set) int64 {
	return get(c, ctx, key, or, jit, asInt)
}

// Float is the value of a double or an int, or the default.
func (c *Client) Float(ctx context.Context, key string, or float64, jit ...*contexts.Set) float64 {
	return get(c, ctx, key, or, jit, asFloat)
}

// StringList is the value of a string list, or the default. It is the
// caller's own copy.
func (c *Client) StringList(ctx context.Context, key string, or []string, jit ...*contexts.Set) []string {
	return get(c, ctx, key, or, jit, asList)
}

// Duration is the value of a duration, or the default.
func (c *Client) Duration(ctx context.Context, key string, or time.Duration, jit ...*contexts.Set) time.Duration {
	return get(c, ctx, key, or, jit, asDuration)
}

// JSON is the value of a json, or the default. It is the caller's own copy.
func (c *Client) JSON(ctx context.Context, key string, or json.RawMessage, jit ...*contexts.Set) json.RawMessage {
	return get(c, ctx, key, or, jit, asJSON)
}

// BoolDetails is Bool with how the value came about.
func (c *Client) BoolDetails(ctx context.Context, key string, or bool, jit ...*contexts.Set) Details[bool] {
	return details(c, ctx, key, or, jit, asBool)
}

// StringDetails is String with how the value came about.
func (c *Client) StringDetails(ctx context.Context, key string, or string, jit ...*contexts.Set) Details[string] {
	return details(c, ctx, key, or, jit, asString)
}

// IntDetails is Int with how the value came about.
func (c *Client) IntDetails(ctx context.Context, key string, or int64, jit ...*contexts.Set) Details[int64] {
	return details(c, ctx, key, or, jit, asInt)
}

// FloatDetails is Float with how the value came about.
func (c *Client) FloatDetails(ctx context.Context, key string, or float64, jit ...*contexts.Set) Details[float64] {
	return details(c, ctx, key, or, jit, asFloat)
}

// StringListDetails is StringList with how the value came about.
func (c *Client) StringListDetails(ctx context.Context, key string, or []string, jit ...*contexts.Set) Details[[]string] {
	return details(c, ctx, key, or, jit, asList)
}

// DurationDetails is Duration with how the value came about.
func (c *Client) DurationDetails(ctx context.Context, key string, or time.Duration, jit ...*contexts.Set) Details[time.Duration] {
	return details(c, ctx, key, or, jit, asDuration)
}

// JSONDetails is JSON with how the value came about.
func (c *Client) JSONDetails(ctx context.Context, key string, or json.RawMessage, jit ...*contexts.Set) Details[json.RawMessage] {
	return details(c, ctx, key, or, jit, asJSON)
}

// AnyDetails is the value of an item of any type, as JSON.
func (c *Client) AnyDetails(ctx context.Context, key string, or json.RawMessage, jit ...*contexts.Set) Details[json.RawMessage] {
	return details(c, ctx, key, or, jit, func(v *value) (json.RawMessage, bool) { return slices.Clone(v.raw), true })
}

// find finds an item.
func (c *Client) find(key string) (*table, int, *Error) {
	t := c.table.Load()
	if t == nil {
		return nil, 0, errNotReady
	}
	i, ok := t.index[key]
	if !ok {
		return t, 0, errNotFound
	}
	return t, i, nil
}

// evaluate evaluates an item for a getter.
func (c *Client) evaluate(ctx context.Context, t *table, i int, jit []*contexts.Set) outcome {
	var out outcome
	set := contexts.Merged(ctx, c.global.Current())
	if above := jitOf(jit); above.Len() == 0 {
		out = t.in(set, i, c)
	} else {
		set = set.Under(above)
		c.telemetry.saw(set)
		out, _ = t.once(set, i, c)
	}
	c.count(t, out)
	return out
}

func (c *Client) count(t *table, out outcome) {
	if c.telemetry != nil && out.value != nil {
		t.answers[out.answer].served.Add(1)
	}
}

var (
	errNotReady = &Error{Code: NotReady, Message: "nothing has been loaded yet"}
	errNotFound = &Error{Code: NotFound, Message: "there is no flag, config or log level of this key"}
)

func jitOf(jit []*contexts.Set) *contexts.Set {
	if len(jit) == 0 {
		return nil
	}
	above := jit[0]
	for _, more := range jit[1:] {
		above = above.Under(more)
	}
	return above
}
