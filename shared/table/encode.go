package table

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Encode writes attributes down as JSON in DynamoDB's own words for types, such as
// {"n":{"N":"1"},"name":{"S":"Ada"}}. Equal attributes make equal text.
func Encode(a Attributes) []byte {
	out := make(map[string]map[string]any, len(a))
	for name, value := range a {
		switch v := value.(type) {
		case Text:
			out[name] = map[string]any{"S": string(v)}
		case Number:
			out[name] = map[string]any{"N": strconv.FormatInt(int64(v), 10)}
		case Bytes:
			out[name] = map[string]any{"B": base64.StdEncoding.EncodeToString(v)}
		case Bool:
			out[name] = map[string]any{"BOOL": bool(v)}
		case Texts:
			out[name] = map[string]any{"SS": []string(v)}
		}
	}
	text, _ := json.Marshal(out) // of strings and bools: it cannot fail
	return text
}

// Decode reads what Encode has written. Anything else is an error.
func Decode(text []byte) (Attributes, error) {
	var in map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	a := make(Attributes, len(in))
	for name, typed := range in {
		if name == "" || name == "pk" || name == "sk" || len(typed) != 1 {
			return nil, fmt.Errorf("the attribute %q needs a name of its own and one value", name)
		}
		for kind, raw := range typed {
			value, err := decodeValue(kind, raw)
			if err != nil {
				return nil, fmt.Errorf("the attribute %q: %w", name, err)
			}
			a[name] = value
		}
	}
	return a, nil
}

func decodeValue(kind string, raw json.RawMessage) (Value, error) {
	if kind == "BOOL" {
		var b *bool
		if err := json.Unmarshal(raw, &b); err != nil || b == nil {
			return nil, fmt.Errorf("%s is neither true nor false", raw)
		}
		return Bool(*b), nil
	}
	if kind == "SS" {
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
			return nil, fmt.Errorf("%s is no set of texts", raw)
		}
		slices.Sort(list)
		return Texts(slices.Compact(list)), nil
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return nil, fmt.Errorf("%s is no text", raw)
	}
	switch kind {
	case "S":
		return Text(*s), nil
	case "N":
		n, err := strconv.ParseInt(*s, 10, 64)
		return Number(n), err
	case "B":
		b, err := base64.StdEncoding.DecodeString(*s)
		return Bytes(b), err
	}
	return nil, fmt.Errorf("the type %q is not known", kind)
}
