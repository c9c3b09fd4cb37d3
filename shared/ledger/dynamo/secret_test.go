package dynamo_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// TestATableWithoutSecretTellsAllElse: an attribute that is added to the rows
// that authentication reads has to be listed, if functions without a right to
// secrets may read it.
func TestATableWithoutSecretTellsAllElse(t *testing.T) {
	client := standin.DynamoDBClient(t)
	name := standin.Table(t, client)
	table := dynamo.New(client, name)
	must.Do(t, table.Create(background))
	ws := newWorkspace(t, table)
	key := admit(t, table, ws)

	whole, err := table.Authenticate(background, key, "")
	must.Do(t, err)
	open, err := table.WithoutSecret().Authenticate(background, key, "")
	must.Do(t, err)
	if len(whole.Workspace.Secret) == 0 || len(open.Workspace.Secret) != 0 {
		t.Errorf("the secret is %q, and without it %q", whole.Workspace.Secret, open.Workspace.Secret)
	}
	whole.Workspace.Secret = nil
	if !reflect.DeepEqual(open, whole) {
		t.Errorf("without the secret it is %+v, want %+v", open, whole)
	}

	rows, err := client.Scan(background, &dynamodb.ScanInput{TableName: &name})
	must.Do(t, err)
	stored := map[string]bool{}
	for _, row := range rows.Items {
		for attribute := range row {
			stored[attribute] = true
		}
	}
	delete(stored, "secret")
	delete(stored, "made") // an order for lists, which no request reads
	for attribute := range stored {
		if !slices.Contains(dynamo.OpenAttributes, attribute) {
			t.Errorf("the attribute %s is stored and not asked for", attribute)
		}
	}
}
