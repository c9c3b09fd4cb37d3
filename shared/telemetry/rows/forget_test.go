package rows_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// TestForgettingLeavesNothing: no row tells of who is forgotten, not even a place in
// the time index whose context had expired before it came back.
func TestForgettingLeavesNothing(t *testing.T) {
	client := standin.DynamoDBClient(t)
	name := newTable(t, client)
	s := rows.New(dynamo.New(client, name), 1)
	record(t, s, report(1, "ada", "grace"))
	scan := func() []map[string]types.AttributeValue {
		all := must.Get(client.Scan(ctx, &dynamodb.ScanInput{TableName: &name}))(t)
		return all.Items
	}
	for _, row := range scan() {
		pk := row["pk"].(*types.AttributeValueMemberS).Value
		if !strings.Contains(pk, "/context/") {
			continue
		}
		expires, err := strconv.ParseInt(row["expires"].(*types.AttributeValueMemberN).Value, 10, 64)
		seen, err2 := strconv.ParseInt(row["seen"].(*types.AttributeValueMemberN).Value, 10, 64)
		if err != nil || err2 != nil || time.Unix(expires, 0).Sub(time.UnixMilli(seen)).Round(time.Hour) != 24*time.Hour {
			t.Errorf("what is kept for a day expires at %d, seen at %d", expires, seen)
		}
		must.Get(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: map[string]types.AttributeValue{"pk": row["pk"], "sk": row["sk"]}}))(t)
	}
	record(t, s, later(2, "ada"))
	found, err := s.Forget(ctx, "ws", nil, "user", "ada", later(3).Received)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	for _, row := range scan() {
		if doc, is := row["doc"].(*types.AttributeValueMemberS); is && strings.Contains(doc.Value, `"ada"`) {
			t.Errorf("still there: %s", doc.Value)
		}
	}
	left, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 10})
	if err != nil || len(left) != 1 || left[0].Key != "grace" {
		t.Errorf("left are %+v, %v", left, err)
	}
}
