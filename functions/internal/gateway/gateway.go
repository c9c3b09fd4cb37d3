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

	"svc.example/svc/shared/fault"
)

// Adapter answers events with a handler.
type Adapter struct {
	handler http.Handler
	logger  *slog.Logger
}

// New makes an Adapter. The logger is told of what went wrong on our side.
func New(handler http.Handler, logger *slog.Logger) *Adapter { return &Adapter{handler, logger} }

// Invoke answers one event. It is what aws-lambda-go is started with.
func (a *Adapter) Invoke(ctx context.Context, event events.APIGatewayV2HTTPRequest) (answer *Payload, _ error) {
	w := &writer{header: http.Header{}}
	refuse := func(f *fault.Fault) *Payload {
		return refusal(f, &event, w.header)
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
	if deadline, limited := ctx.Deadline(); limited { // the handler ends before Lambda ends the process
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(margin, time.Until(deadline)/4)))
		defer cancel()
	}
	r, err := request(ctx, &event)
	if err != nil { // a body that is no base64, a method that is none
		a.logger.WarnContext(ctx, "event refused", "cause", err.Error(), "route", event.RouteKey)
		return refuse(fault.New(fault.BadRequest, "the request cannot be read")), nil
	}
	if r.RemoteAddr, err = comesFrom(&event, r); err != nil {
		if errors.Is(err, errNoProxy) {
			return refuse(fault.New(fault.Forbidden, "%s", err)), nil
		}
		a.logger.ErrorContext(ctx, "the proxies in front are not known", "cause", err.Error())
		return refuse(fault.New(fault.Unavailable, "the service's operator has to mend its list of trusted proxies")), nil
	}
	a.handler.ServeHTTP(w, r)
	answer, size := w.payload()
	if answer == nil {
		a.logger.ErrorContext(ctx, "answer too large", "bytes", size, "route", event.RouteKey)
		return refuse(fault.New(fault.BadRequest, "the answer would be %d bytes long, and %d are the most that can be sent at once; ask for less, such as a page of a list, or one flag with POST /ofrep/v1/evaluate/flags/{key}", size, maxPayload)), nil
	}
	return answer, nil
}

var errPanic = errors.New("panic")

// margin is what is kept of an invocation's time for the answer.
const margin = 500 * time.Millisecond

// describe leaves out what anybody panicked with but the runtime: it could
// hold a part of a document.
func describe(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T", p)
}
