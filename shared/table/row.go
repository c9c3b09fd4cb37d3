package table

import (
	"bytes"
	"strconv"
	"time"
)

// Key names a row: rows of one partition can be queried in the order of Sort. Neither
// part is empty, and Partition holds no NUL.
type Key struct{ Partition, Sort string }

// Row is a row, or a part of one.
type Row struct {
	Key
	Attributes
}

// Attributes are values by name. No name is empty, pk or sk.
type Attributes map[string]Value

// Value is a Text, a Number, Bytes or a Truth; or it is Foreign.
type Value interface{ size() int }

// The types of values.
type (
	Text   string
	Number int64
	Bytes  []byte
	Truth  bool
	// Foreign is a value that was read and is none of these, as text that tells it from
	// others: another program has written it, a newer svc perhaps. It is not written.
	Foreign string
)

func (v Text) size() int    { return len(v) }
func (v Number) size() int  { return len(strconv.FormatInt(int64(v), 10)) }
func (v Bytes) size() int   { return len(v) }
func (Truth) size() int     { return 1 }
func (v Foreign) size() int { return len(v) }

// Until is the value of Expires for a time.
func Until(t time.Time) Number { return Number(t.Unix()) }

// Text is an attribute that is a Text, "" when there is none.
func (a Attributes) Text(name string) string {
	v, _ := a[name].(Text)
	return string(v)
}

// Number is an attribute that is a Number, 0 when there is none.
func (a Attributes) Number(name string) int64 {
	v, _ := a[name].(Number)
	return int64(v)
}

// Bytes is an attribute that is Bytes, nil when there is none.
func (a Attributes) Bytes(name string) []byte {
	v, _ := a[name].(Bytes)
	return v
}

// Truth is an attribute that is a Truth, false when there is none.
func (a Attributes) Truth(name string) bool {
	v, _ := a[name].(Truth)
	return bool(v)
}

// Only are the attributes of these names; without names, all.
func (a Attributes) Only(names ...string) Attributes {
	if len(names) == 0 {
		return a
	}
	some := Attributes{}
	for _, name := range names {
		if v, is := a[name]; is {
			some[name] = v
		}
	}
	return some
}

// Size is what a row takes of MaxRow: the bytes of its key, names and values.
func (r Row) Size() int {
	n := len(r.Partition) + len(r.Sort)
	for name, value := range r.Attributes {
		n += len(name) + value.size()
	}
	return n
}

// Equal reports whether two values are of one type and the same; nil is no value.
func Equal(a, b Value) bool {
	if a, ok := a.(Bytes); ok {
		b, ok := b.(Bytes)
		return ok && bytes.Equal(a, b)
	}
	if _, ok := b.(Bytes); ok {
		return false
	}
	return a != nil && a == b
}
