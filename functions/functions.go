// Package functions is the Lambda functions: each folder is a program that reads
// its settings, wires and starts. What they are wired of is in internal:
//
//	settings       the environment variables that template.yaml sets
//	start          the log, the start, the invocations
//	gateway        the gateway's events as HTTP requests, whole
//	table          DynamoDB, without S3
//	repositories   workspaces' repositories: DynamoDB and S3
//	api            a group of the REST API over these
//	contexts       api, and the contexts that were saved, for groups that read them
//	requests       api, and change requests
//	console        what the console's page asks with a session, and signing in
//	delivery       polls
//	telemetry      telemetry's intake
//	reference      the API's description, and the console
//	upkeep         maintenance, by a queue
//	webhooks       webhooks, by another
//
// The package itself wires all functions into one process, for tests and
// measurements: they start what is shipped. No function imports it, because it
// links everything.
//
// The tests here hold template.yaml against the table of endpoints and against
// what each function may do, and the binaries against what each may link.
package functions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/console"
	"svc.example/svc/functions/internal/contexts"
	"svc.example/svc/functions/internal/delivery"
	"svc.example/svc/functions/internal/reference"
	"svc.example/svc/functions/internal/requests"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/functions/internal/telemetry"
	"svc.example/svc/functions/internal/upkeep"
	"svc.example/svc/functions/internal/webhooks"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/httpapi"
)

// The variables that name an endpoint which is not AWS's. Clients of a service
// are configured by its variable.
const (
	DynamoDB = table.EndpointVariable
	S3       = bucket.EndpointVariable
	SQS      = upkeep.EndpointVariable
)

// Invoke answers an event, as JSON, like the function of that name: of the
// gateway, and for maintenance and webhooks of the queue or the schedule.
type Invoke func(ctx context.Context, function string, event []byte) (answer []byte, err error)

// New wires all functions. getenv has the variables that the template sets;
// configure makes the configuration of a function's clients of a service:
// DynamoDB, S3 or SQS. Where no queue is named, there is no maintenance, or nobody tells
// webhooks.
func New(getenv func(string) string, configure func(function, service string) aws.Config, logger *slog.Logger) (Invoke, error) {
	connect := func(function string) table.AWS {
		return func(service string) aws.Config { return configure(function, service) }
	}
	all := map[string]start.Function{
		"delivery":  delivery.Function(connect("delivery")),
		"telemetry": telemetry.Function(connect("telemetry")),
	}
	for _, group := range httpapi.All() {
		name := endpoints.Function(group.Tag())
		all[name] = api.Function(connect(name), group)
	}
	for _, group := range []httpapi.Group{httpapi.Flags(), httpapi.Configs(), httpapi.Segments(), httpapi.Changes(), httpapi.Contexts()} {
		name := endpoints.Function(group.Tag())
		all[name] = contexts.Function(connect(name), group)
	}
	all["changerequests"] = requests.Function(connect("changerequests"))
	all["reference"] = reference.Function()
	all["console"] = console.Function(connect("console"))
	wired := map[string]func(context.Context, []byte) (io.Reader, error){}
	for name, f := range all {
		s, err := settings.Read(getenv, f.Required)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		adapter, err := f.Adapter(s, logger)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		wired[name] = func(ctx context.Context, text []byte) (io.Reader, error) {
			var event events.APIGatewayV2HTTPRequest
			if err := json.Unmarshal(text, &event); err != nil {
				return nil, err
			}
			return adapter.Invoke(ctx, event)
		}
	}
	handlers := map[string]func(settings.Settings) func(context.Context, json.RawMessage) (any, error){
		"maintenance": func(s settings.Settings) func(context.Context, json.RawMessage) (any, error) {
			return upkeep.New(connect("maintenance"), s, logger).Handle
		},
		"webhooks": func(s settings.Settings) func(context.Context, json.RawMessage) (any, error) {
			return webhooks.New(connect("webhooks"), s, logger).Handle
		},
	}
	for name, needs := range map[string]struct {
		queue    string
		required settings.Required
	}{"maintenance": {"QUEUE", settings.Everything}, "webhooks": {"WEBHOOK_QUEUE", settings.Webhooks}} {
		if getenv(needs.queue) == "" {
			continue
		}
		s, err := settings.Read(getenv, needs.required)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		handle := handlers[name](s)
		wired[name] = func(ctx context.Context, event []byte) (io.Reader, error) {
			answer, err := handle(ctx, event)
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(answer)
			return bytes.NewReader(text), err
		}
	}
	return func(ctx context.Context, function string, event []byte) ([]byte, error) {
		if wired[function] == nil {
			return nil, fmt.Errorf("there is no function %q", function)
		}
		answer, err := wired[function](ctx, event)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(answer)
	}, nil
}
