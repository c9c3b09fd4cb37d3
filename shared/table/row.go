package table

import (
	"bytes"
	"cmp"
	"slices"
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

// Value is a Text, Number, Bytes, Bool or Texts.
type Value interface{ size() int }

// The types of values.
type (
	Text   string
	Number int64
	Bytes  []byte
	Bool   bool
	Texts  []string // a set: not empty, sorted, each once
)

func (v Text) size() int   { return len(v) }
func (v Number) size() int { return len(strconv.FormatInt(int64(v), 10)) }
func (v Bytes) size() int  { return len(v) }
func (Bool) size() int     { return 1 }
func (v Texts) size() (n int) {
	for _, s := range v {
		n += len(s)
	}
	return n
}

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

// Bool is an attribute that is a Bool, false when there is none.
func (a Attributes) Bool(name string) bool {
	v, _ := a[name].(Bool)
	return bool(v)
}

// Texts is an attribute that is Texts, nil when there is none.
func (a Attributes) Texts(name string) []string {
	v, _ := a[name].(Texts)
	return v
}

// Size is what a row takes of MaxRow: the bytes of its key, names and values.
func (r Row) Size() int {
	n := len(r.Partition) + len(r.Sort)
	for name, value := range r.Attributes {
		n += len(name) + value.size()
	}
	return n
}

// Equal reports whether two values are of one type and the same.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case Bytes:
		b, ok := b.(Bytes)
		return ok && bytes.Equal(a, b)
	case Texts:
		b, ok := b.(Texts)
		return ok && slices.Equal(a, b)
	}
	switch b.(type) {
	case Bytes, Texts:
		return false
	}
	return a == b
}

// compare orders two values of one type; of two types, none holds.
func compare(a, b Value) (order int, comparable bool) {
	switch a := a.(type) {
	case Text:
		b, ok := b.(Text)
		return bytes.Compare([]byte(a), []byte(b)), ok
	case Number:
		b, ok := b.(Number)
		return cmp.Compare(a, b), ok
	case Bytes:
		b, ok := b.(Bytes)
		return bytes.Compare(a, b), ok
	}
	return 0, false
}
