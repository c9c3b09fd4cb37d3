package odb

import (
	"context"
	"crypto/rand"
	"testing"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

// ranges counts the bytes that are read of a pack.
type ranges struct {
	FS
	pack []byte
	read int64
}

func (r *ranges) ReadRange(_ context.Context, _ string, offset, length int64) ([]byte, error) {
	r.read += length
	return r.pack[offset : offset+length], nil
}

// TestPrefetchIsBounded: of a workspace that is larger than what can be held, not
// much more than that is fetched.
func TestPrefetchIsBounded(t *testing.T) {
	var objects []pack.Object
	var ids []object.ID
	for range 100 {
		content := make([]byte, 10<<10)
		rand.Read(content)
		id := object.Hash(object.Blob, content)
		objects, ids = append(objects, pack.Object{ID: id, Kind: object.Blob, Content: content}), append(ids, id)
	}
	p := must.Get(pack.Encode(objects))(t)
	x := must.Get(pack.ParseIndex(p.Index))(t)
	for _, most := range []int64{0, 50 << 10} {
		r := &ranges{pack: p.Bytes}
		o := New(r, nil)
		o.Within(most)
		o.packs.add(newPack(p.Name, x, int64(len(p.Bytes))))
		reader := o.Reader(t.Context())
		reader.prefetch(ids)
		reader.Close()
		if want := int64(len(p.Bytes)); most == 0 && r.read < want*9/10 || most > 0 && (r.read < most || r.read > want/2) {
			t.Errorf("at most %d: %d bytes are read", most, r.read)
		}
	}
}
