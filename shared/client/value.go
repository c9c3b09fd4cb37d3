package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/upstream"
)

// value is what an item serves, ready to be handed out. What every evaluation
// reads comes first, to lie in one cache line.
type value struct {
	err     *Error // why there is no value
	kind    document.ValueType
	text    string
	boolean bool
	secret  bool
	whole   int64
	float   float64
	span    time.Duration
	list    []string
	raw     []byte // JSON
}

// stored makes a value of one that stands in a document.
func stored(v document.Value) value {
	n := v.Served()
	out := value{kind: v.Type, secret: v.Secret()}
	ok := true
	switch v.Type {
	case document.BoolValue:
		out.boolean, ok = n.Bool()
	case document.IntValue, document.DoubleValue:
		ok = n != nil && n.Kind == jsontree.Number && out.number(jsontree.NumberText(n.Literal()))
	case document.StringListValue:
		ok = n != nil && out.texts(n)
	case document.JSONValue:
		ok = n != nil
	default:
		if out.text, ok = n.Text(); ok && v.Type == document.DurationValue {
			var err error
			out.span, err = document.ReadDuration(out.text)
			ok = err == nil
		}
	}
	if !ok {
		out.err = unusable(v.Type)
	}
	if n != nil {
		out.raw = n.Compact()
	}
	return out
}

func unusable(kind document.ValueType) *Error {
	return &Error{Code: General, Message: "the value cannot be read as " + string(kind)}
}

func (v *value) number(text string) (ok bool) {
	var err error
	if v.float, err = strconv.ParseFloat(text, 64); err != nil {
		return false
	}
	if v.kind == document.IntValue {
		v.whole, err = strconv.ParseInt(text, 10, 64)
	}
	return err == nil
}

func (v *value) texts(n *jsontree.Node) bool {
	v.list = make([]string, 0, len(n.Items))
	for _, item := range n.Items {
		text, ok := item.Text()
		if !ok {
			return false
		}
		v.list = append(v.list, text)
	}
	return n.Kind == jsontree.Array
}

// fromText makes a value of a text that was decrypted or came from the
// environment. Whatever is wrong, the text is not repeated.
func fromText(kind document.ValueType, text string) value {
	content := inText(kind, text)
	if content == nil {
		return value{kind: kind, secret: true, err: unusable(kind)}
	}
	out := stored(document.Value{Type: kind, Content: content})
	out.secret = true
	return out
}

// inText is what a document would hold for a text; nil for none. A list is a JSON array
// of strings, or else texts with commas between.
func inText(kind document.ValueType, text string) *jsontree.Node {
	trimmed := strings.TrimSpace(text)
	isList := kind == document.StringListValue
	switch {
	case kind == document.BoolValue:
		if text != "true" && text != "false" {
			return nil
		}
		return jsontree.NewBool(text == "true")
	case kind == document.JSONValue, kind == document.IntValue, kind == document.DoubleValue, isList && strings.HasPrefix(trimmed, "["):
		n, err := jsontree.Parse([]byte(trimmed))
		if err != nil || n.Kind == jsontree.String && kind != document.JSONValue { // which a document may hold for a number
			return nil
		}
		return n
	case isList:
		array := jsontree.NewArray()
		if trimmed != "" {
			for part := range strings.SplitSeq(text, ",") {
				array.Items = append(array.Items, jsontree.NewString(strings.TrimSpace(part)))
			}
		}
		return array
	}
	return jsontree.NewString(text)
}

// provided resolves a value that the environment provides.
func provided(v document.Value, kind document.ValueType, o Options) value {
	source, _ := v.Content.Get("source").Text()
	name, _ := v.Content.Get("lookup").Text()
	fail := func(message string) value {
		return value{kind: kind, secret: true, err: &Error{Code: General, Message: message}}
	}
	if source == upstream.WithheldSource {
		return fail("the value is confidential: the service does not send it")
	}
	if source != "ENV_VAR" {
		return fail("the value is provided by a source that is not known here; known is ENV_VAR")
	}
	if o.EnvironmentVariables != nil && !slices.Contains(o.EnvironmentVariables, name) {
		return fail("the value is provided by the environment variable " + name + ", which Options.EnvironmentVariables does not name")
	}
	text, set := o.Getenv(name)
	if !set {
		return fail("the value is provided by the environment variable " + name + ", which is not set")
	}
	out := fromText(kind, text)
	if out.err != nil {
		out.err.Message = "the environment variable " + name + " cannot be read as " + string(kind)
	}
	return out
}
