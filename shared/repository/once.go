package repository

import (
	"bytes"
	"strings"
	"time"

	"svc.example/svc/shared/requestid"
)

// Once says of a commit for which request it was made, where its client may send
// that again: under the same id there is to be no second commit.
type Once struct {
	// ID and Request are 32 hexadecimal digits each: what the client calls the
	// request, and what it asks for.
	ID, Request string
	// Until and Instead are for a ledger that keeps a row for the id. Until says
	// by the ledger's clock when the row is of no more use. Instead is the commit
	// of a row that counts no more, to be replaced; "" for none.
	Until   time.Time
	Instead string
}

// OnceTrailer begins the line of a message, the last but one, that tells of a Once.
const OnceTrailer = "Idempotency-Key: "

// line is the trailer; "" for none.
func (o *Once) line() string {
	if o == nil {
		return ""
	}
	return OnceTrailer + o.ID + " " + o.Request + "\n"
}

// valid says whether the ids have their form.
func (o *Once) valid() bool { return requestid.Valid(o.ID) && requestid.Valid(o.Request) }

// onceBytes and lastBytes are how long the lines are that end a message.
const (
	idDigits  = 32
	onceBytes = len(OnceTrailer) + idDigits + 1 + idDigits + 1
	lastBytes = len(RequestTrailer) + idDigits + 1
)

// ReadOnce finds the ids of a Once at the end of a commit's message. That takes the
// same time for any message: who has many looks at all of them.
func ReadOnce(message []byte) (o Once, ok bool) {
	begin := len(message) - lastBytes - onceBytes
	if begin < 1 || message[begin-1] != '\n' {
		return o, false
	}
	line, last := message[begin:begin+onceBytes], message[begin+onceBytes:]
	if !bytes.HasPrefix(line, []byte(OnceTrailer)) || !bytes.HasPrefix(last, []byte(RequestTrailer)) {
		return o, false
	}
	o.ID, o.Request, _ = strings.Cut(string(line[len(OnceTrailer):len(line)-1]), " ")
	return o, o.valid() && line[len(line)-1] == '\n'
}
