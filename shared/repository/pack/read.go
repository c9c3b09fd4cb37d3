package pack

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zlib"

	"svc.example/svc/shared/repository/object"
)

// Read reads the object that begins at an offset of a pack: its header and
// its content, inflated; a delta is not applied. Length is how many bytes of
// the pack the object takes, if that is known, or 0. Content of more bytes than
// most allows for such a header is not inflated: that is an object.TooLarge.
func Read(pack io.ReaderAt, offset, length int64, most func(Header) int64) (Header, []byte, error) {
	if offset < headerLength {
		return Header{}, nil, fmt.Errorf("no object begins at byte %d of a pack", offset)
	}
	if length <= 0 || length > firstRead {
		length = firstRead
	}
	f := inflaters.Get().(*inflater)
	defer inflaters.Put(f)
	first := f.first[:length]
	n, err := pack.ReadAt(first, offset)
	if err != nil && err != io.EOF {
		return Header{}, nil, err
	}
	first = first[:n]
	h, err := ParseHeader(first)
	if err != nil {
		return h, nil, fmt.Errorf("byte %d of the pack: %w", offset, err)
	}
	if limit := most(h); h.Size > limit {
		return h, nil, &object.TooLarge{Size: h.Size, Max: limit}
	}
	rest := io.NewSectionReader(pack, offset+int64(n), 1<<62-offset)
	content, err := f.inflate(io.MultiReader(bytes.NewReader(first[h.Length:]), rest), h.Size)
	if err != nil {
		return h, nil, fmt.Errorf("byte %d of the pack: %w", offset, err)
	}
	return h, content, nil
}

// firstRead is enough for nearly every document in one go.
const firstRead = 4096

// largestGuess bounds what is set aside because a header claims it.
const largestGuess = 1 << 20

// inflater is kept because making one costs more than a small object.
type inflater struct {
	first  [firstRead]byte // what was read of the pack
	buffer *bufio.Reader
	zlib   io.ReadCloser // also a zlib.Resetter
}

var inflaters = sync.Pool{New: func() any {
	return &inflater{buffer: bufio.NewReaderSize(nil, firstRead)}
}}

func (f *inflater) reset(r io.Reader) (err error) {
	f.buffer.Reset(r)
	if f.zlib == nil {
		f.zlib, err = zlib.NewReader(f.buffer)
		return err
	}
	return f.zlib.(zlib.Resetter).Reset(f.buffer, nil)
}

// inflate inflates content that must be of the size given.
func inflate(r io.Reader, size int64) ([]byte, error) {
	f := inflaters.Get().(*inflater)
	defer inflaters.Put(f)
	return f.inflate(r, size)
}

func (f *inflater) inflate(r io.Reader, size int64) ([]byte, error) {
	if err := f.reset(r); err != nil {
		return nil, err
	}
	content := make([]byte, 0, min(size, largestGuess)+1)
	for int64(len(content)) <= size {
		if len(content) == cap(content) {
			content = slices.Grow(content, len(content))
		}
		// One byte more than expected: only the end of the content makes zlib
		// check its sum.
		n, err := f.zlib.Read(content[len(content):min(int64(cap(content)), size+1)])
		content = content[:len(content)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(len(content)) != size {
		return nil, fmt.Errorf("the object's header says %d bytes, which its content is not", size)
	}
	return content, nil
}
