// Package bodies reads the bodies of requests, and bounds the memory that they
// take.
//
// Decoded, JSON takes up to 150 times its bytes: an array of a million small
// numbers is a million values. A bound on each body says nothing about many at
// once, so the large ones that a handler is sent take turns: a few are taken in
// at a time, and about one is decoded.
package bodies

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.example/svc/shared/fault"
)

// Max is how many bytes a body may have.
const Max = 1 << 20

const (
	// small bodies wait for nobody: keys and addresses have limits of their own.
	small = 32 << 10
	// mostArriving is how many bytes of large bodies are taken in at a time.
	mostArriving = 16 * Max
	// mostDecoded is how many of them are decoded at a time: one of the largest,
	// or some that are smaller.
	mostDecoded = Max
	// patience is how long a body waits for each of its turns, and how long one
	// may take to arrive once others wait for its place.
	patience = 10 * time.Second
)

// Budget is what the bodies of the requests to a handler share. Handlers do not
// share one: whoever evaluates would wait for a store that is slow to take what
// others write. The zero Budget is ready for use.
type Budget struct {
	made     sync.Once
	arriving *semaphore.Weighted
	decoded  *semaphore.Weighted
}

// Read reads the body of a request and waits until it may be decoded. Memory is
// taken for what arrives and not for what is announced. The caller leaves when
// nothing of it is in memory any more, and before it answers a client that may
// be slow; once or more often. The error is a fault: of a body that is larger
// than Max, encoded or not whole, or of one that has waited for long and may be
// sent again.
func (b *Budget) Read(w http.ResponseWriter, r *http.Request) (body []byte, leave func(), err error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, nil, fault.New(fault.BadRequest, "the body is sent with a Content-Encoding; send it plain")
	}
	var text bytes.Buffer
	from := http.MaxBytesReader(w, r.Body, Max)
	if _, err := text.ReadFrom(io.LimitReader(from, small+1)); err != nil {
		return nil, nil, refusal(err)
	}
	if text.Len() <= small {
		return text.Bytes(), func() {}, nil
	}
	b.made.Do(func() {
		b.arriving, b.decoded = semaphore.NewWeighted(mostArriving), semaphore.NewWeighted(mostDecoded)
	})
	size := int64(Max)
	if r.ContentLength > 0 {
		size = min(r.ContentLength, Max)
	}
	gone, err := take(r.Context(), b.arriving, size)
	if err != nil {
		return nil, nil, err
	}
	// A body that dawdles keeps its place from others no longer than this. Not
	// every server has deadlines; those without have their own.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(patience))
	text.Grow(int(size) - text.Len() + bytes.MinRead)
	if _, err := text.ReadFrom(from); err != nil {
		gone()
		return nil, nil, refusal(err)
	}
	_ = deadlines.SetReadDeadline(time.Time{})
	decoded, err := take(r.Context(), b.decoded, int64(text.Len()))
	if err != nil {
		gone()
		return nil, nil, err
	}
	return text.Bytes(), func() { decoded(); gone() }, nil
}

// refusal is the fault of a body that could not be read.
func refusal(err error) error {
	if errors.As(err, new(*http.MaxBytesError)) {
		return fault.New(fault.PayloadTooLarge, "the body is larger than 1 MiB (%d bytes)", Max)
	}
	return fault.New(fault.BadRequest, "the body ended before it was complete").Because(err)
}

// take waits for its turn at so many bytes.
func take(ctx context.Context, of *semaphore.Weighted, size int64) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := of.Acquire(ctx, size); err != nil {
		return nil, fault.New(fault.Unavailable, "too many large bodies arrive at once; the request can be repeated").Because(err)
	}
	return sync.OnceFunc(func() { of.Release(size) }), nil
}
