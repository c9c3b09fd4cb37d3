package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
)

// ErrExists: there is a workspace of that id already.
var ErrExists = errors.New("the workspace exists already")

// CreateWorkspace adds a workspace without commits, principals and keys.
func (t *Table) CreateWorkspace(ctx context.Context, w control.Workspace) error {
	const what = "creating the workspace"
	id, err := access.ParseID(w.ID)
	if err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	if len(w.Secret) == 0 {
		return errors.New("workspace: a secret is needed, which signs cursors: 32 random bytes")
	}
	head := headKey(id)
	putWorkspace(head, w)
	for name, value := range emptyHead() {
		head[name] = value
	}
	writes := []types.TransactWriteItem{
		{Put: &types.Put{TableName: &t.name, Item: head, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		{Put: &types.Put{TableName: &t.name, Item: listed(id, w.Name)}},
	}
	for try := 0; ; try++ {
		v, err := t.transact(ctx, what, writes)
		switch {
		case v == refused:
			return t.isOurs(ctx, id, head)
		case v != open || !pause(ctx, try):
			return err
		}
	}
}

// isOurs is nil when the workspace that is there is the one just made, whose
// making has only not been confirmed: nobody else draws the same index.
func (t *Table) isOurs(ctx context.Context, id access.ID, made item) error {
	there, err := t.headRow(ctx, id)
	if err == nil && textOf(there, "index") != textOf(made, "index") {
		err = fmt.Errorf("%s: %w", id, ErrExists)
	}
	return err
}

// listed is the row by which a workspace is found in lists.
func listed(id access.ID, name string) item {
	i := keyOf(workspacesPartition, string(id))
	i["name"] = text(name)
	return i
}

func emptyHead() item {
	return item{
		"format": number(Format),
		"commit": text(""), "sequence": number(0), "access": number(1), "index": text(newIndex()),
		"baseName": text(""), "baseSequence": number(0), "baseFollow": number(0), "baseBytes": number(0),
	}
}

// newIndex names a set of rows that no other head will name.
func newIndex() string { return strings.ToLower(rand.Text()[:10]) }

// transact carries out a transaction that is not repeated blindly: refused
// comes without another error.
func (t *Table) transact(ctx context.Context, what string, writes []types.TransactWriteItem) (verdict, error) {
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return busy, fmt.Errorf("%s: %w: %w", what, repository.ErrBusy, err)
		}
		_, err := once(ctx, func(ctx context.Context) (*dynamodb.TransactWriteItemsOutput, error) {
			return t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		})
		switch v := judge(err); v {
		case done:
			return v, nil
		case refused:
			return v, nil
		case wrong:
			return v, fmt.Errorf("%s: %w", what, err)
		case open:
			return v, fmt.Errorf("%s: %w", what, err)
		}
		if !pause(ctx, try) {
			return busy, gaveUp(ctx, what, err)
		}
	}
}

// Workspaces lists all workspaces, by id. Those that a newer version has stored
// are left out, and come as a repository.ErrNewer that names each.
func (t *Table) Workspaces(ctx context.Context) ([]control.Workspace, error) {
	var all []control.Workspace
	var newer []error
	q := question{partition: workspacesPartition, low: "0", high: "~"}
	err := t.query(ctx, "listing the workspaces", q, func(i item) (bool, error) {
		w, err := t.Registry(access.ID(textOf(i, rangeKey))).Workspace(ctx)
		switch {
		case errors.Is(err, control.ErrNoEntry):
			return true, nil
		case errors.Is(err, repository.ErrNewer):
			newer = append(newer, err)
			return true, nil
		}
		all = append(all, w)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return all, errors.Join(newer...)
}

// WorkspaceIDs lists the ids of all workspaces, in their order. It reads no
// head.
func (t *Table) WorkspaceIDs(ctx context.Context) ([]access.ID, error) {
	var all []access.ID
	q := question{partition: workspacesPartition, low: "0", high: "~"}
	err := t.query(ctx, "listing the workspaces", q, func(i item) (bool, error) {
		all = append(all, access.ID(textOf(i, rangeKey)))
		return true, nil
	})
	return all, err
}
