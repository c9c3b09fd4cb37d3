package pack

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
)

// ErrChecksum: a pack's content is not what the checksum at its end stands for.
var ErrChecksum = errors.New("its content does not fit its checksum")

// Checksum holds a pack of a size against the checksum at its end, and returns it.
// Its index names the same one.
func Checksum(pack io.Reader, size int64) (string, error) {
	sum := sha1.New()
	if _, err := io.CopyN(sum, pack, size-TrailerLength); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	trailer := make([]byte, TrailerLength)
	if _, err := io.ReadFull(pack, trailer); err != nil || !bytes.Equal(sum.Sum(nil), trailer) {
		return "", ErrChecksum
	}
	return hex.EncodeToString(trailer), nil
}
