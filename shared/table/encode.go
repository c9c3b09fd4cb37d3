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
	out := make(map[string]map[string]string, len(a))
	for name, value := range a {
		switch v := value.(type) {
		case Text:
			out[name] = map[string]string{"S": string(v)}
		case Number:
			out[name] = map[string]string{"N": strconv.FormatInt(int64(v), 10)}
		case Bytes:
			out[name] = map[string]string{"B": base64.StdEncoding.EncodeToString(v)}
		}
	}
	text, _ := json.Marshal(out) // of strings: it cannot fail
	return text
}

// Decode reads what Encode has written. Anything else is an error.
func Decode(text []byte) (Attributes, error) {
	var in map[string]map[string]*string
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	a := make(Attributes, len(in))
	for name, typed := range in {
		if name == "" || name == "pk" || name == "sk" || len(typed) != 1 {
			return nil, fmt.Errorf("the attribute %q needs a name of its own and one value", name)
		}
		for kind, text := range typed {
			value, err := decodeValue(kind, text)
			if err != nil {
				return nil, fmt.Errorf("the attribute %q: %w", name, err)
			}
			a[name] = value
		}
	}
	return a, nil
}

func decodeValue(kind string, text *string) (Value, error) {
	if text == nil {
		return nil, fmt.Errorf("%s is no text", kind)
	}
	switch kind {
	case "S":
		return Text(*text), nil
	case "N":
		n, err := strconv.ParseInt(*text, 10, 64)
		return Number(n), err
	case "B":
		b, err := base64.StdEncoding.DecodeString(*text)
		return Bytes(b), err
	}
	return nil, fmt.Errorf("the type %q is not known", kind)
}
