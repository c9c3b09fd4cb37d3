package dynamo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/table"
)

const (
	// maxTexts bounds what a row carries of texts, compressed. Pages of
	// history read them as well.
	maxTexts = 64 << 10
	// maxPlainTexts bounds what is compressed to find out.
	maxPlainTexts = 2 << 20
	// largestPart bounds what one attribute holds of touches; an item may have
	// 400 KB.
	largestPart = 250 << 10
	// compressFrom: shorter encodings gain nothing.
	compressFrom = 2 << 10
	maxPlain     = 64 << 20
)

var zip = sync.OnceValue(func() *zstd.Encoder {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(1<<20)) // options that there are
	return e
})

var unzip = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxPlain))
	return d
})

// zstdMagic begins every frame. No encoding of a commit begins so.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func packed(b []byte) []byte {
	if len(b) < compressFrom {
		return b
	}
	return zip().EncodeAll(b, nil)
}

// packTexts makes one text of those of the touches; nil when none has one. ok
// is false when a touch does not bring it, or when they are too large.
func packTexts(touched []repository.Touch) (packedTexts []byte, ok bool) {
	size, lengths := 0, []byte{}
	for _, t := range touched {
		if t.Blob == "" {
			continue
		}
		if t.Text == nil {
			return nil, false
		}
		size += len(t.Text)
		lengths = binary.AppendUvarint(lengths, uint64(len(t.Text)))
	}
	if size > maxPlainTexts {
		return nil, false
	}
	plain := make([]byte, 0, len(lengths)+size)
	plain = append(plain, lengths...)
	for _, t := range touched {
		plain = append(plain, t.Text...)
	}
	if len(lengths) == 0 {
		return nil, true
	}
	packedTexts = zip().EncodeAll(plain, nil)
	return packedTexts, len(packedTexts) <= maxTexts
}

var errRow = errors.New("a row of the ledger is damaged")

// unpackTexts gives the touches their texts back.
func unpackTexts(touched []repository.Touch, packedTexts []byte) error {
	plain, err := unzip().DecodeAll(packedTexts, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errRow, err)
	}
	lengths := make([]uint64, len(touched))
	for i, t := range touched {
		if t.Blob == "" {
			continue
		}
		n, size := binary.Uvarint(plain)
		if size <= 0 {
			return errRow
		}
		lengths[i], plain = n, plain[size:]
	}
	for i, t := range touched {
		if t.Blob == "" {
			continue
		}
		if lengths[i] > uint64(len(plain)) {
			return errRow
		}
		touched[i].Text, plain = plain[:lengths[i]:lengths[i]], plain[lengths[i]:]
		if touched[i].Text == nil {
			touched[i].Text = []byte{}
		}
	}
	if len(plain) > 0 {
		return errRow
	}
	return nil
}

// touchesOnly is a commit as it encodes touches and nothing else.
func touchesOnly(c repository.Commit, touched []repository.Touch) repository.Commit {
	return repository.Commit{SHA: c.SHA, Pack: c.Pack, Touched: touched}
}

func decodeCommit(b []byte) (repository.Commit, error) {
	if bytes.HasPrefix(b, zstdMagic) {
		var err error
		if b, err = unzip().DecodeAll(b, nil); err != nil {
			return repository.Commit{}, fmt.Errorf("%w: %w", errRow, err)
		}
	}
	c, rest, err := repository.ReadCommit(b)
	if err != nil || len(rest) > 0 {
		return repository.Commit{}, errRow
	}
	return c, nil
}

// written is the rows of one commit.
type written struct {
	log   item
	id    item
	items []item
	rest  []item
	// whole: the row of the log carries all texts.
	whole bool
	size  int64 // of the row of the log
}

// of makes the rows of a commit, with the shifts of a history that is no
// line.
func (r rows) of(c repository.Commit, shifts []repository.Touch) written {
	w := written{id: rowOf(keyOf(r.ids(), c.SHA)), log: rowOf(keyOf(r.log(), place(c.Sequence, c.SHA)))}
	w.id.Attributes["n"] = table.Number(c.Sequence)
	w.putTouches(r, c, shifts)
	if texts, ok := packTexts(c.Touched); ok {
		w.whole = true
		if texts != nil {
			w.log.Attributes["b"] = table.Bytes(texts)
		}
	}
	if c.Pack != "" {
		w.log.Attributes["p"] = table.Text(c.Pack)
	}
	for _, t := range c.Touched {
		w.items = append(w.items, r.itemOf(c, t))
	}
	for _, t := range shifts {
		shift := r.itemOf(c, t)
		shift.Attributes["s"] = table.Truth(true)
		w.items = append(w.items, shift)
	}
	w.size = int64(w.log.Size())
	return w
}

// putTouches puts the commit into the row of the log, and touches that are too
// many for it into rows of their own.
func (w *written) putTouches(r rows, c repository.Commit, shifts []repository.Touch) {
	encoded := packed(repository.AppendCommit(nil, c))
	var shifted []byte
	if len(shifts) > 0 {
		shifted = packed(repository.AppendCommit(nil, touchesOnly(c, shifts)))
	}
	if len(encoded)+len(shifted) <= largestPart {
		w.log.Attributes["c"] = table.Bytes(encoded)
		if shifted != nil {
			w.log.Attributes["x"] = table.Bytes(shifted)
		}
		return
	}
	w.putParts(r, c, "c", c.Touched)
	w.putParts(r, c, "x", shifts)
	c.Touched = nil
	w.log.Attributes["c"] = table.Bytes(packed(repository.AppendCommit(nil, c)))
	w.log.Attributes["n"] = table.Number(int64(len(w.rest)))
}

// touchesPerPart touches of the longest paths fit into one attribute.
const touchesPerPart = 800

func (w *written) putParts(r rows, c repository.Commit, name string, touched []repository.Touch) {
	for chunk := range slices.Chunk(touched, touchesPerPart) {
		part := rowOf(keyOf(r.rest(), partSort(c.SHA, len(w.rest))))
		part.Attributes[name] = table.Bytes(packed(repository.AppendCommit(nil, touchesOnly(c, chunk))))
		w.rest = append(w.rest, part)
	}
}

func partSort(sha string, part int) string { return fmt.Sprintf("%s/%06d", sha, part) }

// itemOf is the row of one touch. Its place is apart from the rest, since it
// changes when packs are merged.
func (r rows) itemOf(c repository.Commit, t repository.Touch) item {
	i := rowOf(keyOf(r.item(t.Path), place(c.Sequence, c.SHA)))
	if t.Pack != "" {
		maps.Copy(i.Attributes, placed(t.Pack, pack.Place{Offset: t.Offset, Length: t.Length, Base: t.Base}))
	}
	t.Path, t.Pack, t.Offset, t.Length, t.Base, t.Text = "", "", 0, 0, 0, nil
	c.Touched = []repository.Touch{t}
	i.Attributes["c"] = table.Bytes(packed(repository.AppendCommit(nil, c)))
	return i
}

// placed is where an object lies, in the row of a touch.
func placed(name string, where pack.Place) table.Attributes {
	return table.Attributes{
		"p": table.Text(name), "o": table.Number(where.Offset), "l": table.Number(where.Length),
		"b": table.Number(where.Base),
	}
}

// commitOfItem reads the row of one touch.
func commitOfItem(i item, path string) (repository.Commit, error) {
	c, err := decodeCommit(i.Bytes("c"))
	if err != nil || len(c.Touched) != 1 {
		return c, fmt.Errorf("%w: %s at %s", errRow, path, i.Sort)
	}
	t := &c.Touched[0]
	t.Path, t.Pack = path, i.Text("p")
	t.Offset, t.Length, t.Base = i.Number("o"), i.Number("l"), i.Number("b")
	return c, nil
}
