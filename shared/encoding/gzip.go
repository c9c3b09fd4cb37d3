package encoding

import (
	"bytes"
	"compress/gzip"
	"io"
)

// Gzip compresses what some parts are together.
func Gzip(parts ...[]byte) []byte {
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	for _, part := range parts {
		_, _ = w.Write(part) // a buffer takes all
	}
	_ = w.Close()
	return text.Bytes()
}

// Gunzip is what Gzip has compressed, up to so many bytes; nothing of nothing.
func Gunzip(text []byte, most int64) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, most))
}
