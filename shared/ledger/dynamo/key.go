package dynamo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
)

// item is a row as DynamoDB has it.
type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func binaryValue(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func yes(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func textOf(i item, name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func bytesOf(i item, name string) []byte {
	if v, ok := i[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func numberOf(i item, name string) int64 {
	v, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	n, _ := strconv.ParseInt(v.Value, 10, 64)
	return n
}

func isYes(i item, name string) bool {
	v, ok := i[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

func keyOf(pk, sk string) item { return item{hashKey: text(pk), rangeKey: text(sk)} }

// own is the key of a row.
func own(i item) item { return item{hashKey: i[hashKey], rangeKey: i[rangeKey]} }

// The partitions.
const workspacesPartition = "workspaces"

func headPartition(ws access.ID) string   { return "head/" + string(ws) }
func accessPartition(ws access.ID) string { return "access/" + string(ws) }
func auditPartition(ws access.ID) string  { return "audit/" + string(ws) }
func indexPartition(ws access.ID) string  { return "index/" + string(ws) }
func packsPartition(ws access.ID) string  { return "packs/" + string(ws) }

func headKey(ws access.ID) item            { return keyOf(headPartition(ws), "head") }
func principalKey(ws, id access.ID) item   { return keyOf(accessPartition(ws), "principal/"+string(id)) }
func accessKeyKey(ws, id access.ID) item   { return keyOf(accessPartition(ws), "key/"+string(id)) }
func packsKey(ws access.ID) item           { return keyOf(packsPartition(ws), "packs") }
func pendingSort(index, sha string) string { return pendingPrefix + index + "/" + sha }

// rows names the partitions of one index.
type rows struct {
	workspace access.ID
	index     string
}

func (r rows) log() string  { return "log/" + string(r.workspace) + "/" + r.index }
func (r rows) ids() string  { return "ids/" + string(r.workspace) + "/" + r.index }
func (r rows) rest() string { return "rest/" + string(r.workspace) + "/" + r.index }

func (r rows) item(path string) string {
	return "item/" + string(r.workspace) + "/" + r.index + "/" + path
}

// place is the sort key of a commit's rows.
func place(sequence int64, sha string) string { return first(sequence) + sha }

// first is the lower bound of the sort keys of a sequence, last the upper one.
func first(sequence int64) string { return fmt.Sprintf("%012d/", sequence) }
func last(sequence int64) string  { return fmt.Sprintf("%012d0", sequence) } // 0 comes after /

// placeOf reads it.
func placeOf(i item) (sequence int64, sha string) {
	digits, sha, _ := strings.Cut(textOf(i, rangeKey), "/")
	sequence, _ = strconv.ParseInt(digits, 10, 64)
	return sequence, sha
}
