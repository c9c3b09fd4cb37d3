package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
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
			if large := (*object.TooLarge)(nil); !errors.As(err, &large) || large.ID != some || large.Size != test.size {
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

// versionOfDocument is a version of a document of so many lines of 40 bytes, each
// of which changes one of them for good.
func versionOfDocument(document, lines, n int) Object {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"key\": \"%s-%d\",\n", strings.Repeat("some-key", 5), document)
	state := uint64(document + 1)
	for i := range lines {
		state = state*6364136223846793005 + 1442695040888963407
		changed := (n + lines - i*7%lines) / lines
		fmt.Fprintf(&b, "  \"user-%016x%08x\": %d,\n", state, uint32(state>>7), changed)
	}
	content := []byte(b.String() + "}\n")
	return Object{ID: object.Hash(object.Blob, content), Kind: object.Blob, Content: content}
}

func packOf(t rapid.TB, objects ...Object) Source {
	p := must.Get(Encode(objects))(t)
	return source(t, p.Bytes, p.Index)
}

// mergeAndCheck merges sources and reads everything: what is a difference is one
// from something whole, and where that begins is told.
func mergeAndCheck(t rapid.TB, sources []Source, want map[string]Object) (out []byte, merged *Merged) {
	t.Helper()
	var b, again bytes.Buffer
	merged = must.Get(Merge(&b, sources))(t)
	if _, err := Merge(&again, sources); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatalf("merged once more it is another pack, %v", err)
	}
	x, err := ParseIndex(merged.Index)
	if err != nil || x.Len() != len(want) {
		t.Fatalf("%d objects of %d, %v", x.Len(), len(want), err)
	}
	bases := map[int64][]byte{}
	read := func(offset int64) (Header, []byte) {
		if whole := bases[offset]; whole != nil {
			return Header{Type: plumbing.BlobObject}, whole
		}
		h, content, err := Read(bytes.NewReader(b.Bytes()), offset, 0, func(Header) int64 { return 1 << 30 })
		must.Do(t, err)
		return h, content
	}
	for i := range x.Len() {
		h, content := read(x.Offset(i))
		if h.Distance != merged.Bases[x.Offset(i)] {
			t.Errorf("a base lies %d before, and %d is told", h.Distance, merged.Bases[x.Offset(i)])
		}
		if h.Type.IsDelta() {
			base, whole := read(x.Offset(i) - h.Distance)
			if base.Type.IsDelta() {
				t.Error("a difference from a difference")
			}
			bases[x.Offset(i)-h.Distance] = whole
			content = must.Get(Apply(whole, content))(t)
		}
		if !bytes.Equal(content, want[x.ID(i).String()].Content) {
			t.Errorf("%s is something else", x.ID(i))
		}
	}
	return b.Bytes(), merged
}

// TestMergingVersions merges versions of documents, some of them stored again
// later, in several steps.
func TestMergingVersions(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		documents := rapid.IntRange(1, 3).Draw(r, "documents")
		lines := rapid.SampledFrom([]int{10, 110, 300}).Draw(r, "lines")
		want := map[string]Object{}
		var merged []Source
		for n, step := 0, 0; step < 3; step++ {
			var sources []Source
			for range rapid.IntRange(1, 12).Draw(r, "packs") {
				n++
				at := n
				if rapid.IntRange(0, 9).Draw(r, "back") == 0 {
					at = rapid.IntRange(0, n).Draw(r, "to")
				}
				o := versionOfDocument(at%documents, lines, at/documents)
				want[o.ID.String()] = o
				sources = append(sources, packOf(r, o))
			}
			slices.Reverse(sources)
			if rapid.Bool().Draw(r, "the other way") { // no order loses anything
				sources = append(slices.Clone(merged), sources...)
			} else {
				sources = append(sources, merged...)
			}
			out, made := mergeAndCheck(r, sources, want)
			merged = []Source{source(r, out, made.Index)}
			// What a crash has left beside the pack that was made of it.
			mergeAndCheck(r, append(slices.Clone(merged), sources...), want)
		}
	})
}

// TestManyVersionsAreLeftWhereTheyAre: the work of a merge does not grow with the
// history.
func TestManyVersionsAreLeftWhereTheyAre(t *testing.T) {
	const lines = 5000
	want := map[string]Object{}
	var sources []Source
	for n := range 2 * manyOlder {
		o := versionOfDocument(0, lines, n)
		want[o.ID.String()] = o
		sources = append(sources, packOf(t, o))
	}
	slices.Reverse(sources)
	newer, older := sources[:manyOlder/2], sources[manyOlder/2:]
	first, made := mergeAndCheck(t, older, objectsIn(older, want))
	out, _ := mergeAndCheck(t, append(slices.Clone(newer), source(t, first, made.Index)), want)
	if !bytes.Contains(out, first[headerLength:len(first)-TrailerLength]) {
		t.Error("the older versions were packed again")
	}
	whole := len(packed(t, versionOfDocument(0, lines, 0)))
	if len(out) > 4*whole {
		t.Errorf("%d versions take %d bytes, one takes %d", len(want), len(out), whole)
	}
	// Few are packed again, as differences from the newest of all.
	few := sources[manyOlder/2 : manyOlder]
	first, made = mergeAndCheck(t, few, objectsIn(few, want))
	out, merged := mergeAndCheck(t, append(slices.Clone(newer), source(t, first, made.Index)), objectsIn(sources[:manyOlder], want))
	if len(merged.Bases) != manyOlder-1 || len(out) > 2*whole {
		t.Errorf("%d differences in %d bytes", len(merged.Bases), len(out))
	}
}

func objectsIn(sources []Source, all map[string]Object) map[string]Object {
	some := map[string]Object{}
	for _, s := range sources {
		for i := range s.Index.Len() {
			some[s.Index.ID(i).String()] = all[s.Index.ID(i).String()]
		}
	}
	return some
}

func packed(t *testing.T, objects ...Object) []byte {
	p := must.Get(Encode(objects))(t)
	return p.Bytes
}

// TestWhatIsHeldBackIsBounded: of a workspace that is larger, what was not used
// for longest is written.
func TestWhatIsHeldBackIsBounded(t *testing.T) {
	m := newMerger()
	m.out = must.Get(newWriter(io.Discard, 1))(t)
	m.out.placed = m.placed
	most, noise := 0, newNoise(make([]byte, 200_000))
	for n := range 240 { // 38 MB, which do not compress, and a fifth of them twice
		content := fmt.Appendf(nil, "%064d%d%s", n-n%5/4, n, noise)
		must.Do(t, m.document(plumbing.NewHash(object.Hash(object.Blob, content).String()), nil, content))
		bytes := 0
		for _, g := range m.versions.groups {
			bytes += groupBytes + len(g.entry)
			for _, o := range g.older {
				bytes += olderBytes + len(o.deflated)
			}
		}
		if bytes != m.versions.held {
			t.Fatalf("%d bytes are held back and %d counted", bytes, m.versions.held)
		}
		most = max(most, bytes)
	}
	if most > maxVersions || most < maxVersions/2 {
		t.Errorf("up to %d bytes are held back", most)
	}
	if err := m.flushVersions(0); err != nil || m.versions.held != 0 || len(m.versions.groups) != 0 {
		t.Errorf("%+v, %v", m.versions, err)
	}
}
