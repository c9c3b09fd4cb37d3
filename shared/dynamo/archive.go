package dynamo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// archived is a value as an archive has it, in the table's own words for its type.
type archived struct {
	S    *string  `json:"S,omitempty"`
	N    *string  `json:"N,omitempty"`
	B    *[]byte  `json:"B,omitempty"`
	BOOL *bool    `json:"BOOL,omitempty"`
	SS   []string `json:"SS,omitempty"`
}

// EncodeItem writes a row down, but for its key, so that DecodeItem makes the same of it.
func EncodeItem(i Item) ([]byte, error) {
	values := make(map[string]archived, len(i))
	for name, value := range i {
		var a archived
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			a.S = &v.Value
		case *types.AttributeValueMemberN:
			a.N = &v.Value
		case *types.AttributeValueMemberB:
			a.B = &v.Value
		case *types.AttributeValueMemberBOOL:
			a.BOOL = &v.Value
		case *types.AttributeValueMemberSS:
			a.SS = v.Value
		default:
			return nil, fmt.Errorf("the attribute %s is of a type that no row has: %T", name, value)
		}
		if name != HashKey && name != RangeKey {
			values[name] = a
		}
	}
	return json.Marshal(values)
}

// DecodeItem reads what EncodeItem has written.
func DecodeItem(text []byte) (Item, error) {
	var values map[string]archived
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields() // an attribute of an unknown type is not to be lost
	if err := strict.Decode(&values); err != nil {
		return nil, err
	}
	i := make(Item, len(values)+2)
	for name, a := range values {
		var all []types.AttributeValue
		if a.S != nil {
			all = append(all, Text(*a.S))
		}
		if a.N != nil {
			all = append(all, &types.AttributeValueMemberN{Value: *a.N})
		}
		if a.B != nil {
			all = append(all, Bytes(*a.B))
		}
		if a.BOOL != nil {
			all = append(all, Bool(*a.BOOL))
		}
		if len(a.SS) > 0 {
			all = append(all, &types.AttributeValueMemberSS{Value: a.SS})
		}
		if len(all) != 1 || name == "" || name == HashKey || name == RangeKey {
			return nil, errors.New("an attribute needs a name of its own and one value")
		}
		i[name] = all[0]
	}
	return i, nil
}
