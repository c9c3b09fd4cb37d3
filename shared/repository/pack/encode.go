package pack

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/klauspost/compress/zlib"

	"svc.example/svc/shared/repository/object"
)

// Object is an object to be packed.
type Object struct {
	ID      object.ID
	Kind    object.Kind
	Content []byte
}

// Place is where an object lies in a pack: its header and compressed content.
type Place struct {
	Offset int64
	Length int64
	// Base is how many bytes before Offset begins what the object is a difference
	// from, which a read of both begins with; 0 when the object is whole, or that
	// is not known.
	Base int64
}

// Pack is a pack that was encoded, with its index.
type Pack struct {
	Name   string // 40 hexadecimal digits: the pack's own checksum
	Bytes  []byte
	Index  []byte
	Places map[object.ID]Place
}

// NameAt is the name under which a writer that has read a fence stores a pack (see
// repository.Head): its checksum, and after the first sweep another name for
// each fence. So what a sweep decides to delete has a name that nobody gives to
// anything again, and its delete can come as late as it likes. To git a pack's
// name means nothing.
func NameAt(checksum string, fence int64) string {
	if fence == 0 {
		return checksum
	}
	sum := sha1.Sum(fmt.Appendf(nil, "svc pack %s at %d", checksum, fence))
	return hex.EncodeToString(sum[:])
}

// Encode packs objects, each once, whole.
func Encode(objects []Object) (*Pack, error) {
	distinct := map[object.ID]bool{}
	for _, o := range objects {
		distinct[o.ID] = true
	}
	var b bytes.Buffer
	w, err := newWriter(&b, len(distinct))
	if err != nil {
		return nil, err
	}
	p := &Pack{Places: map[object.ID]Place{}}
	for _, o := range objects {
		if _, packed := p.Places[o.ID]; packed {
			continue
		}
		offset := w.offset
		kind, _ := plumbing.ParseObjectType(string(o.Kind)) // unknown: invalid, which no pack holds
		if err := w.whole(o.ID, kind, o.Content); err != nil {
			return nil, err
		}
		p.Places[o.ID] = Place{Offset: offset, Length: w.offset - offset}
	}
	p.Name, p.Index, err = w.close()
	p.Bytes = b.Bytes()
	return p, err
}

// Signature is what a pack begins with.
const Signature = "PACK"

// TrailerLength is how many bytes of checksum stand behind a pack's last object.
const TrailerLength = sha1.Size

const (
	version      = 2
	headerLength = 12
)

// writer writes a pack from front to end and remembers what its index needs.
type writer struct {
	out    io.Writer
	sum    hash.Hash
	offset int64
	index  idxfile.Writer
	placed map[plumbing.Hash]int64 // where each object begins; nil when nobody asks
}

func newWriter(out io.Writer, count int) (*writer, error) {
	if int64(count) > 1<<32-1 {
		return nil, fmt.Errorf("a pack holds at most %d objects", int64(1<<32-1))
	}
	w := &writer{out: out, sum: sha1.New()}
	header := binary.BigEndian.AppendUint32([]byte(Signature), version)
	return w, w.write(binary.BigEndian.AppendUint32(header, uint32(count)))
}

func (w *writer) write(b []byte) error {
	w.sum.Write(b)
	w.offset += int64(len(b))
	_, err := w.out.Write(b)
	return err
}

// entry writes an object that is encoded already, header and compressed
// content.
func (w *writer) entry(id plumbing.Hash, parts ...[]byte) error {
	crc, offset := uint32(0), w.offset
	for _, part := range parts {
		crc = crc32.Update(crc, crc32.IEEETable, part)
		if err := w.write(part); err != nil {
			return err
		}
	}
	w.add(id, offset, crc)
	return nil
}

func (w *writer) add(id plumbing.Hash, offset int64, crc uint32) {
	w.index.Add(id, uint64(offset), crc)
	if w.placed != nil {
		w.placed[id] = offset
	}
}

// stream is entry for content that is read part by part. It returns the checksum
// of the entry as it was: old is that of its header, up to the content.
func (w *writer) stream(id plumbing.Hash, header []byte, old uint32, content io.Reader) (uint32, error) {
	offset, crc := w.offset, crc32.ChecksumIEEE(header)
	if err := w.write(header); err != nil {
		return 0, err
	}
	part := make([]byte, 1<<20)
	for {
		n, err := content.Read(part)
		crc, old = crc32.Update(crc, crc32.IEEETable, part[:n]), crc32.Update(old, crc32.IEEETable, part[:n])
		if failed := w.write(part[:n]); failed != nil {
			return 0, failed
		}
		if err == io.EOF {
			w.add(id, offset, crc)
			return old, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func (w *writer) whole(id plumbing.Hash, kind plumbing.ObjectType, content []byte) error {
	return w.entry(id, encodeHeader(kind, int64(len(content))), deflate(content))
}

// delta writes an object as its difference, of a size, from one that was written
// before.
func (w *writer) delta(id plumbing.Hash, base int64, size int, deflated []byte) error {
	header := encodeHeader(plumbing.OFSDeltaObject, int64(size))
	return w.entry(id, appendDistance(header, w.offset-base), deflated)
}

// close ends the pack and returns its name and its index.
func (w *writer) close() (string, []byte, error) {
	sum := w.sum.Sum(nil)
	if _, err := w.out.Write(sum); err != nil {
		return "", nil, err
	}
	if err := w.index.OnFooter(plumbing.Hash(sum)); err != nil {
		return "", nil, err
	}
	index, err := w.index.Index()
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	_, err = idxfile.NewEncoder(&b).Encode(index)
	return hex.EncodeToString(sum), b.Bytes(), err
}

// deflaters are kept because making one costs more than a small object. The
// fastest level: half of a tree is object ids, which nothing compresses, and
// a tree of 10,000 entries takes six times as long at git's own level for one
// hundredth less.
var deflaters = sync.Pool{New: func() any {
	w, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	return w
}}

func deflate(content []byte) []byte {
	w := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	w.Write(content) // a buffer takes everything
	w.Close()
	return b.Bytes()
}
