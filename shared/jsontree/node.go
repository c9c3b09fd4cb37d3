package jsontree

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the JSON type of a node.
type Kind byte

// The kinds of JSON value. The zero Kind is no value at all.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

// String names the kind as a person reading an error message would.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "nothing"
}

// Node is one JSON value.
type Node struct {
	Kind Kind
	// Offset is the byte at which the value begins in the text it was parsed
	// from, and -1 for a node that an edit made.
	Offset int
	// Members are an object's members in written order.
	Members []Member
	// Items are an array's elements.
	Items []*Node

	text []byte // a scalar as written
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value *Node

	text []byte // the name as written, quotes included
}

// All visits the node and every value within it, each before what it holds. There is
// none in a nil node.
func (n *Node) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { n.all(yield) }
}

func (n *Node) all(yield func(*Node) bool) (more bool) {
	if n == nil {
		return true
	}
	more = yield(n)
	for i := 0; more && i < len(n.Members); i++ {
		more = n.Members[i].Value.all(yield)
	}
	for i := 0; more && i < len(n.Items); i++ {
		more = n.Items[i].all(yield)
	}
	return more
}

// Walk is All with pointers, for a visitor that returns whether to look into the value.
func (n *Node) Walk(visit func(pointer string, n *Node) (deeper bool)) { n.walk("", visit) }

func (n *Node) walk(pointer string, visit func(pointer string, n *Node) bool) {
	if !visit(pointer, n) {
		return
	}
	for _, m := range n.Members {
		m.Value.walk(pointer+Pointer(m.Name), visit)
	}
	for i, item := range n.Items {
		item.walk(pointer+"/"+strconv.Itoa(i), visit)
	}
}

// Values is how many values the tree holds, with its own.
func (n *Node) Values() (sum int) {
	for range n.All() {
		sum++
	}
	return sum
}

// NewObject makes an object of members in the order given.
func NewObject(members ...Member) *Node {
	return &Node{Kind: Object, Offset: -1, Members: members}
}

// NewArray makes an array.
func NewArray(items ...*Node) *Node {
	return &Node{Kind: Array, Offset: -1, Items: items}
}

// NewString makes a string.
func NewString(s string) *Node {
	return &Node{Kind: String, Offset: -1, text: quote(s)}
}

// NewBool makes a boolean.
func NewBool(b bool) *Node {
	return &Node{Kind: Bool, Offset: -1, text: strconv.AppendBool(nil, b)}
}

// NewInt makes a number.
func NewInt(i int64) *Node {
	return &Node{Kind: Number, Offset: -1, text: strconv.AppendInt(nil, i, 10)}
}

// NewDouble makes a number that is written with a fraction, of the digits of another.
func NewDouble(digits string) *Node {
	return &Node{Kind: Number, Offset: -1, text: []byte(digits + ".0")}
}

// Field makes a member for NewObject.
func Field(name string, value *Node) Member {
	return Member{Name: name, Value: value, text: quote(name)}
}

// quote cannot fail: AppendQuote replaces what is not UTF-8.
func quote(s string) []byte {
	if text, ok := quoted[s]; ok {
		return text
	}
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	return b
}

// quoted are the known names in quotes. Like every text of a node, they are never written
// to.
var quoted = func() map[string][]byte {
	all := map[string][]byte{}
	for name := range known {
		all[name] = []byte(strconv.Quote(name))
	}
	return all
}()

// Get returns the member of that name, or nil. It may be called on a nil node
// and on one that is no object, so that a path can be followed in one line.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Name == name {
			return n.Members[i].Value
		}
	}
	return nil
}

// Absent treats an explicit null as a member left out: old files have both.
func (n *Node) Absent() bool { return n == nil || n.Kind == Null }

// Elements are the elements of an array. It may be called on a nil node and on
// one that is no array, which have none.
func (n *Node) Elements() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Without is an object less some members. The rest is shared with the object.
// What is no object is returned as it is.
func (n *Node) Without(names ...string) *Node {
	if n == nil || n.Kind != Object {
		return n
	}
	rest := NewObject()
	for _, m := range n.Members {
		if !slices.Contains(names, m.Name) {
			rest.Members = append(rest.Members, m)
		}
	}
	return rest
}

// Set replaces the member of that name in place, or appends it.
func (n *Node) Set(name string, value *Node) {
	for i := range n.Members {
		if n.Members[i].Name == name {
			n.Members[i].Value = value
			return
		}
	}
	n.Members = append(n.Members, Field(name, value))
}

// SetFirst replaces the member of that name in place, or puts it first.
func (n *Node) SetFirst(name string, value *Node) {
	if n.Get(name) != nil {
		n.Set(name, value)
		return
	}
	n.Members = append([]Member{Field(name, value)}, n.Members...)
}

// Delete removes the member of that name and reports whether there was one.
func (n *Node) Delete(name string) bool {
	for i := range n.Members {
		if n.Members[i].Name == name {
			n.Members = append(n.Members[:i:i], n.Members[i+1:]...)
			return true
		}
	}
	return false
}

// Text returns the decoded text of a string, and false for any other kind.
func (n *Node) Text() (string, bool) {
	if n == nil || n.Kind != String {
		return "", false
	}
	text, err := unquoted(n.text) // most have no escapes
	return text, err == nil
}

// BeginsWith reports whether a node is a string that is written with that beginning, which
// needs no escapes.
func (n *Node) BeginsWith(prefix string) bool {
	return n != nil && n.Kind == String && len(n.text) > 0 && bytes.HasPrefix(n.text[1:], []byte(prefix))
}

// Bool returns the value of a boolean, and false, false for any other kind.
func (n *Node) Bool() (value, ok bool) {
	if n == nil || n.Kind != Bool {
		return false, false
	}
	return n.text[0] == 't', true
}

// UnmarshalJSON reads a value that package json has found in a larger one.
func (n *Node) UnmarshalJSON(text []byte) error {
	read, err := Parse(text)
	if err == nil {
		*n = *read
	}
	return err
}

// Literal returns a number as written, and "" for any other kind.
func (n *Node) Literal() string {
	if n == nil || n.Kind != Number {
		return ""
	}
	return string(n.text)
}

// Clone copies the tree. Edits work on a clone, so that a document another
// reader holds never changes under it.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := *n // the text of a scalar is never written to, so it is shared
	if n.Members != nil {
		c.Members = make([]Member, len(n.Members))
		for i, m := range n.Members {
			m.Value = m.Value.Clone()
			c.Members[i] = m
		}
	}
	if n.Items != nil {
		c.Items = make([]*Node, len(n.Items))
		for i, item := range n.Items {
			c.Items[i] = item.Clone()
		}
	}
	return &c
}
