package negotiation

import (
	"bytes"
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

// Tag is the entity tag of an answer in a coding, whose bytes are others.
func (c Coding) Tag(etag string) string {
	if c == "" {
		return etag
	}
	return etag[:len(etag)-1] + "-" + string(c) + `"`
}

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

// Packed is a body in each coding, for one that is sent often.
type Packed struct {
	Length     int // of the plain body, in bytes
	gzip, zstd []byte
}

// Pack compresses a body that is never in memory as a whole. It is deterministic,
// so that equal bodies have equal bytes.
func Pack(write func(w io.Writer)) Packed {
	var p Packed
	var b bytes.Buffer
	z := zstds.Get().(*zstd.Encoder)
	defer zstds.Put(z)
	z.Reset(&b)
	p.gzip = compress(&compressors, func(w io.Writer) {
		write(io.MultiWriter(w, z, counter{&p.Length})) // they take everything
	})
	_ = z.Close()
	p.zstd = b.Bytes()
	return p
}

type counter struct{ n *int }

func (c counter) Write(b []byte) (int, error) {
	*c.n += len(b)
	return len(b), nil
}

// In is the body in a coding, which is not "".
func (p Packed) In(c Coding) []byte {
	if c == Zstd {
		return p.zstd
	}
	return p.gzip
}

// Bytes is how many the codings take together.
func (p Packed) Bytes() int64 { return int64(len(p.gzip) + len(p.zstd)) }

// Plain is the body, unpacked while it is read.
func (p Packed) Plain() (io.Reader, error) { return Decompressed(p.gzip) }

var quickGzip = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
	return w
}}

// zstdWindow bounds what an encoder holds; answers repeat themselves soon.
const zstdWindow = 256 << 10

func newZstd(level zstd.EncoderLevel, at int) *zstd.Encoder {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(at),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true)) // options that there are
	return e
}

var (
	quickZstd = sync.OnceValue(func() *zstd.Encoder { return newZstd(zstd.SpeedFastest, 2) })
	zstds     = sync.Pool{New: func() any { return newZstd(zstd.SpeedDefault, 1) }}
)
