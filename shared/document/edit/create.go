package edit

import (
	"cmp"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Creation is what a request to create a flag or a config says.
type Creation struct {
	Key string
	// ValueType is the type as asked for: one of the contract's, aliases
	// included. A segment has none.
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

// New makes the document of a new item: one default rule for everyone, no
// environments. A bool flag serves false and has both truths as variants; any other
// flag, and a config, serves the value, its one variant. Browsers are not sent a
// config. A segment has its default rules, or one that keeps everybody out, and neither
// environments nor variants.
func New(kind document.Type, c Creation) (*jsontree.Node, error) {
	no := valueObject(document.BoolValue, jsontree.NewBool(false))
	issues := keyIssues(c.Key)
	valueType := document.ValueType(c.ValueType).Canonical()
	var value *jsontree.Node
	switch {
	case kind == document.Segment:
		valueType, value = document.BoolValue, no
	case !creatable[valueType]:
		pointer := map[document.Type]string{document.Flag: "/type", document.Config: "/valueType"}[kind]
		issues = append(issues, document.Issue{Pointer: pointer, Message: "the type is one of bool, string, int, double, string_list, json, duration"})
	case kind == document.Flag && valueType == document.BoolValue && c.Value != nil:
		issues = append(issues, document.Issue{Pointer: "/value", Message: "a bool flag is created switched off; leave value out and enable it afterwards"})
	case kind == document.Flag && valueType == document.BoolValue:
		value = no
	default:
		var problem string
		if value, problem = TypedValue(valueType, c.Value); problem != "" {
			issues = append(issues, document.Issue{Pointer: "/value", Message: problem})
		}
	}
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	return c.stored(kind, valueType, value), nil
}

var creatable = map[document.ValueType]bool{
	document.BoolValue: true, document.StringValue: true, document.IntValue: true, document.DoubleValue: true,
	document.StringListValue: true, document.JSONValue: true, document.DurationValue: true,
}

// stored writes the members in memberOrder.
func (c Creation) stored(kind document.Type, valueType document.ValueType, value *jsontree.Node) *jsontree.Node {
	tree := jsontree.NewObject()
	set := func(name string, n *jsontree.Node) { setInOrder(tree, name, n) }
	for _, m := range [...]struct{ name, text string }{
		{"$schema", c.Schema}, {"key", c.Key}, {"type", string(kind)}, {"valueType", string(valueType)},
		{"name", c.Name}, {"description", c.Description}, {"access", "standard"},
	} {
		if m.text != "" {
			set(m.name, jsontree.NewString(m.text))
		}
	}
	set("default", cmp.Or(c.Default, jsontree.NewObject(jsontree.Field("rules", jsontree.NewArray(unconditional(value))))))
	if kind == document.Segment {
		return tree
	}
	tags := jsontree.NewArray()
	for _, tag := range c.Tags {
		tags.Items = append(tags.Items, jsontree.NewString(tag))
	}
	set("tags", tags)
	set("environments", jsontree.NewArray())
	if kind == document.Config {
		set("sendToClientSdk", jsontree.NewBool(false))
	}
	variants := jsontree.NewArray(jsontree.NewObject(jsontree.Field("value", value)))
	if kind == document.Flag && valueType == document.BoolValue {
		yes := valueObject(document.BoolValue, jsontree.NewBool(true))
		variants.Items = append(variants.Items, jsontree.NewObject(jsontree.Field("value", yes)))
	}
	if kind != document.LogLevel {
		set("variants", variants)
	}
	return tree
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
	return c.stored(document.LogLevel, document.LogLevelValue, value), nil
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
