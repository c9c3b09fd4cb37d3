package backup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A tar file as POSIX has it (ustar), as much of it as archives need: plain files with
// short names. Package archive/tar, which tests compare this with, would be 75 KB of the
// binary, for links, sparse files and attributes that nobody may find in an archive.
const (
	blockSize = 512

	nameField  = 100 // at 0
	modeAt     = 100 // 8 bytes, as are the two owners after it
	sizeAt     = 124
	sizeField  = 12
	modifiedAt = 136 // 12 bytes
	sumAt      = 148
	sumField   = 8
	kindAt     = 156
	magicAt    = 257
	plainFile  = '0'

	magic    = "ustar\x0000"
	maxOctal = 1<<33 - 1
)

// encodeTar is the block before a file's content. A size that eleven octal digits do
// not hold is binary, as GNU tar has it.
func encodeTar(name string, size int64, modified time.Time) ([]byte, error) {
	if len(name) > nameField || size < 0 {
		return nil, fmt.Errorf("%s with %d bytes does not fit into an archive", name, size)
	}
	b := make([]byte, blockSize)
	copy(b, name)
	copy(b[modeAt:], "0000600\x000000000\x000000000\x00")
	if size <= maxOctal {
		copy(b[sizeAt:], fmt.Sprintf("%011o\x00", size))
	} else {
		b[sizeAt] = 0x80
		binary.BigEndian.PutUint64(b[sizeAt+sizeField-8:], uint64(size))
	}
	copy(b[modifiedAt:], fmt.Sprintf("%011o\x00", max(0, modified.Unix())))
	b[kindAt] = plainFile
	copy(b[magicAt:], magic)
	copy(b[sumAt:], fmt.Sprintf("%06o\x00 ", sumTar(b)))
	return b, nil
}

// sumTar adds up a block, with spaces where the sum itself is.
func sumTar(b []byte) (sum int64) {
	for i, c := range b {
		if i >= sumAt && i < sumAt+sumField {
			c = ' '
		}
		sum += int64(c)
	}
	return sum
}

var (
	errNoTar    = errors.New("no block of a tar file")
	errNotPlain = errors.New("it is no plain file")
)

// decodeTar reads such a block. Extensions of the format, such as for sparse files, are
// errNotPlain.
func decodeTar(b []byte) (name string, size int64, err error) {
	sum, ok := octal(b[sumAt : sumAt+sumField])
	if !ok || sum != sumTar(b) || string(b[magicAt:magicAt+len(magic)]) != magic {
		return "", 0, errNoTar
	}
	text, _, _ := bytes.Cut(b[:nameField], []byte{0})
	if field := b[sizeAt : sizeAt+sizeField]; field[0] == 0x80 {
		size = int64(binary.BigEndian.Uint64(field[sizeField-8:]))
		ok = bytes.Equal(field[1:sizeField-8], make([]byte, sizeField-9)) && size >= 0
	} else {
		size, ok = octal(field)
	}
	if !ok {
		return "", 0, errNoTar
	}
	if b[kindAt] != plainFile {
		err = errNotPlain
	}
	return string(text), size, err
}

func octal(field []byte) (int64, bool) {
	n, err := strconv.ParseUint(string(bytes.Trim(field, " \x00")), 8, 62)
	return int64(n), err == nil
}

// padding is how many bytes follow a file's content, so that a block is full.
func padding(size int64) int64 { return -size & (blockSize - 1) }

// skip reads what stands behind a file's content.
func skip(from io.Reader, size int64) error {
	n, err := io.CopyN(io.Discard, from, padding(size))
	if errors.Is(err, io.EOF) && n < padding(size) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
