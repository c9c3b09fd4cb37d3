package pack_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"pgregory.net/rapid"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

func blob(text string) pack.Object {
	return pack.Object{ID: object.Hash(object.Blob, []byte(text)), Kind: object.Blob, Content: []byte(text)}
}

func tree(t testing.TB, names, changed int) pack.Object {
	t.Helper()
	var entries []object.TreeEntry
	for i := range names {
		text := fmt.Sprint("content ", i)
		if i == changed%names {
			text = fmt.Sprint("changed ", changed)
		}
		entries = append(entries, object.TreeEntry{Mode: object.ModeFile, Name: fmt.Sprintf("name-%05d.json", i), ID: blob(text).ID})
	}
	content := object.EncodeTree(entries)
	return pack.Object{ID: object.Hash(object.TreeKind, content), Kind: object.TreeKind, Content: content}
}

func encode(t testing.TB, objects ...pack.Object) *pack.Pack {
	t.Helper()
	return must.Get(pack.Encode(objects))(t)
}

func parse(t testing.TB, index []byte) *pack.Index {
	t.Helper()
	return must.Get(pack.ParseIndex(index))(t)
}

// wantObjects reads every object through the index, deltas and all.
func wantObjects(t testing.TB, content, index []byte, objects []pack.Object) {
	t.Helper()
	x := parse(t, index)
	for _, o := range objects {
		offset, ok := x.Find(plumbing.NewHash(o.ID.String()))
		if !ok {
			t.Fatalf("%s is not in the index", o.ID)
		}
		if kind, got := resolve(t, content, offset); kind != string(o.Kind) || !bytes.Equal(got, o.Content) {
			t.Errorf("%s is a %s of %d bytes, want a %s of %d", o.ID, kind, len(got), o.Kind, len(o.Content))
		}
	}
}

func resolve(t testing.TB, content []byte, offset int64) (string, []byte) {
	t.Helper()
	h, got, err := pack.Read(bytes.NewReader(content), offset, 0, anySize)
	must.Do(t, err)
	if !h.Type.IsDelta() {
		return h.Type.String(), got
	}
	kind, base := resolve(t, content, offset-h.Distance)
	made := must.Get(pack.Apply(base, got))(t)
	return kind, made
}

// verify lets git check a pack and make its index, which must be ours.
func verify(t *testing.T, name string, content, index []byte) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "pack-"+name+".pack")
	must.Do(t, os.WriteFile(path, content, 0o600))
	if out := realgit.Run(t, dir, "index-pack", path); strings.TrimSpace(out) != name {
		t.Fatalf("git index-pack says %s; the name is %s", out, name)
	}
	if theirs, err := os.ReadFile(strings.TrimSuffix(path, ".pack") + ".idx"); err != nil || !bytes.Equal(theirs, index) {
		t.Errorf("git makes another index of %d bytes, %v; ours has %d", len(theirs), err, len(index))
	}
}

func TestEncode(t *testing.T) {
	objects := []pack.Object{blob("one"), blob(""), blob(strings.Repeat("long ", 100_000)), tree(t, 300, 1), blob("one")}
	p := encode(t, objects...)
	verify(t, p.Name, p.Bytes, p.Index)
	wantObjects(t, p.Bytes, p.Index, objects)
	if len(p.Places) != 4 {
		t.Errorf("%d objects have a place, want 4", len(p.Places))
	}
	for id, place := range p.Places {
		if _, _, err := pack.Read(bytes.NewReader(p.Bytes[:place.Offset+place.Length]), place.Offset, place.Length, anySize); err != nil {
			t.Errorf("%s does not lie in its place: %v", id, err)
		}
	}
	if again := encode(t, objects...); !bytes.Equal(again.Bytes, p.Bytes) || !bytes.Equal(again.Index, p.Index) {
		t.Error("encoding is not deterministic")
	}
	empty := encode(t)
	verify(t, empty.Name, empty.Bytes, empty.Index)
}

func source(p []byte, index *pack.Index) pack.Source {
	return pack.Source{Size: int64(len(p)), Index: index, Open: func() (pack.Bytes, error) { return opened{bytes.NewReader(p)}, nil }}
}

type opened struct{ io.ReaderAt }

func (opened) Close() error { return nil }

// TestMerge merges packs of overlapping objects and merges what comes out
// with more, several times over.
func TestMerge(t *testing.T) {
	var all []pack.Object
	var merged []byte
	var index []byte
	for round := range 3 {
		var sources []pack.Source
		for i := range 30 {
			n := round*30 + i
			objects := []pack.Object{blob(fmt.Sprint("document ", n)), tree(t, 200, n), tree(t, 50, n/10), blob("always the same")}
			all = append(all, objects...)
			p := encode(t, objects...)
			sources = append(sources, source(p.Bytes, parse(t, p.Index)))
		}
		slices.Reverse(sources) // the newest first
		if merged != nil {
			sources = append(sources, source(merged, parse(t, index)))
		}
		var b bytes.Buffer
		made := must.Get(pack.Merge(&b, sources))(t)
		merged, index = b.Bytes(), made.Index
		verify(t, made.Name, merged, index)
		wantObjects(t, merged, index, all)
	}
	if whole := 90 * len(tree(t, 200, 0).Content); len(merged) > whole/5 {
		t.Errorf("the merged pack takes %d bytes, its trees alone are %d", len(merged), whole)
	}
}

func TestMergeErrors(t *testing.T) {
	p := encode(t, blob("one"), tree(t, 100, 1))
	x := parse(t, p.Index)
	for name, spoil := range map[string]func(s *pack.Source){
		"cut off":    func(s *pack.Source) { *s = source(p.Bytes[:40], x) },
		"not a pack": func(s *pack.Source) { *s = source(bytes.Repeat([]byte{0xff}, len(p.Bytes)), x) },
		"gone":       func(s *pack.Source) { s.Open = func() (pack.Bytes, error) { return nil, os.ErrNotExist } },
		"damaged": func(s *pack.Source) {
			damaged := slices.Clone(p.Bytes)
			damaged[20]++
			*s = source(damaged, x)
		},
	} {
		s := source(p.Bytes, x)
		spoil(&s)
		if _, err := pack.Merge(io.Discard, []pack.Source{s}); err == nil {
			t.Errorf("%s: it was merged", name)
		}
	}
}

func TestIndex(t *testing.T) {
	w := &idxfile.Writer{}
	want := map[plumbing.Hash]int64{}
	for i := range 1000 {
		id := plumbing.NewHash(blob(fmt.Sprint(i)).ID.String())
		want[id] = int64(i) << 24 // beyond 2 GiB and beyond 4 GiB
		w.Add(id, uint64(want[id]), uint32(i))
	}
	must.Do(t, w.OnFooter(plumbing.ZeroHash))
	memory := must.Get(w.Index())(t)
	var b bytes.Buffer
	must.Get(idxfile.NewEncoder(&b).Encode(memory))(t)
	x := parse(t, b.Bytes())
	if x.Len() != len(want) || x.Size() != b.Len() {
		t.Errorf("the index has %d objects", x.Len())
	}
	for id, offset := range want {
		if got, ok := x.Find(id); !ok || got != offset {
			t.Errorf("%s is at %d, %v; want %d", id, got, ok, offset)
		}
		for _, other := range []plumbing.Hash{{0: id[0]}, {0: id[0], 1: 0xff}} {
			if _, ok := x.Find(other); ok {
				t.Errorf("%s was found", other)
			}
		}
	}
	for i := range x.Len() {
		if want[x.ID(i)] != x.Offset(i) || uint32(x.Offset(i)>>24) != x.Checksum(i) {
			t.Errorf("object %d is %s at %d with %d", i, x.ID(i), x.Offset(i), x.Checksum(i))
		}
	}
}

func FuzzIndex(f *testing.F) {
	p := encode(f, blob("one"), blob("two"), tree(f, 10, 1))
	f.Add(p.Index, p.Bytes[:20])
	f.Add(p.Index[:len(p.Index)-8], p.Bytes[:20])
	f.Add(append(slices.Clone(p.Index), 1, 2, 3, 4, 5, 6, 7, 8), p.Bytes[:20])
	f.Add([]byte("\xfftOc\x00\x00\x00\x02"), []byte{})
	f.Fuzz(func(t *testing.T, raw, id []byte) {
		x, err := pack.ParseIndex(raw)
		if err != nil {
			return
		}
		var wanted plumbing.Hash
		copy(wanted[:], id)
		x.Find(wanted)
		for i := range x.Len() {
			x.Find(x.ID(i))
			x.Offset(i)
			x.Checksum(i)
		}
	})
}

// FuzzRead reads and merges whatever bytes as a pack.
// anySize is no bound, for what a test has made itself.
func anySize(pack.Header) int64 { return 1 << 40 }

func FuzzRead(f *testing.F) {
	p := encode(f, blob("one"), blob(strings.Repeat("two", 100)), tree(f, 10, 1))
	f.Add(p.Bytes, p.Index, int64(12))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x6f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), p.Index, int64(12))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), p.Index, int64(12))
	f.Fuzz(func(t *testing.T, content, index []byte, offset int64) {
		h, got, err := pack.Read(bytes.NewReader(content), offset, 0, anySize)
		if err == nil && int64(len(got)) != h.Size {
			t.Errorf("the header says %d bytes and %d came", h.Size, len(got))
		}
		x, err := pack.ParseIndex(index)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := pack.Merge(&out, []pack.Source{source(content, x)}); err == nil && out.Len() == 0 {
			t.Error("nothing came of merging")
		}
	})
}

// TestTreesAsDifferences merges two versions of something, whatever they
// share, and reads both.
func TestTreesAsDifferences(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		long := rapid.SliceOfN(rapid.Byte(), 0, 300)
		front, back := bytes.Repeat(long.Draw(r, "front"), rapid.IntRange(0, 300).Draw(r, "times")), long.Draw(r, "back")
		var objects []pack.Object
		var sources []pack.Source
		for _, middle := range [][]byte{long.Draw(r, "one"), long.Draw(r, "two")} {
			content := slices.Concat(front, middle, back)
			o := pack.Object{ID: object.Hash(object.TreeKind, content), Kind: object.TreeKind, Content: content}
			p := encode(t, o)
			objects, sources = append(objects, o), append(sources, source(p.Bytes, parse(t, p.Index)))
		}
		var b bytes.Buffer
		made := must.Get(pack.Merge(&b, sources))(r)
		wantObjects(t, b.Bytes(), made.Index, objects)
	})
}

func TestParseHeader(t *testing.T) {
	base := strings.Repeat("ab", 20)
	raw, _ := hex.DecodeString("7f01" + base) // REF_DELTA of size 15 with no continuation bit is 0x7f
	h, err := pack.ParseHeader(raw[:1:1])
	if err == nil {
		t.Errorf("a header without its base is %+v", h)
	}
	raw, _ = hex.DecodeString("7f" + base)
	if h, err = pack.ParseHeader(raw); err != nil || h.Base.String() != base || h.Size != 15 || h.Length != 21 || !h.Type.IsDelta() {
		t.Errorf("a named base is %+v, %v", h, err)
	}
	raw, _ = hex.DecodeString("e5a1018100")
	if h, err = pack.ParseHeader(raw); err != nil || h.Size != 5|0x21<<4|1<<11 || h.Distance != 256 || h.Length != 5 {
		t.Errorf("a base at a distance is %+v, %v", h, err)
	}
	for _, bad := range []string{"", "80", "00", "50", "e1", "e180", "bfffffffffffffffffff01", "e1ffffffffffffffffffff7f"} {
		raw, _ = hex.DecodeString(bad)
		if h, err := pack.ParseHeader(raw); err == nil {
			t.Errorf("%q is %+v", bad, h)
		}
	}
}
