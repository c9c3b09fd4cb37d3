package table

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
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
		case Truth:
			out[name] = map[string]any{"BOOL": bool(v)}
		}
	}
	text, _ := json.Marshal(out) // of strings and truths: it cannot fail
	return text
}

// Decode reads what Encode has written. Anything else is an error.
func Decode(text []byte) (Attributes, error) {
	var in map[string]map[string]any
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	a := make(Attributes, len(in))
	for name, typed := range in {
		if name == "" || name == "pk" || name == "sk" || len(typed) != 1 {
			return nil, fmt.Errorf("the attribute %q needs a name of its own and one value", name)
		}
		for kind, v := range typed {
			value, err := decodeValue(kind, v)
			if err != nil {
				return nil, fmt.Errorf("the attribute %q: %w", name, err)
			}
			a[name] = value
		}
	}
	return a, nil
}

func decodeValue(kind string, value any) (Value, error) {
	if truth, is := value.(bool); is && kind == "BOOL" {
		return Truth(truth), nil
	}
	text, is := value.(string)
	if !is {
		return nil, fmt.Errorf("%s is of another type than it says", kind)
	}
	switch kind {
	case "S":
		return Text(text), nil
	case "N":
		n, err := strconv.ParseInt(text, 10, 64)
		return Number(n), err
	case "B":
		b, err := base64.StdEncoding.DecodeString(text)
		return Bytes(b), err
	}
	return nil, fmt.Errorf("the type %q is not known", kind)
}
