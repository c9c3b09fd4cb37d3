package apigateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
)

// Invoke invokes a function with an event. An error is one of the function or
// of what runs it, and is answered like the gateway does: 500 without a reason.
type Invoke func(ctx context.Context, function string, event []byte) (answer []byte, err error)

// Front answers HTTP requests through functions.
type Front struct {
	Routes Routes
	Invoke Invoke
	Logger *slog.Logger
}

// ServeHTTP answers a request.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := f.answer(r)
	var own *refusal
	if err != nil && !errors.As(err, &own) {
		f.Logger.Error("the function failed", "error", err.Error())
		own = &refusal{http.StatusInternalServerError, "Internal Server Error"}
	}
	if own != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(own.status)
		fmt.Fprintf(w, "{\"message\":%q}", own.message)
		return
	}
	if err := send(w, r, answer); err != nil {
		f.Logger.Error("the function's answer cannot be sent", "error", err.Error())
	}
}

func (f *Front) answer(r *http.Request) (*events.APIGatewayV2HTTPResponse, error) {
	route, event, err := f.Routes.newEvent(r)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	out, err := f.Invoke(r.Context(), route.Target, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", route.Target, err)
	}
	var answer events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(out, &answer); err != nil || answer.StatusCode == 0 {
		return nil, fmt.Errorf("%s answered %.200s", route.Target, out)
	}
	return &answer, nil
}

func send(w http.ResponseWriter, r *http.Request, a *events.APIGatewayV2HTTPResponse) error {
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return err
		}
	}
	header := w.Header()
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	for _, cookie := range a.Cookies {
		header.Add("Set-Cookie", cookie)
	}
	if r.Method != http.MethodHead && a.StatusCode != http.StatusNotModified && a.StatusCode != http.StatusNoContent {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(a.StatusCode)
	_, err := w.Write(body)
	if errors.Is(err, http.ErrBodyNotAllowed) {
		err = nil // HEAD, 204 and 304 have none
	}
	return err
}
