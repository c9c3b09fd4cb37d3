package template

import (
	"fmt"
	"maps"
)

// With is the template with parameters that have other values than their defaults.
func (t *Template) With(values map[string]string) *Template {
	other := *t
	other.Parameters = maps.Clone(t.Parameters)
	for name, value := range values {
		other.Parameters[name] = map[string]any{"Default": value}
	}
	return &other
}

// Parameter is the value of a parameter.
func (t *Template) Parameter(name string) (value any, known bool) {
	p, known := t.Parameters[name].(map[string]any)
	return p["Default"], known
}

// Resolve follows Fn::If to the value that the parameters choose.
func (t *Template) Resolve(value any) (any, error) {
	for {
		choice, isChoice := At(value, "Fn::If").([]any)
		if !isChoice {
			return value, nil
		}
		if len(choice) != 3 {
			return nil, fmt.Errorf("Fn::If has %d parts", len(choice))
		}
		holds, err := t.Holds(fmt.Sprint(choice[0]))
		if err != nil {
			return nil, err
		}
		if value = choice[2]; holds {
			value = choice[1]
		}
	}
}

// Holds reports whether a condition of the template holds, with the parameters' values.
func (t *Template) Holds(condition string) (bool, error) {
	c, known := t.Conditions[condition]
	if !known {
		return false, fmt.Errorf("there is no condition %s", condition)
	}
	return t.holds(c)
}

func (t *Template) holds(c any) (bool, error) {
	if name, named := At(c, "Condition").(string); named {
		return t.Holds(name)
	}
	if parts, is := At(c, "Fn::Not").([]any); is && len(parts) == 1 {
		holds, err := t.holds(parts[0])
		return !holds, err
	}
	if parts, is := At(c, "Fn::And").([]any); is {
		for _, part := range parts {
			if holds, err := t.holds(part); err != nil || !holds {
				return false, err
			}
		}
		return true, nil
	}
	if parts, is := At(c, "Fn::Equals").([]any); is && len(parts) == 2 {
		a, err := t.text(parts[0])
		if err != nil {
			return false, err
		}
		b, err := t.text(parts[1])
		return a == b, err
	}
	return false, fmt.Errorf("the condition %v is not understood", c)
}

// text is a text, or the value of the parameter that stands there.
func (t *Template) text(value any) (string, error) {
	if name, isRef := At(value, "Ref").(string); isRef {
		parameter, known := t.Parameter(name)
		if !known {
			return "", fmt.Errorf("there is no parameter %s", name)
		}
		return fmt.Sprint(parameter), nil
	}
	if text, isText := value.(string); isText {
		return text, nil
	}
	return "", fmt.Errorf("%v is no text and no parameter", value)
}
