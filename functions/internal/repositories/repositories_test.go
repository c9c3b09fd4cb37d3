package repositories

import (
	"testing"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/table"
)

func TestRepositoriesAreBoundedInBytes(t *testing.T) {
	s := settings.Settings{Table: "t", Bucket: "b", Memory: 1 << 20}
	connect := table.AWS(table.FromEnvironment)
	r := Open(connect, s, connect.Open(s))
	for i := range 1000 {
		r.Find(t.Context(), string(rune('b'+i)))
	}
	if held := r.open.Held(); held > s.SnapshotBytes() || held < s.SnapshotBytes()/2 {
		t.Errorf("%d bytes are kept, the bound is %d", held, s.SnapshotBytes())
	}
}
