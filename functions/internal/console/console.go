// Package console wires the function that answers the console's page: the REST API, signing
// in and settings, by a session.
package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/contexts"
	"svc.example/svc/functions/internal/repositories"
	"svc.example/svc/functions/internal/requests"
	function "svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/settings"
	"svc.example/svc/shared/signin"
	tabledynamo "svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/webhook"
)

// Function serves all below /console/api/.
func Function(connect table.AWS) start.Function {
	return start.Function{Required: function.TableAndBucket, Wire: func(s function.Settings, logger *slog.Logger) (http.Handler, error) {
		rows := connect.Open(s)
		w := workspaces{rows, repositories.Open(connect, s, rows), &webhook.Sender{Table: tabledynamo.New(connect.Client(), s.Table), Client: webhook.Client(s.Allowed(), nil), Refused: webhook.Refused(s.Allowed()), PublicURL: s.PublicURL, Now: time.Now}}
		own := &httpapi.Console{Stores: w.settings}
		routes, err := w.signIn(s, own, logger)
		if err != nil {
			return nil, fmt.Errorf("SIGN_IN: %w", err)
		}
		service := api.Service(s, rows, w.repositories, logger)
		kept := contexts.Kept(connect, s)
		service.Contexts, service.Evaluations = kept, kept
		requests.Keep(connect, s, rows, &service)
		options := api.Options(s, service, logger)
		options.BasePath, options.Console = strings.TrimSuffix(s.BasePath, "/v1")+httpapi.ConsolePath+"/v1", own // beside the API
		asked, notFound, err := httpapi.Routes(options, append(httpapi.ForPages(), httpapi.Sessions(), httpapi.SettingsGroup())...)
		return router.New(append(routes, asked...), notFound), err
	}}
}

// workspaces are those of the table.
type workspaces struct {
	rows         *dynamo.Table
	repositories *repositories.Repositories
	webhooks     *webhook.Sender
}

// settings are the stores of a workspace's settings.
func (w workspaces) settings(id string) settings.Stores {
	registry := w.rows.Registry(access.ID(id))
	open := func(ctx context.Context) (*provision.Workspace, error) {
		record, err := w.rows.Workspace(ctx, access.ID(id))
		if err != nil {
			return nil, err
		}
		repo, err := w.repositories.Find(ctx, id)
		return provision.New(record, w.rows.Ledger(access.ID(id)), repo), err
	}
	return settings.Stores{Registry: registry, Workspace: open, Now: time.Now,
		Audit: func(ctx context.Context, newest int) ([]audit.Event, error) {
			workspace, err := open(ctx)
			if err != nil {
				return nil, err
			}
			return workspace.Audit(ctx, registry, newest)
		},
		Webhooks: func() *webhook.Manager {
			return &webhook.Manager{Sender: w.webhooks, Workspace: id, Head: func(ctx context.Context) (webhook.Position, error) {
				head, err := w.rows.Ledger(access.ID(id)).Head(ctx)
				return webhook.Position{Commit: head.Commit, Access: head.Access}, err
			}}
		}}
}

// signIn has people sign in with a provider, if one is named.
func (w workspaces) signIn(s function.Settings, own *httpapi.Console, logger *slog.Logger) ([]router.Route, error) {
	if s.SignIn == "" {
		return nil, nil
	}
	with, err := signin.Read(s.SignIn)
	if err != nil {
		return nil, err
	}
	with.PublicURL, with.Shared, with.Now, with.Logger = s.PublicURL, true, time.Now, logger
	with.Registry = func(_ context.Context, workspace string) (*access.Registry, error) {
		return w.rows.Registry(access.ID(workspace)), nil
	}
	with.Secret = func(ctx context.Context, workspace string) ([]byte, error) {
		record, err := w.rows.Workspace(ctx, access.ID(workspace))
		return record.Secret, err
	}
	if err := with.Check(func(name string) string { return name }); err != nil {
		return nil, err
	}
	provider := signin.New(with)
	own.SignIn, own.Begin, own.Refresh = with.Told(), provider.Begin, provider.Refresh
	return []router.Route{{Path: signin.CallbackPath, Handler: provider.Callback(httpapi.Session, httpapi.SetSession)}}, nil
}
