package gateway

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"svc.example/svc/shared/fault"
)

const (
	// mostPayload is what Lambda takes as the answer of one invocation.
	mostPayload = 6_291_556
	// mostHeader is what is left of it for all but the body.
	mostHeader = 64 << 10
	// MaxAnswer is the largest body that can be answered, whatever is in it:
	// as base64 it fits.
	MaxAnswer = (mostPayload - mostHeader) / 4 * 3
	// mostEscaped is how many bytes JSON may make of one byte of text.
	mostEscaped = 6
)

// fit chooses the shorter form of a body, and says whether it can be sent.
func fit(a events.APIGatewayV2HTTPResponse) (events.APIGatewayV2HTTPResponse, bool) {
	length := len(a.Body)
	if !a.IsBase64Encoded && length > mostPayload/mostEscaped {
		length = escapedLength(a.Body)
		if asBase64 := base64.StdEncoding.EncodedLen(len(a.Body)); asBase64 < length {
			a.Body, a.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(a.Body)), true
			length = asBase64
		}
	}
	return a, length <= mostPayload-mostHeader
}

// escapedLength is how long a text is inside a JSON string, as aws-lambda-go
// writes it.
func escapedLength(text string) int {
	length := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if i += size; r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
				size = mostEscaped
			}
			length += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			length += 2
		case c < ' ':
			length += mostEscaped
		default:
			length++
		}
	}
	return length
}

// refusal is a fault as an answer. It keeps from the answer that it stands in
// for what lets a page of another origin read it.
func refusal(f *fault.Fault, requestID string, instead http.Header) events.APIGatewayV2HTTPResponse {
	if f.Kind == fault.Internal {
		f = f.With(map[string]any{"requestId": requestID})
	}
	body, err := json.Marshal(f.Envelope())
	if err != nil {
		body = []byte(`{"error":"INTERNAL","message":"something went wrong on our side"}`)
	}
	headers := map[string]string{
		"Content-Type": "application/json", "Content-Length": strconv.Itoa(len(body)),
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Request-Id": requestID,
	}
	for name, values := range instead {
		if name == "Vary" || strings.HasPrefix(name, "Access-Control-") {
			headers[name] = strings.Join(values, ",")
		}
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: f.Kind.Status(), Headers: headers, Body: string(body)}
}
