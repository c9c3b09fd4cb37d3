// Package start is what the main functions of all Lambda functions share: they
// read the settings, wire a handler and answer events with it.
//
// What must stay true:
//
//   - The log is JSON, a line an entry, to standard error. An entry that is
//     written while a request is answered holds the id of its invocation.
//   - A function that cannot start says why in one entry and exits, so that
//     Lambda reports it; it does not answer requests half-wired.
package start

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"svc.example/svc/functions/internal/gateway"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/terminal"
)

// Function is a function that answers the gateway's events: what it needs, and
// how its handler is wired.
type Function struct {
	Required settings.Required
	Wire     func(s settings.Settings, logger *slog.Logger) (http.Handler, error)
}

// Adapter is what answers the events.
func (f Function) Adapter(s settings.Settings, logger *slog.Logger) (*gateway.Adapter, error) {
	handler, err := f.Wire(s, logger)
	if err != nil {
		return nil, err
	}
	return gateway.New(handler, logger), nil
}

// HTTP runs a function that answers the gateway's events. It does not return.
func HTTP(f Function) {
	run(f.Required, func(s settings.Settings, logger *slog.Logger) (any, error) {
		adapter, err := f.Adapter(s, logger)
		if err != nil {
			return nil, err
		}
		return adapter.Invoke, nil
	})
}

// Events runs a function that takes other events than requests: of a schedule
// or a queue. An error of its work is logged and makes the invocation fail, so
// that the alarm rings.
func Events(required settings.Required, wire func(s settings.Settings, logger *slog.Logger) func(context.Context, json.RawMessage) (any, error)) {
	run(required, func(s settings.Settings, logger *slog.Logger) (any, error) {
		work := wire(s, logger)
		return func(ctx context.Context, event json.RawMessage) (any, error) {
			answer, err := work(ctx, event)
			if err != nil {
				logger.ErrorContext(ctx, "the work failed", "error", err.Error())
			}
			return answer, err
		}, nil
	})
}

func run(required settings.Required, wire func(settings.Settings, *slog.Logger) (handler any, err error)) {
	s, err := settings.Read(os.Getenv, required)
	logger := newLogger(terminal.NewWriter(os.Stderr), s.LogLevel)
	if err == nil {
		heap.Within(s.Memory)
		var handler any
		if handler, err = wire(s, logger); err == nil {
			lambda.Start(handler)
		}
	}
	logger.Error("the function cannot start", "error", err.Error())
	os.Exit(1)
}

// newLogger makes the logger.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(invocationHandler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})})
}

// invocationHandler adds the id of the invocation to an entry.
type invocationHandler struct{ slog.Handler }

func (h invocationHandler) Handle(ctx context.Context, r slog.Record) error {
	if invocation, found := lambdacontext.FromContext(ctx); found {
		r.AddAttrs(slog.String("invocation", invocation.AwsRequestID))
	}
	return h.Handler.Handle(ctx, r)
}

func (h invocationHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return invocationHandler{h.Handler.WithAttrs(attrs)}
}

func (h invocationHandler) WithGroup(name string) slog.Handler {
	return invocationHandler{h.Handler.WithGroup(name)}
}
