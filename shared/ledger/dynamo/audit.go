package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
)

// By says who the edits that follow are told to be by.
func (r *Registry) By(who string) *Registry {
	r.by = who
	return r
}

func (s *state) auditState() audit.State {
	w := s.workspace
	return audit.State{
		ID: access.ID(w.ID), Workspace: audit.WorkspaceWords(w.Name, w.BillingInactive, w.Provisioning),
		Principals: documents(s.principals), Keys: documents(s.keys),
	}
}

// auditSort is the sort key of the row of an access version.
func auditSort(version int64) string { return fmt.Sprintf("%012d", version) }

// tell adds to a transaction the row that says what it does.
func (r *Registry) tell(writes []types.TransactWriteItem, before audit.State, after *state) ([]types.TransactWriteItem, error) {
	changes := audit.Changes(before, after.auditState())
	if len(changes) == 0 {
		return writes, nil
	}
	e := audit.Entry{Version: after.version + 1, At: time.Now().UTC().Truncate(time.Second), By: r.by, Changes: changes}
	doc, err := json.Marshal(e)
	row := keyOf(auditPartition(r.workspace), auditSort(e.Version))
	row["doc"] = text(string(doc))
	return append(writes, types.TransactWriteItem{Put: &types.Put{
		TableName: &r.table.name, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}}), err
}

// Audit returns what was done to the registry, oldest first.
func (r *Registry) Audit(ctx context.Context) ([]audit.Entry, error) {
	var entries []audit.Entry
	q := question{partition: auditPartition(r.workspace), low: "0", high: "~"}
	err := r.table.query(ctx, "reading the audit trail", q, func(i item) (bool, error) {
		var e audit.Entry
		err := decodeDoc(i, &e)
		entries = append(entries, e)
		return true, err
	})
	return entries, err
}
