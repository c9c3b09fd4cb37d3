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

// loose reads an object that git has not packed yet. There is none where nothing
// can be opened.
func (r *Reader) loose(id object.ID) (object.Kind, []byte, error) {
	if r.objects.opener == nil {
		return "", nil, errNotThere
	}
	text := id.String()
	path := "objects/" + text[:2] + "/" + text[2:]
	f, err := r.objects.opener.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, errNotThere
	}
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	kind, content, err := decodeLoose(io.NewSectionReader(f, 0, math.MaxInt64), r.deltas.Max)
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

// decodeLoose inflates an object, unless its header claims too much.
func decodeLoose(f io.Reader, max func(object.Kind) int64) (object.Kind, []byte, error) {
	z, err := zlib.NewReader(f)
	if err != nil {
		return "", nil, err
	}
	r := bufio.NewReaderSize(z, longestLooseHeader)
	header, err := r.ReadSlice(0)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", errLooseHeader, err)
	}
	name, digits, _ := strings.Cut(strings.TrimSuffix(string(header), "\x00"), " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 {
		return "", nil, errLooseHeader
	}
	kind := object.Kind(name)
	if most := max(kind); size > most {
		return "", nil, &object.TooLarge{Size: size, Max: most}
	}
	content, err := io.ReadAll(io.LimitReader(r, size+1))
	if err == nil && int64(len(content)) != size {
		err = fmt.Errorf("the header says %d bytes, which the content is not", size)
	}
	return kind, content, err
}
