package negotiation

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// smallest is the body that is worth compressing.
const smallest = 1024

// Gzip reports whether a body of a size goes out as gzip: the client takes it,
// does not like the plain body better, and the body is worth it or the client
// does not take it plain.
func Gzip(r *http.Request, size int) bool {
	gzip, _, identity := qualities(r.Header["Accept-Encoding"])
	return worthIt(gzip, identity, size)
}

// Choose is the coding that a body of a size goes out in. Zstandard is for
// clients that name it, and not for those that take anything.
func Choose(r *http.Request, size int) Coding {
	gzip, zstd, identity := qualities(r.Header["Accept-Encoding"])
	switch {
	case !worthIt(max(gzip, zstd), identity, size):
		return ""
	case zstd >= gzip:
		return Zstd
	}
	return GzipCoding
}

func worthIt(quality, identity float64, size int) bool {
	return quality > 0 && quality >= identity && (size >= smallest || identity == 0)
}

// qualities reads an Accept-Encoding: how much the client likes gzip, zstd and
// the plain body, from 0 for not at all. A plain body that is not spoken of is
// taken, but not preferred to what is.
func qualities(header []string) (gzip, zstd, identity float64) {
	const unsaid = -1.0
	gzip, identity, others := unsaid, unsaid, unsaid
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			coding, q := quality(item)
			switch coding {
			case "gzip", "x-gzip":
				gzip = max(gzip, q)
			case "zstd":
				zstd = max(zstd, q)
			case "identity":
				identity = q
			case "*":
				others = q
			}
		}
	}
	if gzip == unsaid {
		gzip = max(0, others)
	}
	if identity == unsaid {
		identity = tolerated
		if others == 0 {
			identity = 0
		}
	}
	return gzip, zstd, identity
}

// tolerated is below every quality that a client can name.
const tolerated = 0.0001

// quality reads one coding. A quality that is none counts as 0: what cannot
// be read is not wanted.
func quality(item string) (coding string, q float64) {
	coding, parameters, _ := strings.Cut(item, ";")
	coding = strings.ToLower(strings.TrimSpace(coding))
	name, value, given := strings.Cut(strings.TrimSpace(parameters), "=")
	if !given || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return coding, 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return coding, 0
	}
	return coding, q
}

var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Compress is deterministic, so that equal answers have equal bytes.
func Compress(body []byte) []byte {
	return compress(&compressors, func(w io.Writer) {
		_, _ = w.Write(body) // a buffer takes everything
	})
}

func compress(writers *sync.Pool, write func(w io.Writer)) []byte {
	var b bytes.Buffer
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(&b)
	write(w)
	_ = w.Close()
	return b.Bytes()
}

// Decompress undoes Compress.
func Decompress(packed []byte) ([]byte, error) {
	z, err := Decompressed(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Decompressed is what Compress has compressed, unpacked while it is read.
func Decompressed(packed []byte) (io.Reader, error) {
	return gzip.NewReader(bytes.NewReader(packed))
}
