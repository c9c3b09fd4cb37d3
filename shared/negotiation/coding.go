package negotiation

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Coding is a Content-Encoding; "" for a plain body.
type Coding string

// The codings.
const (
	GzipCoding Coding = "gzip"
	Zstd       Coding = "zstd"
)

// Compress compresses a body that is sent once: it takes a fraction of the time of
// the other Compress, and leaves a little more. A plain body it leaves alone.
func (c Coding) Compress(body []byte) []byte {
	switch c {
	case Zstd:
		return quickZstd().EncodeAll(body, nil)
	case GzipCoding:
		return compress(&quickGzip, func(w io.Writer) {
			_, _ = w.Write(body) // a buffer takes everything
		})
	}
	return body
}

var quickGzip = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
	return w
}}

// zstdWindow bounds what an encoder holds; answers repeat themselves soon.
const zstdWindow = 256 << 10

var quickZstd = sync.OnceValue(func() *zstd.Encoder {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true)) // options that there are
	return e
})
