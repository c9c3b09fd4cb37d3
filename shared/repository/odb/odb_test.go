package odb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

// memory is a file system in which every read is a request.
type memory struct {
	files map[string][]byte
	// listing is called when the folder has been read.
	listing func()
	reads   atomic.Int64 // indexes are read side by side
}

type info struct {
	name string
	size int
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(i.size) }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return time.Unix(0, 0) }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }

func (m *memory) ReadFile(_ context.Context, path string) ([]byte, error) {
	m.reads.Add(1)
	content, there := m.files[path]
	if !there {
		return nil, fs.ErrNotExist
	}
	return content, nil
}

func (m *memory) ReadRange(ctx context.Context, path string, offset, length int64) ([]byte, error) {
	content, err := m.ReadFile(ctx, path)
	offset = min(offset, int64(len(content)))
	return content[offset:min(offset+length, int64(len(content)))], err
}

func (m *memory) ReadDir(_ context.Context, folder string) ([]fs.FileInfo, error) {
	var found []fs.FileInfo
	for name, content := range m.files {
		if path.Dir(name) == folder {
			found = append(found, info{path.Base(name), len(content)})
		}
	}
	if m.listing != nil {
		m.listing()
	}
	return found, nil
}

func (m *memory) TempFile(context.Context) (odb.TempFile, error) { return nil, errors.ErrUnsupported }

func (m *memory) PutPack(_ context.Context, name string, content io.ReadSeeker, index []byte) error {
	packed, err := io.ReadAll(content)
	m.files[odb.PackPath(name, ".pack")], m.files[odb.PackPath(name, ".idx")] = packed, index
	return err
}

func packOf(t *testing.T, texts ...string) (p *pack.Pack, ids []object.ID) {
	t.Helper()
	var objects []pack.Object
	for _, text := range texts {
		objects = append(objects, pack.Object{ID: object.Hash(object.Blob, []byte(text)), Kind: object.Blob, Content: []byte(text)})
		ids = append(ids, objects[len(objects)-1].ID)
	}
	p = must.Get(pack.Encode(objects))(t)
	return p, ids
}

// TestAnotherPackHelps: an object is found where it is whole, whatever is wrong
// with other packs.
func TestAnotherPackHelps(t *testing.T) {
	good, ids := packOf(t, "text", "more")
	other, _ := packOf(t, "text", "other")
	for what, spoil := range map[string]func(m *memory){
		"a damaged pack":  func(m *memory) { clear(m.files[odb.PackPath(other.Name, ".pack")]) },
		"a damaged index": func(m *memory) { clear(m.files[odb.PackPath(other.Name, ".idx")]) },
		"a missing pack":  func(m *memory) { delete(m.files, odb.PackPath(other.Name, ".pack")) },
	} {
		m := &memory{files: map[string][]byte{}}
		o := odb.New(m, func(context.Context) ([]string, error) { return []string{other.Name, good.Name}, nil })
		for _, p := range []*pack.Pack{good, other} {
			must.Do(t, m.PutPack(t.Context(), p.Name, bytes.NewReader(p.Bytes), bytes.Clone(p.Index)))
		}
		spoil(m)
		if text, err := o.Blob(t.Context(), repository.Touch{Blob: ids[0].String()}); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", what, text, err)
		}
		_, missing := packOf(t, "missing")
		_, _, err := o.Reader(t.Context()).Read(missing[0])
		lost := (*object.Lost)(nil)
		if !errors.Is(err, odb.ErrNoObject) || !errors.As(err, &lost) || lost.Damaged != strings.HasSuffix(what, "index") {
			t.Errorf("%s: an object that is not there: %v", what, err)
		}
		_, err = o.Blob(t.Context(), repository.Touch{Blob: missing[0].String()})
		if !errors.Is(err, odb.ErrNoObject) || errors.As(err, &lost) || errors.Is(err, object.ErrMalformed) {
			t.Errorf("%s: a stand-in would take the place of a text in a bucket: %v", what, err)
		}
	}
}

// TestAPackIsKnownFromTheStart: one that is stored while the folder is being
// listed is not forgotten.
func TestAPackIsKnownFromTheStart(t *testing.T) {
	m := &memory{files: map[string][]byte{}}
	o := odb.New(m, nil)
	p, ids := packOf(t, "text")
	m.listing = func() {
		must.Report(t, o.PutPack(t.Context(), p.Name, p.Bytes, p.Index))
	}
	must.Do(t, o.Refresh(t.Context()))
	if m.reads.Store(0); !o.Packed(ids[0]) || len(o.Packs()) != 1 {
		t.Errorf("of the pack is known %v", o.Packs())
	}
	if _, _, err := o.Reader(t.Context()).Read(ids[0]); err != nil || m.reads.Load() != 1 {
		t.Errorf("%d requests, %v", m.reads.Load(), err)
	}
}

// TestSmall: what is left grows by a factor.
func TestSmall(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		want  int
	}{
		{nil, 0}, {[]int64{5}, 0}, {[]int64{5, 5}, 2}, {[]int64{5, 10}, 0}, {[]int64{10, 5, 5}, 3},
		{[]int64{1, 2, 6, 18}, 0}, {[]int64{1, 2, 5, 100}, 3}, {[]int64{5, 5, 1 << 40}, 2},
	} {
		var all []odb.Stored
		for i, size := range c.sizes {
			all = append(all, odb.Stored{Name: fmt.Sprint(i), Size: size})
		}
		if got := odb.Small(all); len(got) != c.want {
			t.Errorf("of packs of %v bytes are merged %v, want %d", c.sizes, got, c.want)
		}
	}
}
