// Package requests wires the endpoints of change requests.
package requests

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/contexts"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	ledger "svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table/dynamo"
)

// Function serves them.
func Function(connect table.AWS) start.Function {
	return api.Function(connect, httpapi.ChangeRequests(), func(s settings.Settings, service *control.Settings) {
		service.Contexts = contexts.Kept(connect, s)
		Keep(connect, s, connect.Open(s), service)
	})
}

// Keep has a control plane keep change requests, and tell the audit trail of them.
func Keep(connect table.AWS, s settings.Settings, rows *ledger.Table, service *control.Settings) {
	service.Requests = request.Store{Table: dynamo.New(connect.Client(), s.Table)}
	service.Registry = func(workspace string, by access.Principal) *access.Registry {
		return rows.Registry(access.ID(workspace)).By(by.Words())
	}
}
