package odb

import (
	"context"
	"crypto/rand"
	"testing"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
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
	p, err := pack.Encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	x, err := pack.ParseIndex(p.Index)
	if err != nil {
		t.Fatal(err)
	}
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
