package dynamo

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// sizeOf is about what DynamoDB counts a row as.
func sizeOf(i item) int64 {
	var n int64
	for name, value := range i {
		n += int64(len(name))
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			n += int64(len(v.Value))
		case *types.AttributeValueMemberB:
			n += int64(len(v.Value))
		case *types.AttributeValueMemberN:
			n += int64(len(v.Value)/2 + 2)
		default:
			n++
		}
	}
	return n
}
