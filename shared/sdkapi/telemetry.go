package sdkapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/telemetry"
)

const (
	// atOnce is how many batches are taken at a time. What comes on top of
	// that waits, and is sent away when it waits for longer than patience.
	atOnce   = 8
	patience = time.Second
)

// intake answers POST /api/v1/telemetry/.
type intake struct {
	options Options
	guard   authentication.Guard
	slots   chan struct{}
	bodies  bodies.Budget
}

func (i *intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	AnswerReport(w, r, i.take, i.options.refuse)
}

// AnswerReport answers a request that brings telemetry, with the receipt of what takes
// it in.
func AnswerReport(w http.ResponseWriter, r *http.Request, take func(http.ResponseWriter, *http.Request) (telemetry.Receipt, error),
	refuse func(w http.ResponseWriter, r *http.Request, err error)) {
	if !delivery.Takes(w, r, http.MethodPost) {
		return
	}
	receipt, err := take(w, r)
	var body []byte
	if err == nil {
		body, err = json.Marshal(receipt)
	}
	if err != nil {
		refuse(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	delivery.WriteJSON(w, http.StatusAccepted, body)
}

func (i *intake) take(w http.ResponseWriter, r *http.Request) (telemetry.Receipt, error) {
	d, err := i.options.open(i.guard, r, endpoints.ReportContexts, delivery.BasicKey(r))
	if err != nil {
		return telemetry.Receipt{}, err
	}
	body, place, err := i.bodies.Read(w, r, func() string { return delivery.BasicKey(r) + " " + i.guard.Proxies.Address(r).String() })
	if err != nil {
		f := fault.Of(err)
		if f.Kind == fault.PayloadTooLarge {
			f.Message += "; send it in several batches"
		}
		return telemetry.Receipt{}, f
	}
	defer place.Leave()
	from := telemetry.Source{Workspace: d.WorkspaceID(), Environment: d.Environment(), Items: d.Counted,
		Secret: d.Key().Kind == access.KindSecretSDK}
	return i.options.Intake.Take(r.Context(), from, body, func(ctx context.Context) (leave func(), err error) {
		place.Decoded() // nobody's body waits for the store
		return i.slot(ctx)
	})
}

// slot waits for its turn.
func (i *intake) slot(ctx context.Context) (leave func(), err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case i.slots <- struct{}{}:
		return func() { <-i.slots }, nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil, fault.New(fault.Unavailable, "too much telemetry arrives at once; the batch can be sent again")
}
