// Package fault is the closed set of ways in which a request can fail.
//
// A fault has a kind, which decides the HTTP status and the machine-readable
// code; a message that is safe to show and says what would be right; details
// for machines; and the inner cause, which goes to the log and never to a
// client.
package fault

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"svc.example/svc/shared/terminal"
)

// Kind is one way to fail.
type Kind int

// The kinds. Anything that is no Fault at all is Internal.
const (
	Internal Kind = iota
	BadRequest
	Unauthorized
	BillingInactive
	Forbidden
	NotFound
	MethodNotAllowed
	Conflict
	PayloadTooLarge
	URITooLong
	Misdirected
	Unprocessable
	RateLimited
	Unavailable
)

// table is the one place where a kind turns into a status and a code.
var table = map[Kind]struct {
	status int
	code   string
}{
	Internal:         {500, "INTERNAL"},
	BadRequest:       {400, "BAD_REQUEST"},
	Unauthorized:     {401, "UNAUTHORIZED"},
	BillingInactive:  {402, "BILLING_INACTIVE"},
	Forbidden:        {403, "FORBIDDEN"},
	NotFound:         {404, "NOT_FOUND"},
	MethodNotAllowed: {405, "METHOD_NOT_ALLOWED"},
	Conflict:         {409, "CONFLICT"},
	PayloadTooLarge:  {413, "PAYLOAD_TOO_LARGE"},
	URITooLong:       {414, "URI_TOO_LONG"},
	Misdirected:      {421, "MISDIRECTED_REQUEST"},
	Unprocessable:    {422, "UNPROCESSABLE_CONTENT"},
	RateLimited:      {429, "RATE_LIMITED"},
	Unavailable:      {503, "SERVICE_UNAVAILABLE"},
}

// Status is the HTTP status of the kind.
func (k Kind) Status() int { return table[k].status }

// Code is the machine-readable code of the kind.
func (k Kind) Code() string { return table[k].code }

// Fault is a failed request.
type Fault struct {
	Kind    Kind
	Message string
	// Details go out as they are; nil for none. Where one status has several
	// causes they carry a "code".
	Details map[string]any
	// Cause is for the log.
	Cause error

	wait time.Duration
}

// maxMessage is how many characters of a message are told: it may quote what
// somebody sent.
const maxMessage = 4000

// New makes a fault of a kind. A message that is too long is cut.
func New(kind Kind, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Message: terminal.Cut(fmt.Sprintf(format, args...), maxMessage)}
}

// With adds details to a fault that was just made.
func (f *Fault) With(details map[string]any) *Fault {
	f.Details = details
	return f
}

// Because adds the inner cause to a fault that was just made.
func (f *Fault) Because(cause error) *Fault {
	f.Cause = cause
	return f
}

// After adds how long a client should wait to a fault of the kind RateLimited or
// Unavailable that was just made.
func (f *Fault) After(wait time.Duration) *Fault {
	f.wait = wait
	f.Message += "; try again in " + f.RetryAfter() + " s"
	return f
}

// RetryAfter is what the header Retry-After says of the fault, in whole
// seconds; "" for nothing.
func (f *Fault) RetryAfter() string {
	if f.Kind != RateLimited && f.Kind != Unavailable {
		return ""
	}
	return strconv.FormatInt(int64(max(1, math.Ceil(f.wait.Seconds()))), 10)
}

func (f *Fault) Error() string {
	if f.Cause != nil {
		return f.Message + ": " + f.Cause.Error()
	}
	return f.Message
}

func (f *Fault) Unwrap() error { return f.Cause }

// Of finds the fault in an error. An error without one is Internal, in words
// that tell a client nothing, unless Refused has some.
func Of(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if why := Refused(err); why != "" {
		return New(Unavailable, "%s", why).Because(err)
	}
	return New(Internal, "something went wrong on our side").Because(err)
}

// Envelope is the body of every answer that is not a success.
type Envelope struct {
	Error   string         `json:"error"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// Envelope is the fault as a client sees it.
func (f *Fault) Envelope() Envelope {
	return Envelope{f.Kind.Code(), f.Message, f.Details}
}
