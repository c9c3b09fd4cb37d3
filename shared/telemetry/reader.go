package telemetry

import (
	"fmt"
	"strconv"
	"time"

	"svc.example/svc/shared/jsontree"
)

// reader collects what is wrong with a body while it reads it.
type reader struct {
	issues []jsontree.Issue
	more   int // that are not listed

	contexts int // of all examples so far
}

func (r *reader) refuse(at *place, format string, args ...any) {
	if len(r.issues) == jsontree.MaxIssues {
		r.more++
		return
	}
	r.issues = append(r.issues, jsontree.Issue{Pointer: at.pointer(), Message: fmt.Sprintf(format, args...)})
}

// kind reports whether a node is of a kind, and refuses one that is not.
func (r *reader) kind(at *place, n *jsontree.Node, want jsontree.Kind, what string) bool {
	if n != nil && n.Kind == want {
		return true
	}
	if n == nil {
		r.refuse(at, "%s; it is missing", what)
	} else {
		r.refuse(at, "%s, not %s", what, n.Kind)
	}
	return false
}

// list reads an array of at most so many elements; a missing one is empty, as
// many encoders leave empty lists out.
func (r *reader) list(at *place, n *jsontree.Node, most int, what string) []*jsontree.Node {
	if n == nil || n.Kind == jsontree.Null || !r.kind(at, n, jsontree.Array, what) {
		return nil
	}
	if len(n.Items) > most {
		r.refuse(at, "there are too many: %d, and at most %d more are taken in one batch; send them in several batches", len(n.Items), most)
		return nil
	}
	return n.Items
}

// members reads an object of at most MaxProperties properties.
func (r *reader) members(at *place, n *jsontree.Node, what string) []jsontree.Member {
	if n == nil || n.Kind == jsontree.Null || !r.kind(at, n, jsontree.Object, what) {
		return nil
	}
	if len(n.Members) > MaxProperties {
		r.refuse(at, "there are %d properties, and at most %d are taken", len(n.Members), MaxProperties)
		return nil
	}
	for _, m := range n.Members {
		if len(m.Name) > MaxName {
			r.refuse(at.in(m.Name), "the name of a property has at most %d bytes, this one has %d", MaxName, len(m.Name))
		}
	}
	return n.Members
}

// property reads a plain value, or one that names its kind, as in
// {"string": "pro"}. A value of a kind that is not known, or of none, is no
// mistake: the property is left out.
func (r *reader) property(at *place, name string, n *jsontree.Node) Property {
	p := Property{Name: name}
	if n.Kind != jsontree.Object {
		if p.Kind = plainKind(n); p.Kind != 0 {
			r.value(at, n, &p)
		}
		return p
	}
	for _, m := range n.Members {
		kind := kindOf(m.Name)
		if kind == 0 || m.Value.Kind == jsontree.Null {
			continue
		}
		if p.Kind != 0 {
			r.refuse(at, "a value has one kind, this one has %s and %s", p.Kind, kind)
			return p
		}
		p.Kind = kind
		r.value(at.in(m.Name), m.Value, &p)
	}
	return p
}

// plainKind is the kind of a value that does not name it; 0 for null.
func plainKind(n *jsontree.Node) Kind {
	switch n.Kind {
	case jsontree.String:
		return String
	case jsontree.Bool:
		return Bool
	case jsontree.Array:
		return StringList
	case jsontree.Number:
		if _, err := strconv.ParseInt(n.Literal(), 10, 64); err == nil {
			return Int
		}
		return Double
	}
	return 0
}

func (r *reader) value(at *place, n *jsontree.Node, p *Property) {
	switch p.Kind {
	case String:
		if r.kind(at, n, jsontree.String, "the value is a string") {
			p.Text, _ = n.Text()
			r.length(at, p.Text, MaxText)
		}
	case Int:
		if number, err := parseInt(n); err == nil {
			p.Text = strconv.FormatInt(number, 10)
		} else {
			r.refuse(at, "the value is a whole number of 64 bits")
		}
	case Double:
		if r.kind(at, n, jsontree.Number, "the value is a number") {
			p.Text = n.Literal()
			r.length(at, p.Text, MaxText)
		}
	case Bool:
		if r.kind(at, n, jsontree.Bool, "the value is true or false") {
			boolean, _ := n.Bool()
			p.Text = strconv.FormatBool(boolean)
		}
	case StringList:
		p.List = r.strings(at, n)
	}
}

// strings reads a list of strings: an array, or one in an object as
// {"values": [...]}.
func (r *reader) strings(at *place, n *jsontree.Node) []string {
	if inner := n.Get("values"); inner != nil {
		at, n = at.in("values"), inner
	}
	if !r.kind(at, n, jsontree.Array, "the value is an array of strings") {
		return nil
	}
	list := []string{}
	for i, item := range r.list(at, n, MaxList, "") {
		if r.kind(at.at(i), item, jsontree.String, "an element is a string") {
			text, _ := item.Text()
			r.length(at.at(i), text, MaxText)
			list = append(list, text)
		}
	}
	return list
}

// Plain are those contexts of {"user": {"key": "u-1", "plan": "pro"}} that have a key, as
// they would be saved. Properties of no kind that is are left out.
func Plain(environment string, contexts *jsontree.Node, seen time.Time) (all []Saved) {
	for _, m := range contexts.Members {
		c := Saved{Environment: environment, Type: m.Name, LastSeen: seen}
		for _, value := range m.Value.Members {
			var r reader
			p := r.property(new(place), value.Name, value.Value)
			if value.Value.Kind == jsontree.Object || p.Kind == 0 || len(r.issues) > 0 {
				continue
			}
			if c.Properties = append(c.Properties, p); p.Name == keyProperty {
				c.Key = r.key(new(place), p)
			}
		}
		if c.Key != "" && len(c.Key) <= MaxKey && len(c.Type) <= MaxName {
			c.Properties = kept(c.Properties)
			all = append(all, c)
		}
	}
	return all
}

// place is where a reader is; its pointer is written only when it is needed.
type place struct {
	up   *place
	name string
}

func (p *place) in(name string) *place { return &place{p, name} }

func (p *place) at(i int) *place { return &place{p, strconv.Itoa(i)} }

func (p *place) pointer() string {
	if p == nil {
		return ""
	}
	return p.up.pointer() + jsontree.Pointer(cut(p.name, MaxName))
}
