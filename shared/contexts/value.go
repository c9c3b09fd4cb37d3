package contexts

import (
	"encoding"
	"encoding/json"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Kind is what a property holds.
type Kind uint8

// The kinds of property. The zero kind is a property that does not exist.
const (
	Absent Kind = iota
	Text
	Int
	Double
	Bool
	List
	// Object is a map, a struct or anything else that equals nothing.
	Object
)

// Value is a property as it was when it was handed in.
type Value struct {
	kind Kind
	text string
	list []Value // of scalars
}

// Kind says what the property holds.
func (v Value) Kind() Kind { return v.kind }

// Text is a scalar's text: a number in decimal, a bool as true or false.
func (v Value) Text() string { return v.text }

// Scalar reports whether the value has a text of its own.
func (v Value) Scalar() bool { return v.kind >= Text && v.kind <= Bool }

// Items are the scalars of a list.
func (v Value) Items() iter.Seq[Value] { return slices.Values(v.list) }

// ValueOf takes any Go value. Strings, numbers, bools, their pointers and
// what is defined as one of them are scalars; so are a time.Time (RFC 3339)
// and whatever else can write itself as text. What is nested in a list or an
// object is not looked into.
func ValueOf(v any) Value {
	switch v := v.(type) {
	case nil:
		return Value{}
	case string:
		return Value{kind: Text, text: v}
	case bool:
		return boolean(v)
	case int:
		return whole(int64(v))
	case int64:
		return whole(v)
	case float64:
		return floating(v, 64)
	case []string:
		items := make([]Value, len(v))
		for i, text := range v {
			items[i] = Value{kind: Text, text: text}
		}
		return Value{kind: List, list: items}
	case json.Number:
		return literal(string(v))
	case time.Time:
		return Value{kind: Text, text: v.Format(time.RFC3339Nano)}
	}
	return reflected(reflect.ValueOf(v), elements)
}

func boolean(b bool) Value { return Value{kind: Bool, text: strconv.FormatBool(b)} }

func whole(i int64) Value { return Value{kind: Int, text: strconv.FormatInt(i, 10)} }

// floating keeps a whole number whole, as JSON does. What is not a number, or
// beyond all, is no JSON number either: it is there and equals nothing.
func floating(f float64, bits int) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{kind: Object}
	}
	return Value{kind: Double, text: strconv.FormatFloat(f, 'g', -1, bits)}
}

// literal is a number that somebody decoded from JSON and kept as written.
func literal(text string) Value {
	if !json.Valid([]byte(text)) {
		return Value{kind: Text, text: text}
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Value{kind: Int, text: text}
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) {
		return Value{kind: Text, text: text}
	}
	return Value{kind: Double, text: text}
}

// maxPointers bounds how long a chain of pointers is followed, as it may be a
// ring.
const maxPointers = 8

func reflected(v reflect.Value, list func(reflect.Value) Value) Value {
	for range maxPointers {
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
			return plain(v, list)
		}
		if v.IsNil() {
			return Value{}
		}
		if text, ok := written(v); ok {
			return text
		}
		v = v.Elem()
	}
	return Value{kind: Object}
}

func plain(v reflect.Value, list func(reflect.Value) Value) Value {
	if text, ok := written(v); ok {
		return text
	}
	switch v.Kind() {
	case reflect.String:
		return Value{kind: Text, text: v.String()}
	case reflect.Bool:
		return boolean(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return whole(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return unsigned(v.Uint())
	case reflect.Float32:
		return floating(v.Float(), 32)
	case reflect.Float64:
		return floating(v.Float(), 64)
	case reflect.Slice, reflect.Array:
		return list(v)
	case reflect.Map:
		if v.IsNil() {
			return Value{}
		}
	}
	return Value{kind: Object}
}

// unsigned is a double where it does not fit: its digits stay all the same.
func unsigned(u uint64) Value {
	v := Value{kind: Int, text: strconv.FormatUint(u, 10)}
	if u > math.MaxInt64 {
		v.kind = Double
	}
	return v
}

// written is the text of a value that can write itself, unless it panics.
func written(v reflect.Value) (text Value, ok bool) {
	if !v.CanInterface() {
		return Value{}, false
	}
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return Value{}, false
	}
	defer func() {
		if recover() != nil {
			text, ok = Value{}, false
		}
	}()
	b, err := m.MarshalText()
	return Value{kind: Text, text: string(b)}, err == nil
}

func elements(v reflect.Value) Value {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return Value{}
	}
	items := make([]Value, 0, v.Len())
	for i := range v.Len() {
		if scalar := reflected(v.Index(i), unread); scalar.Scalar() {
			items = append(items, scalar)
		}
	}
	return Value{kind: List, list: items}
}

// unread stands for a list in a list, which might hold itself.
func unread(reflect.Value) Value { return Value{kind: Object} }
