package edit

import (
	"slices"

	"svc.example/svc/shared/document"
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
	Name        string
	Default     *jsontree.Node // of a segment; nil for one without members
	// Schema is the address to stamp, "" for none.
	Schema string
}

// NewFlag makes the document of a new flag: one default rule for everyone, no
// environments. A bool flag serves false and has both truths as variants; any
// other serves the value, its one variant.
func NewFlag(c Creation) (*jsontree.Node, error) {
	if c.ValueType == "" {
		c.ValueType = string(document.BoolValue)
	}
	return c.document(document.Flag, "/type")
}

// NewConfig makes the document of a new config, in the same way; its value is
// always needed, and browsers are not sent it.
func NewConfig(c Creation) (*jsontree.Node, error) {
	return c.document(document.Config, "/valueType")
}

// NewSegment makes the document of a new segment: of its default rules, or of one
// that keeps everybody out. Segments have no environments and no variants.
func NewSegment(c Creation) (*jsontree.Node, error) {
	if err := refuse(keyIssues(c.Key)...); err != nil {
		return nil, err
	}
	tree, err := c.stored(document.Segment, document.BoolValue, valueObject(document.BoolValue, jsontree.NewBool(false)))
	if c.Default != nil {
		tree.Set("default", c.Default)
	}
	return tree, err
}

func (c Creation) document(kind document.Type, typePointer string) (*jsontree.Node, error) {
	issues := keyIssues(c.Key)
	valueType := document.ValueType(c.ValueType).Canonical()
	var value *jsontree.Node
	switch {
	case !creatable[valueType]:
		issues = append(issues, document.Issue{Pointer: typePointer, Message: "the type is one of bool, string, int, double, string_list, json, duration"})
	case kind == document.Flag && valueType == document.BoolValue && c.Value != nil:
		issues = append(issues, document.Issue{Pointer: "/value", Message: "a bool flag is created switched off; leave value out and enable it afterwards"})
	case kind == document.Flag && valueType == document.BoolValue:
		value = valueObject(document.BoolValue, jsontree.NewBool(false))
	default:
		var problem string
		if value, problem = TypedValue(valueType, c.Value); problem != "" {
			issues = append(issues, document.Issue{Pointer: "/value", Message: problem})
		}
	}
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	return c.stored(kind, valueType, value)
}

var creatable = map[document.ValueType]bool{
	document.BoolValue: true, document.StringValue: true, document.IntValue: true, document.DoubleValue: true,
	document.StringListValue: true, document.JSONValue: true, document.DurationValue: true,
}

// stored writes the members in memberOrder.
func (c Creation) stored(kind document.Type, valueType document.ValueType, value *jsontree.Node) (*jsontree.Node, error) {
	tree := jsontree.NewObject()
	set := func(name string, n *jsontree.Node) { setInOrder(tree, name, n) }
	if c.Schema != "" {
		set("$schema", jsontree.NewString(c.Schema))
	}
	set("key", jsontree.NewString(c.Key))
	set("type", jsontree.NewString(string(kind)))
	set("valueType", jsontree.NewString(string(valueType)))
	if c.Name != "" {
		set("name", jsontree.NewString(c.Name))
	}
	if c.Description != "" {
		set("description", jsontree.NewString(c.Description))
	}
	set("access", jsontree.NewString("standard"))
	if kind != document.Segment {
		set("tags", textList(c.Tags))
	}
	if kind == document.Config {
		set("sendToClientSdk", jsontree.NewBool(false))
	}
	set("default", jsontree.NewObject(jsontree.Field("rules", jsontree.NewArray(unconditional(value)))))
	if kind == document.Segment {
		return tree, nil
	}
	set("environments", jsontree.NewArray())
	if kind != document.LogLevel {
		set("variants", variantList(kind, valueType, value))
	}
	return tree, nil
}

func variantList(kind document.Type, valueType document.ValueType, value *jsontree.Node) *jsontree.Node {
	variant := func(value *jsontree.Node) *jsontree.Node {
		return jsontree.NewObject(jsontree.Field("value", value))
	}
	if kind == document.Flag && valueType == document.BoolValue {
		return jsontree.NewArray(
			variant(valueObject(document.BoolValue, jsontree.NewBool(false))),
			variant(valueObject(document.BoolValue, jsontree.NewBool(true))))
	}
	return jsontree.NewArray(variant(value))
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
	c := Creation{Key: document.LogLevelKey(service), Schema: schema}
	issues := keyIssues(c.Key)
	if c.Key == document.LogLevelPrefix {
		issues = []document.Issue{{Pointer: "/key", Message: "the key names no service"}}
	}
	value, problem := TypedValue(document.LogLevelValue, jsontree.NewString(level))
	if problem != "" {
		issues = append(issues, document.Issue{Pointer: "/level", Message: problem})
	}
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	return c.stored(document.LogLevel, document.LogLevelValue, value)
}

func keyIssues(key string) []document.Issue {
	if problem := document.KeyProblem(key); problem != "" {
		return []document.Issue{{Pointer: "/key", Message: problem}}
	}
	return nil
}

// StampSchema returns the document, which shares what it holds, with its $schema set to the address: in
// place, or in front when it had none. Without an address there is no $schema.
func StampSchema(tree *jsontree.Node, address string) *jsontree.Node {
	stamped := jsontree.NewObject(slices.Clone(tree.Members)...)
	if address == "" {
		stamped.Delete("$schema")
	} else {
		stamped.SetFirst("$schema", jsontree.NewString(address))
	}
	return stamped
}
