package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"pgregory.net/rapid"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
)

// bomb is a pack that is written object by object, deltas as they are given.
type bomb struct {
	t   *testing.T
	out bytes.Buffer
	w   *writer
}

func newBomb(t *testing.T) *bomb {
	b := &bomb{t: t}
	b.w = must.Get(newWriter(&b.out, 1))(t)
	return b
}

func (b *bomb) whole(kind plumbing.ObjectType, content []byte) (offset int64) {
	offset = b.w.offset
	must.Do(b.t, b.w.whole(plumbing.Hash{}, kind, content))
	return offset
}

func (b *bomb) delta(base int64, difference []byte) (offset int64) {
	offset = b.w.offset
	must.Do(b.t, b.w.delta(plumbing.Hash{}, base, len(difference), deflate(difference)))
	return offset
}

// reader resolves what lies in the bomb, and notes how much is inflated.
func (b *bomb) reader() *Resolver {
	return NewResolver(func(_ string, offset, length int64, most func(Header) int64) (Header, []byte, error) {
		return Read(bytes.NewReader(b.out.Bytes()), offset, length, most)
	})
}

// growing is a delta that makes so many bytes of a base.
func growing(base, size int) []byte {
	d := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(base)), uint64(size))
	for left := size; left > 0; left -= min(left, base) {
		d = appendCopy(d, 0, min(left, base))
	}
	return d
}

// TestWhatIsReadIsBounded: a pack of a few KB cannot have more inflated than an
// object may have, however it is stored.
func TestWhatIsReadIsBounded(t *testing.T) {
	const mega = 1 << 20
	for _, test := range []struct {
		name string
		make func(b *bomb) int64
		size int64 // that the refusal names
	}{
		{"a blob", func(b *bomb) int64 { return b.whole(plumbing.BlobObject, make([]byte, object.MaxBlob+1)) }, object.MaxBlob + 1},
		{"a tree", func(b *bomb) int64 { return b.whole(plumbing.TreeObject, make([]byte, object.MaxTree+1)) }, object.MaxTree + 1},
		{"a commit", func(b *bomb) int64 { return b.whole(plumbing.CommitObject, make([]byte, object.MaxCommit+1)) }, object.MaxCommit + 1},
		{"a delta that grows", func(b *bomb) int64 {
			base := b.whole(plumbing.BlobObject, make([]byte, mega))
			return b.delta(base, growing(mega, 600*mega))
		}, 600 * mega},
		{"a delta that grows a little", func(b *bomb) int64 {
			base := b.whole(plumbing.BlobObject, make([]byte, mega))
			return b.delta(base, growing(mega, 2*mega))
		}, 2 * mega},
		{"a large delta", func(b *bomb) int64 {
			base := b.whole(plumbing.BlobObject, []byte("base"))
			return b.delta(base, make([]byte, largestBase+1))
		}, largestBase + 1},
		{"a large base", func(b *bomb) int64 {
			base := b.whole(plumbing.BlobObject, make([]byte, largestBase+1))
			return b.delta(base, growing(largestBase+1, 10))
		}, 0},
		{"large bases", func(b *bomb) int64 {
			at := b.whole(plumbing.BlobObject, make([]byte, largestBase))
			for range 40 {
				at = b.delta(at, growing(largestBase, largestBase))
			}
			return b.delta(at, growing(largestBase, 10))
		}, 0},
		{"large differences", func(b *bomb) int64 {
			at := b.whole(plumbing.BlobObject, []byte("base"))
			difference := append(growing(4, 4), make([]byte, largestBase-10)...)
			packed := deflate(difference) // once: that takes its time
			for range 3 {
				offset := b.w.offset
				must.Do(b.t, b.w.delta(plumbing.Hash{}, at, len(difference), packed))
				at = offset
			}
			return at
		}, 0},
		{"a long chain", func(b *bomb) int64 {
			at := b.whole(plumbing.BlobObject, []byte("base"))
			for range longestChain + 1 {
				at = b.delta(at, growing(4, 4))
			}
			return at
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBomb(t)
			offset := test.make(b)
			if b.out.Len() > mega {
				t.Fatalf("the bomb has %d bytes", b.out.Len())
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			some := object.Hash(object.Blob, []byte("something"))
			_, text, err := b.reader().Object("p", nil, some, offset, 0)
			runtime.ReadMemStats(&after)
			large := (*object.TooLarge)(nil)
			if !errors.As(err, &large) || large.ID != some || large.Size != test.size {
				t.Errorf("%d bytes, %v, want that it has %d", len(text), err, test.size)
			}
			// What a buffer grows through adds up to several times its length.
			if took := after.TotalAlloc - before.TotalAlloc; took > 8*(maxInflated+object.MaxBlob) {
				t.Errorf("%d MiB were allocated for it", took>>20)
			}
		})
	}
}

// TestADocumentNextToALargeFile: git stores a document as a difference from a
// base of up to 32 times its size.
func TestADocumentNextToALargeFile(t *testing.T) {
	b := newBomb(t)
	base := make([]byte, largestBase)
	copy(base, "a document")
	at := b.whole(plumbing.BlobObject, base)
	offset := b.delta(at, growing(len(base), object.MaxBlob))
	kind, text, err := b.reader().Object("p", nil, object.Hash(object.Blob, base[:object.MaxBlob]), offset, 0)
	if err != nil || kind != object.Blob || !bytes.Equal(text, base[:object.MaxBlob]) {
		t.Errorf("%s of %d bytes, %v", kind, len(text), err)
	}
}

// TestMergeCopiesLargeObjectsInParts, which come out as they were.
func TestMergeCopiesLargeObjectsInParts(t *testing.T) {
	random := newNoise(make([]byte, 3*largestCopy))
	large := Object{ID: object.Hash(object.Blob, random), Kind: object.Blob, Content: random}
	small := Object{ID: object.Hash(object.Blob, []byte("b")), Kind: object.Blob, Content: []byte("b")}
	one := must.Get(Encode([]Object{large}))(t)
	other := must.Get(Encode([]Object{small}))(t)
	if len(one.Bytes) < 2*largestCopy {
		t.Fatalf("it is only %d bytes large", len(one.Bytes))
	}
	for _, damage := range []bool{false, true} {
		bytesOf := bytes.Clone(one.Bytes)
		if damage {
			bytesOf[len(bytesOf)/2]++
		}
		var out bytes.Buffer
		made, err := Merge(&out, []Source{source(t, bytesOf, one.Index), source(t, other.Bytes, other.Index)})
		if damage {
			if err == nil {
				t.Error("damage was copied")
			}
			continue
		}
		must.Do(t, err)
		x := must.Get(ParseIndex(made.Index))(t)
		offset, found := x.Find(large.ID)
		r := (&bomb{out: out}).reader()
		r.MaxBlob = 1 << 30
		if _, _, err := r.Object("p", x, large.ID, offset, 0); err != nil || !found {
			t.Errorf("found: %t, %v", found, err)
		}
	}
}

// newNoise is bytes that do not compress.
func newNoise(into []byte) []byte {
	state := uint64(1)
	for i := range into {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		into[i] = byte(state)
	}
	return into
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func source(t rapid.TB, content, index []byte) Source {
	t.Helper()
	x := must.Get(ParseIndex(index))(t)
	return Source{Size: int64(len(content)), Index: x, Open: func() (Bytes, error) { return inMemory{bytes.NewReader(content)}, nil }}
}
