package dynamo

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is a row, or a part of one.
type Item = map[string]types.AttributeValue

// The attributes of the primary key.
const (
	HashKey  = "pk"
	RangeKey = "sk"
)

// Key is the primary key of a row.
func Key(pk, sk string) Item { return Item{HashKey: Text(pk), RangeKey: Text(sk)} }

// KeyOf is the primary key of a row that was read.
func KeyOf(i Item) Item { return Item{HashKey: i[HashKey], RangeKey: i[RangeKey]} }

// Text is a value of type S.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Bytes is a value of type B.
func Bytes(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// Bool is a value of type BOOL.
func Bool(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Number is a value of type N.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// TextOf is an attribute of type S, "" when the row has none.
func TextOf(i Item, name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// BytesOf is an attribute of type B, nil when the row has none.
func BytesOf(i Item, name string) []byte {
	if v, ok := i[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

// NumberOf is an attribute of type N, 0 when the row has none.
func NumberOf(i Item, name string) int64 {
	if v, ok := i[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64) // 0 for a fraction
		return n
	}
	return 0
}

// BoolOf is an attribute of type BOOL, false when the row has none.
func BoolOf(i Item, name string) bool {
	v, ok := i[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}
