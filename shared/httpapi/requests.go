package httpapi

import (
	"context"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/request"
)

// ChangeRequests is change sets that wait for others to approve them.
func ChangeRequests() Group {
	at := func(work func(ctx context.Context, c *call, d *request.Desk) (any, error)) handler {
		return func(ctx context.Context, c *call) (any, error) {
			desk, err := c.session.Requests(c.id, c.once, c.operationsOf)
			if err != nil {
				return nil, err
			}
			return work(ctx, c, desk)
		}
	}
	id := func(c *call) string { return c.request.PathValue("id") }
	return Group{"change-requests", map[string]handler{
		"takeAlertmanager": takeAlertmanager,
		"takeSNS":          takeSNS,
		"listChangeRequests": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) {
			return d.List(ctx, request.Query{PageQuery: c.page(), State: c.query["state"], Author: c.query["author"], Type: c.query["type"], Key: c.query["key"]})
		}),
		"createChangeRequest": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) { return d.Create(ctx, c.proposal()) }),
		"getChangeRequest": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) {
			return d.Get(ctx, id(c), c.query["impact"] == "true")
		}),
		"updateChangeRequest": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) {
			return d.Change(ctx, id(c), c.proposal())
		}),
		"approveChangeRequest": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) {
			return d.Approve(ctx, id(c), text(c.body, "digest"), c.issues)
		}),
		"withdrawApproval": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) {
			return d.Withdraw(ctx, id(c), c.issues)
		}),
		"applyChangeRequest": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) {
			return d.Apply(ctx, id(c), c.write())
		}),
		"closeChangeRequest": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) { return d.Close(ctx, id(c), c.issues) }),
		"commentOnChangeRequest": at(func(ctx context.Context, c *call, d *request.Desk) (any, error) {
			return d.Comment(ctx, id(c), text(c.body, "text"), c.issues)
		}),
	}}
}

// proposal is what the body says of a change request.
func (c *call) proposal() request.Draft {
	return request.Draft{Malformed: c.write().Malformed, Title: optional(c.body.Get("title").Text()), Description: optional(c.body.Get("description").Text()),
		Operations: c.body.Get("operations"), Expires: optional(c.body.Get("expires").Text()), DryRun: c.dryRun(), Impact: c.query["impact"] == "true"}
}

// operationsOf reads operations. What is wrong with one goes along.
func (c *call) operationsOf(list *jsontree.Node) ([]change.Operation, error) {
	var operations []change.Operation
	for _, tree := range list.Elements() {
		operation, err := c.operationOf(tree)
		if err != nil {
			return nil, err
		}
		operations = append(operations, operation)
	}
	return operations, nil
}
