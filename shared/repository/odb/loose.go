package odb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zlib"

	"svc.example/svc/shared/repository/object"
)

// loosePath is where an object lies that git has not packed yet.
func loosePath(id object.ID) string {
	text := id.String()
	return "objects/" + text[:2] + "/" + text[2:]
}

// loose reads an object that git has not packed yet. There is none where nothing
// can be opened.
func (r *Reader) loose(id object.ID) (object.Kind, []byte, error) {
	if r.objects.opener == nil {
		return "", nil, errNotThere
	}
	path := loosePath(id)
	f, err := r.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, errNotThere
	}
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	kind, content, err := decodeLoose(io.NewSectionReader(f, 0, math.MaxInt64), max(r.deltas.MaxBlob, object.MaxBlob))
	if large := (*object.TooLarge)(nil); errors.As(err, &large) {
		large.ID = id
	} else if err == nil && object.Hash(kind, content) != id {
		err = errors.New("the content has another id")
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return kind, content, nil
}

// longestLooseHeader is more than a kind, a size and a NUL take.
const longestLooseHeader = 64

var errLooseHeader = errors.New("a loose object begins with its kind and its size")

// looseHeader reads what a loose object begins with. The rest is the content.
func looseHeader(f io.Reader) (kind object.Kind, size int64, rest io.Reader, err error) {
	z, err := zlib.NewReader(f)
	if err != nil {
		return "", 0, nil, err
	}
	r := bufio.NewReaderSize(z, longestLooseHeader)
	header, err := r.ReadSlice(0)
	if err != nil {
		return "", 0, nil, errLooseHeader
	}
	name, digits, _ := strings.Cut(strings.TrimSuffix(string(header), "\x00"), " ")
	size, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 {
		return "", 0, nil, errLooseHeader
	}
	return object.Kind(name), size, r, nil
}

// decodeLoose inflates an object, unless its header claims too much.
func decodeLoose(f io.Reader, maxBlob int64) (object.Kind, []byte, error) {
	kind, size, rest, err := looseHeader(f)
	if err != nil {
		return "", nil, err
	}
	most := object.Max(kind)
	if kind == object.Blob {
		most = maxBlob
	}
	if size > most {
		return "", nil, &object.TooLarge{Size: size, Max: most}
	}
	content, err := io.ReadAll(io.LimitReader(rest, size+1))
	if err == nil && int64(len(content)) != size {
		err = fmt.Errorf("the header says %d bytes, which the content is not", size)
	}
	return kind, content, err
}
