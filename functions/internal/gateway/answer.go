package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/fault"
)

const (
	// maxPayload is what Lambda takes as the answer of one invocation.
	maxPayload = 6_291_556
	// maxHeader is what is left of it for all but the body.
	maxHeader = 64 << 10
	// MaxAnswer is the largest body that can be answered, whatever is in it:
	// as base64 it fits.
	MaxAnswer = (maxPayload - maxHeader) / 4 * 3
)

// writer keeps an answer until it is whole.
type writer struct {
	header http.Header
	status int // 0: not written yet
	body   []byte
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader keeps the first status, as net/http does.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, b...)
	return len(b), nil
}

// Payload is an answer as Lambda takes it: the JSON of
// events.APIGatewayV2HTTPResponse. aws-lambda-go sends what it reads of it;
// made by aws-lambda-go, it would be in memory a few times over.
type Payload struct{ text bytes.Reader }

// Read implements io.Reader.
func (p *Payload) Read(b []byte) (int, error) { return p.text.Read(b) }

// ContentType is what aws-lambda-go sends it as.
func (p *Payload) ContentType() string { return "application/json" }

// payload is the answer with its body in the shorter of two forms, text or
// base64, or none when even that is too large.
func (w *writer) payload() (p *Payload, size int) {
	w.WriteHeader(http.StatusOK)
	var head struct {
		Status  int               `json:"statusCode"`
		Headers map[string]string `json:"headers"`
		Cookies []string          `json:"cookies,omitempty"`
		Base64  bool              `json:"isBase64Encoded"`
	}
	head.Status, head.Headers = w.status, make(map[string]string, len(w.header))
	for name, values := range w.header {
		if name == "Set-Cookie" {
			head.Cookies = values
			continue
		}
		head.Headers[name] = strings.Join(values, ",")
	}
	length, asBase64 := escapedLength(w.body), base64.StdEncoding.EncodedLen(len(w.body))
	if head.Base64 = asBase64 < length || !utf8.Valid(w.body); head.Base64 {
		length = asBase64
	}
	text, err := json.Marshal(head)
	if err != nil {
		panic(err) // texts and numbers
	}
	const name = `,"body":""}`
	if size = len(text) - 1 + len(name) + length; size > maxPayload {
		return nil, size
	}
	text = append(slices.Grow(text[:len(text)-1], len(name)+length), name[:len(name)-2]...)
	if head.Base64 {
		text = append(base64.StdEncoding.AppendEncode(text, w.body), '"')
	} else {
		text, _ = jsontext.AppendQuote(text[:len(text)-1], w.body) // it is UTF-8
	}
	p = &Payload{}
	p.text.Reset(append(text, '}'))
	return p, size
}

// escapedLength is how long a text is inside a JSON string.
func escapedLength(text []byte) int {
	length := len(text)
	for _, c := range text {
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			length++
		case c < ' ':
			length += len(`\u0001`) - 1
		}
	}
	return length
}

// refusal is a fault as an answer, in the form that clients of its path read. It keeps from the answer that it stands in
// for what lets a page of another origin read it.
func refusal(f *fault.Fault, event *events.APIGatewayV2HTTPRequest, instead http.Header) *Payload {
	requestID := event.RequestContext.RequestID
	if f.Kind == fault.Internal {
		f = f.With(map[string]any{"requestId": requestID})
	}
	var told any = f.Envelope()
	if strings.HasPrefix(event.RawPath, "/ofrep/") {
		told = struct {
			Code    string `json:"errorCode"`
			Details string `json:"errorDetails"`
		}{"GENERAL", f.Message}
	}
	body, err := json.Marshal(told)
	if err != nil {
		body = []byte(`{"error":"INTERNAL","message":"something went wrong on our side"}`)
	}
	w := writer{status: f.Kind.Status(), body: body, header: http.Header{
		"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))},
		"Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}, "X-Request-Id": {requestID},
	}}
	for name, values := range instead {
		if name == "Vary" || strings.HasPrefix(name, "Access-Control-") {
			w.header[name] = values
		}
	}
	p, _ := w.payload()
	return p
}
