// Package bodies reads the bodies of requests, and bounds the memory that they
// take: of the large ones that a handler is sent, a few are taken in at a time,
// and about one is decoded.
package bodies

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/turns"
)

// Max is how many bytes a body may have.
const Max = 1 << 20

// maxArriving is how many bytes of large bodies are taken in at a time, and
// maxShare how many of one owner.
const (
	maxArriving = 16 * Max
	maxShare    = maxArriving / 4
)

// Budget is what the bodies of the requests to a handler share. Handlers do not
// share one: evaluations would wait for a store that is slow to take what
// others write. The zero Budget is ready for use.
type Budget struct {
	made              sync.Once
	arriving, decoded *turns.Turns
}

// Read reads the body of a request and waits until it may be decoded. Large ones
// take turns by owner, such as a key at an address, which is asked for only of
// these; others do not wait for all that one owner sends. Memory is taken for what
// arrives and not for what is announced. The error is a fault: of a body that is
// larger than Max, encoded or not whole, or of one that has waited for long and may
// be sent again.
func (b *Budget) Read(w http.ResponseWriter, r *http.Request, owner func() string) (body []byte, place Place, err error) {
	return b.ReadWithin(Max, w, r, owner)
}

// ReadWithin is Read for a body of that many bytes, at the most, instead of Max.
func (b *Budget) ReadWithin(most int64, w http.ResponseWriter, r *http.Request, owner func() string) (body []byte, place Place, err error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, Place{}, fault.New(fault.BadRequest, "the body is sent with a Content-Encoding; send it plain")
	}
	var text bytes.Buffer
	from := http.MaxBytesReader(w, r.Body, most)
	if _, err := text.ReadFrom(io.LimitReader(from, turns.Small+1)); err != nil {
		return nil, Place{}, refusal(most, err)
	}
	if text.Len() <= turns.Small {
		return text.Bytes(), Place{}, nil
	}
	size := most
	if r.ContentLength > 0 {
		size = min(r.ContentLength, most)
	}
	b.made.Do(func() {
		b.arriving, b.decoded = turns.Of(maxArriving, maxShare), turns.Of(turns.Decoded, turns.Decoded)
	})
	of := owner()
	gone, err := b.arriving.Take(r.Context(), of, size)
	if err != nil {
		return nil, Place{}, err
	}
	// A body that dawdles keeps its place from others no longer than this. Not
	// every server has deadlines; those without have their own.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(turns.Patience))
	text.Grow(int(size) - text.Len() + bytes.MinRead)
	if _, err := text.ReadFrom(from); err != nil {
		gone()
		return nil, Place{}, refusal(most, err)
	}
	_ = deadlines.SetReadDeadline(time.Time{})
	decoded, err := b.decoded.Take(r.Context(), of, int64(text.Len()))
	if err != nil {
		gone()
		return nil, Place{}, err
	}
	return text.Bytes(), Place{decoded, gone}, nil
}

// Place is what a large body has of its handler's Budget. The zero Place is that
// of a small one.
type Place struct{ decoded, gone func() }

// Decoded lets the next large body be decoded: of this one nothing is left but
// what was made of it. To be called once or more often.
func (p Place) Decoded() {
	if p.decoded != nil {
		p.decoded()
	}
}

// Leave gives the place up. It is called when nothing of the body is in memory any
// more, and before a client is answered that may be slow; once or more often.
func (p Place) Leave() {
	if p.Decoded(); p.gone != nil {
		p.gone()
	}
}

// Empty reports whether a request has no body. It reads a byte where the length was not sent.
func Empty(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength == 0
	}
	n, _ := io.ReadFull(r.Body, make([]byte, 1)) // one that breaks off is of no use either
	return n == 0
}

// refusal is the fault of a body that could not be read.
func refusal(most int64, err error) error {
	if errors.As(err, new(*http.MaxBytesError)) {
		return fault.New(fault.PayloadTooLarge, "the body is larger than %d MiB (%d bytes)", most>>20, most)
	}
	return fault.New(fault.BadRequest, "the body ended before it was complete").Because(err)
}
