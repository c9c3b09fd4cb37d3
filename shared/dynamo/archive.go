package dynamo

import (
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EncodeItem writes a row down as JSON, in the table's own words for types, but for its
// key.
func EncodeItem(i Item) ([]byte, error) {
	i = maps.Clone(i)
	delete(i, HashKey)
	delete(i, RangeKey)
	return attributevalue.MarshalMapJSON(i)
}

// DecodeItem reads what EncodeItem has written.
func DecodeItem(text []byte) (Item, error) {
	i, err := attributevalue.UnmarshalMapJSON(text)
	if err != nil {
		return nil, err
	}
	for name, value := range i {
		if name == "" || name == HashKey || name == RangeKey || !isKnown(value) {
			return nil, errors.New("an attribute needs a name of its own and a value of a type that is known")
		}
	}
	return i, nil
}

// isKnown says whether a value is of a type that can be written.
func isKnown(value types.AttributeValue) bool {
	switch v := value.(type) {
	case nil, *types.UnknownUnionMember:
		return false
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(part types.AttributeValue) bool { return !isKnown(part) })
	case *types.AttributeValueMemberM:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v.Value)), func(part types.AttributeValue) bool { return !isKnown(part) })
	}
	return true
}
