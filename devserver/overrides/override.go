package overrides

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
)

// Override is a value in the place of what a flag or config serves.
type Override struct {
	Key   string         `json:"key"`
	Value *jsontree.Node `json:"value"` // bare
	// For has only contexts get it that have a property; nil: every context.
	For *Property `json:"for,omitempty"`
	// Until is when it ends; zero: when it is cleared.
	Until time.Time `json:"until,omitzero"`
}

// Property is a property of a context, and what it has to be. Numbers and booleans
// are compared by their text, and of a list one element will do.
type Property struct {
	Name  string `json:"property"` // such as user.key
	Value string `json:"value"`
}

// ParseProperty reads user.key=u1.
func ParseProperty(text string) (*Property, error) {
	name, value, found := strings.Cut(text, "=")
	p := &Property{name, value}
	if !found {
		return nil, fmt.Errorf("%s: write a property and its value, such as user.key=u1", terminal.Quote(text))
	}
	return p, p.check()
}

func (p *Property) check() error {
	context, property, dotted := strings.Cut(p.Name, ".")
	switch {
	case !dotted || context == "" || property == "":
		return fmt.Errorf("%s is not the name of a property, such as user.key", terminal.Quote(p.Name))
	case p.Name == evaluation.CurrentTime:
		return fmt.Errorf("%s is the time, and no property of a context", p.Name)
	}
	return nil
}

func (p *Property) String() string { return p.Name + "=" + p.Value }

// Check says what is wrong with an override whatever it overrides.
func (o *Override) Check() error {
	switch {
	case o.Key == "":
		return errors.New("key is missing")
	case o.Value == nil:
		return errors.New("value is missing")
	case o.For == nil:
		return nil
	}
	if err := o.For.check(); err != nil {
		return fmt.Errorf("for: %w", err)
	}
	return nil
}

// same reports whether an override takes the place of another one.
func (o *Override) same(other *Override) bool {
	return o.Key == other.Key && (o.For == nil) == (other.For == nil) && (o.For == nil || *o.For == *other.For)
}

// Over reports whether an override has ended by a moment.
func (o *Override) Over(now time.Time) bool { return !o.Until.IsZero() && !now.Before(o.Until) }

// InForce are the overrides that have not ended by a moment.
func InForce(all []Override, now time.Time) []Override {
	return slices.DeleteFunc(slices.Clone(all), func(o Override) bool { return o.Over(now) })
}

// Problem says why an override of a document comes to nothing, or "". The document is
// nil where there is none of its key.
func (o *Override) Problem(doc *document.Document) string {
	if doc == nil || doc.Type != document.Flag && doc.Type != document.Config {
		return "there is no flag or config of this key"
	}
	if secret(doc) {
		return "it has values that are confidential, encrypted or provided by the environment of a server, which are not overridden"
	}
	if doc.Type == document.Config && !doc.SendToClientSDK {
		return `it is a config without "sendToClientSdk": true, which only servers read`
	}
	_, problem := edit.TypedValue(doc.ValueType, o.Value)
	return problem
}

// secret reports whether some value of a document must not be told.
func secret(doc *document.Document) bool {
	for _, value := range doc.Served() {
		if value.Secret() {
			return true
		}
	}
	return doc.Confidential
}

// Rules are what overrides of a document come to: those that are for some contexts
// come first, the one that was set last before the others. Of one that has a Problem
// there is none.
func Rules(all []Override, doc *document.Document) []document.Rule {
	var some, every []document.Rule
	for _, o := range slices.Backward(all) {
		if o.Problem(doc) != "" {
			continue
		}
		rule := document.Rule{Criteria: []document.Criterion{}, Value: document.Value{Type: doc.ValueType.Canonical(), Content: o.Value}}
		if o.For != nil {
			rule.Criteria = append(rule.Criteria, document.Criterion{Operator: "PROP_IS_ONE_OF", PropertyName: o.For.Name,
				ValueToMatch: &document.Value{Type: document.StringListValue, Content: jsontree.NewArray(jsontree.NewString(o.For.Value))}})
		}
		if !o.Until.IsZero() {
			rule.Criteria = append(rule.Criteria, document.Criterion{Operator: "PROP_BEFORE", PropertyName: evaluation.CurrentTime,
				ValueToMatch: &document.Value{Type: document.IntValue, Content: jsontree.NewInt(o.Until.UnixMilli())}})
		}
		if o.For != nil {
			some = append(some, rule)
		} else {
			every = append(every, rule)
		}
	}
	return append(some, every...)
}

// ParseValue reads a value as it stands on a command line: JSON or, of a type that is
// a text, the text itself. It need not be of the type.
func ParseValue(valueType document.ValueType, text string) (*jsontree.Node, error) {
	value, err := jsontree.Parse([]byte(text))
	switch valueType.Canonical() {
	case document.StringValue, document.DurationValue:
		if err == nil && value.Kind != jsontree.String {
			err = errors.New("it is a text")
		}
	case document.JSONValue, document.StringListValue:
		if err != nil {
			return nil, fmt.Errorf("a value of type %s is written as JSON, which this is not: %w", valueType, err)
		}
	}
	if err != nil {
		return jsontree.NewString(text), nil
	}
	return value, nil
}
