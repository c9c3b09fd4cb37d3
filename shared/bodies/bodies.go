// Package bodies reads the bodies of requests, and bounds the memory that they
// take.
//
// Decoded, JSON takes up to 150 times its bytes: an array of a million small
// numbers is a million values. A bound on each body says nothing about many at
// once, so the large ones that a handler is sent take turns.
package bodies

import (
	"bytes"
	"context"
	"errors"
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
	// most is how many bytes of large bodies are decoded at a time: one of the
	// largest, or some that are smaller.
	most = Max
	// patience is how long a body waits for its turn.
	patience = 10 * time.Second
)

// Budget is what the bodies of the requests to a handler share. Handlers do not
// share one: whoever evaluates would wait for a store that is slow to take what
// others write. The zero Budget is ready for use.
type Budget struct {
	made  sync.Once
	bytes *semaphore.Weighted
}

// Read reads the body of a request and waits until it may be decoded. The caller
// leaves when nothing of it is in memory any more, and before it answers a
// client that may be slow; once or more often. The error is a fault: of a body
// that is larger than Max, encoded or not whole, or of one that has waited for
// long and may be sent again.
func (b *Budget) Read(w http.ResponseWriter, r *http.Request) (body []byte, leave func(), err error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, nil, fault.New(fault.BadRequest, "the body is sent with a Content-Encoding; send it plain")
	}
	var text bytes.Buffer
	text.Grow(int(min(max(r.ContentLength, 0), small)) + bytes.MinRead) // more once it arrives: to announce it costs nothing
	if _, err := text.ReadFrom(http.MaxBytesReader(w, r.Body, Max)); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, nil, fault.New(fault.PayloadTooLarge, "the body is larger than 1 MiB (%d bytes)", Max)
		}
		return nil, nil, fault.New(fault.BadRequest, "the body ended before it was complete").Because(err)
	}
	leave, err = b.take(r.Context(), text.Len())
	return text.Bytes(), leave, err
}

// take waits until a body of so many bytes may be decoded.
func (b *Budget) take(ctx context.Context, size int) (leave func(), err error) {
	if size <= small {
		return func() {}, nil
	}
	b.made.Do(func() { b.bytes = semaphore.NewWeighted(most) })
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.bytes.Acquire(ctx, int64(size)); err != nil {
		return nil, fault.New(fault.Unavailable, "too many large bodies arrive at once; the request can be repeated").Because(err)
	}
	return sync.OnceFunc(func() { b.bytes.Release(int64(size)) }), nil
}
