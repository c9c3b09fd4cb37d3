package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"svc.example/svc/shared/fault"
)

// Adapter answers events with a handler.
type Adapter struct {
	adapter *httpadapter.HandlerAdapterV2
	logger  *slog.Logger
}

// New makes an Adapter. The logger is told of what went wrong on our side.
func New(handler http.Handler, logger *slog.Logger) *Adapter {
	return &Adapter{logger: logger, adapter: httpadapter.NewV2(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := r.Context().Value(exchangeKey{}).(*exchange)
		x.header = w.Header()
		restore(r, &x.event)
		once := &onceWriter{ResponseWriter: w}
		handler.ServeHTTP(once, r)
		once.WriteHeader(http.StatusOK)
	}))}
}

// exchange is one event on its way through the adapter.
type exchange struct {
	event  events.APIGatewayV2HTTPRequest
	header http.Header // of the answer
}

type exchangeKey struct{}

// onceWriter keeps the first status, as net/http does.
type onceWriter struct {
	http.ResponseWriter
	wrote bool
}

func (w *onceWriter) WriteHeader(status int) {
	if !w.wrote {
		w.wrote = true
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *onceWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Invoke answers one event. It is what aws-lambda-go is started with.
func (a *Adapter) Invoke(ctx context.Context, event events.APIGatewayV2HTTPRequest) (answer events.APIGatewayV2HTTPResponse, _ error) {
	x := &exchange{event: event}
	refuse := func(f *fault.Fault) events.APIGatewayV2HTTPResponse {
		return refusal(f, event.RequestContext.RequestID, x.header)
	}
	defer func() {
		if p := recover(); p != nil {
			a.logger.ErrorContext(ctx, "panic", "what", describe(p), "route", event.RouteKey, "stack", string(debug.Stack()))
			answer = refuse(fault.Of(errPanic))
		}
	}()
	if event.RequestContext.HTTP.Method == "" {
		return refuse(fault.New(fault.BadRequest, "this function answers events of an HTTP API in the payload format 2.0")), nil
	}
	ctx, cancel := withMargin(ctx)
	defer cancel()
	answer, err := a.adapter.ProxyWithContext(context.WithValue(ctx, exchangeKey{}, x), stripped(event))
	if err != nil { // a body that is no base64, a method that is none
		a.logger.WarnContext(ctx, "event refused", "cause", err.Error(), "route", event.RouteKey)
		return refuse(fault.New(fault.BadRequest, "the request cannot be read")), nil
	}
	answer, fits := fit(answer)
	if !fits {
		a.logger.ErrorContext(ctx, "answer too large", "bytes", len(answer.Body), "route", event.RouteKey)
		return refuse(fault.New(fault.Internal, "the answer is larger than can be sent at once")), nil
	}
	return answer, nil
}

var errPanic = errors.New("panic")

// margin is what is kept of an invocation's time for the answer.
const margin = 500 * time.Millisecond

// stripped is an event with only what the adapter reads right: method, body,
// source. The rest is restored from the whole event.
func stripped(event events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	event.RawPath, event.RawQueryString, event.QueryStringParameters = "/", "", nil
	event.Headers, event.Cookies = nil, nil
	event.RequestContext.DomainName = "gateway.invalid"
	return event
}

// withMargin ends a context before Lambda ends the process.
func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	keep := min(margin, time.Until(deadline)/4)
	return context.WithDeadline(ctx, deadline.Add(-keep))
}

// describe leaves out what anybody panicked with but the runtime: it could
// hold a part of a document.
func describe(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T", p)
}
