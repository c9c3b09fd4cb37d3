package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/table"
	tabledynamo "svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/tabletest"
)

func TestTable(t *testing.T) {
	tabletest.Run(t, func(t *testing.T) func() table.Table {
		client := standin.DynamoDBClient(t)
		name := standin.Table(t, client)
		must.Do(t, dynamo.New(client, name, table.ErrBusy).Create(t.Context()))
		return func() table.Table { return tabledynamo.New(client, name) }
	})
}

// TestForeignAttributes: what another program has written can be read, and stays when
// other attributes are changed.
func TestForeignAttributes(t *testing.T) {
	client := standin.DynamoDBClient(t)
	name := standin.Table(t, client)
	must.Do(t, dynamo.New(client, name, table.ErrBusy).Create(t.Context()))
	item := dynamo.Key("p", "s")
	item["fraction"] = &types.AttributeValueMemberN{Value: "1.5"}
	item["list"] = &types.AttributeValueMemberSS{Value: []string{"a"}}
	must.Get(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}))(t)
	db, k := tabledynamo.New(client, name), table.Key{Partition: "p", Sort: "s"}
	must.Do(t, db.Transact(t.Context(), table.Write{Key: k, Set: table.Attributes{"a": table.Number(1)},
		If: []table.Condition{table.Has("list"), table.Lacks("a"), table.ARow()}}))
	rows := must.Get(db.Get(t.Context(), []table.Key{k}))(t)
	if a := rows[0].Attributes; len(a) != 3 || a["fraction"] != table.Foreign("1.5") || a["list"] == nil || a.Number("a") != 1 {
		t.Errorf("%v", a)
	}
}
