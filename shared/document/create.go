package document

import (
	"regexp"
	"slices"
	"strings"

	"svc.example/svc/shared/jsontree"
)

// Creation is what a request to create a flag or a config says.
type Creation struct {
	Key string
	// ValueType is the type as asked for: one of the contract's, aliases
	// included. "" is bool for a flag.
	ValueType string
	// Value is the bare value, nil when the request has none.
	Value       *jsontree.Node
	Description string
	Tags        []string
	// Schema is the address to stamp, "" for none.
	Schema string
}

// NewFlag makes the document of a new flag: one default rule for everyone, no
// environments. A bool flag serves false and has both truths as variants; any
// other serves the value, its one variant.
func NewFlag(c Creation) (*jsontree.Node, error) {
	if c.ValueType == "" {
		c.ValueType = string(BoolValue)
	}
	return c.document(Flag, "/type")
}

// NewConfig makes the document of a new config, in the same way; its value is
// always needed, and browsers are not sent it.
func NewConfig(c Creation) (*jsontree.Node, error) {
	return c.document(Config, "/valueType")
}

func (c Creation) document(kind Type, typePointer string) (*jsontree.Node, error) {
	issues := keyIssues(c.Key)
	valueType := canonicalType(ValueType(c.ValueType))
	var value *jsontree.Node
	switch {
	case !creatable[valueType]:
		issues = append(issues, Issue{Pointer: typePointer, Message: "the type is one of bool, string, int, double, string_list, json, duration"})
	case kind == Flag && valueType == BoolValue && c.Value != nil:
		issues = append(issues, Issue{Pointer: "/value", Message: "a bool flag is created switched off; leave value out and enable it afterwards"})
	case kind == Flag && valueType == BoolValue:
		value = valueObject(BoolValue, jsontree.NewBool(false))
	default:
		var problem string
		if value, problem = TypedValue(valueType, c.Value); problem != "" {
			issues = append(issues, Issue{Pointer: "/value", Message: problem})
		}
	}
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	return c.stored(kind, valueType, value)
}

var creatable = map[ValueType]bool{
	BoolValue: true, StringValue: true, IntValue: true, DoubleValue: true,
	StringListValue: true, JSONValue: true, DurationValue: true,
}

// stored writes the members in memberOrder.
func (c Creation) stored(kind Type, valueType ValueType, value *jsontree.Node) (*jsontree.Node, error) {
	tree := jsontree.NewObject()
	set := func(name string, n *jsontree.Node) { setInOrder(tree, name, n) }
	if c.Schema != "" {
		set("$schema", jsontree.NewString(c.Schema))
	}
	set("key", jsontree.NewString(c.Key))
	set("type", jsontree.NewString(string(kind)))
	set("valueType", jsontree.NewString(string(valueType)))
	if c.Description != "" {
		set("description", jsontree.NewString(c.Description))
	}
	set("access", jsontree.NewString("standard"))
	set("tags", textList(c.Tags))
	if kind == Config {
		set("sendToClientSdk", jsontree.NewBool(false))
	}
	set("default", jsontree.NewObject(jsontree.Field("rules", jsontree.NewArray(unconditional(value)))))
	set("environments", jsontree.NewArray())
	if kind != LogLevel {
		set("variants", variantList(kind, valueType, value))
	}
	if problem := StorageProblem(tree); problem != "" {
		return nil, refuse(Issue{Message: problem})
	}
	return tree, nil
}

func variantList(kind Type, valueType ValueType, value *jsontree.Node) *jsontree.Node {
	variant := func(value *jsontree.Node) *jsontree.Node {
		return jsontree.NewObject(jsontree.Field("value", value))
	}
	if kind == Flag && valueType == BoolValue {
		return jsontree.NewArray(
			variant(valueObject(BoolValue, jsontree.NewBool(false))),
			variant(valueObject(BoolValue, jsontree.NewBool(true))))
	}
	return jsontree.NewArray(variant(value.Clone()))
}

func textList(texts []string) *jsontree.Node {
	list := jsontree.NewArray()
	for _, text := range texts {
		list.Items = append(list.Items, jsontree.NewString(text))
	}
	return list
}

// NewLogLevel makes the first document of a service: one default rule that
// serves the level to every logger. A request that names a target or an
// environment is applied to this document before it is written, so that the
// same request again finds everything as it wants it.
func NewLogLevel(service, level, schema string) (*jsontree.Node, error) {
	c := Creation{Key: LogLevelKey(service), Schema: schema}
	issues := keyIssues(c.Key)
	if c.Key == LogLevelPrefix {
		issues = []Issue{{Pointer: "/key", Message: "the key names no service"}}
	}
	value, problem := TypedValue(LogLevelValue, jsontree.NewString(level))
	if problem != "" {
		issues = append(issues, Issue{Pointer: "/level", Message: problem})
	}
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	return c.stored(LogLevel, LogLevelValue, value)
}

// LogLevelKey is the key of a service's log-level document: the service's name
// behind the prefix, which the name may already have, in capitals too: keys that
// differ in case alone are one.
func LogLevelKey(service string) string {
	if n := len(LogLevelPrefix); len(service) >= n && strings.EqualFold(service[:n], LogLevelPrefix) {
		service = service[n:]
	}
	return LogLevelPrefix + service
}

var newKey = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$`)

func keyIssues(key string) []Issue {
	if problem := KeyProblem(key); problem != "" {
		return []Issue{{Pointer: "/key", Message: problem}}
	}
	return nil
}

// StampSchema returns the document with its $schema set to the address: in
// place, or in front when it had none. Without an address there is no $schema.
func StampSchema(tree *jsontree.Node, address string) *jsontree.Node {
	stamped := tree.Clone()
	if address == "" {
		stamped.Delete("$schema")
	} else {
		stamped.SetFirst("$schema", jsontree.NewString(address))
	}
	return stamped
}

// SameDocument says whether two documents say the same: the order of members,
// the spelling of numbers and $schema do not count.
func SameDocument(a, b *jsontree.Node) bool {
	return jsontree.Equal(without(a, "$schema"), without(b, "$schema"))
}

// without is an object less some members. The rest is shared with the object.
func without(n *jsontree.Node, names ...string) *jsontree.Node {
	if n == nil || n.Kind != jsontree.Object {
		return n
	}
	rest := jsontree.NewObject()
	for _, m := range n.Members {
		if !slices.Contains(names, m.Name) {
			rest.Members = append(rest.Members, m)
		}
	}
	return rest
}

// KeyProblem says why no document may be created with a key, or "".
func KeyProblem(key string) string {
	if newKey.MatchString(key) {
		return ""
	}
	return "a key has 1 to 200 letters, digits, dots, dashes and underscores, and no dot in front"
}
