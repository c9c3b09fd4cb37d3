package sdkapi_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// storedRepository has a snapshot as an instance reads it from the store.
type storedRepository struct {
	control.Repository
	snapshot *repository.Snapshot
}

func (r *storedRepository) Snapshot(_ context.Context, head repository.Head) (*repository.Snapshot, error) {
	r.snapshot.Head = head
	return r.snapshot, nil
}

// TestHeapOfALargeWorkspace counts what an instance holds of 10,000 flags, some
// 10 MB of text, once it has listed, polled and sent all of them: the texts once,
// about 1.5 kB for each flag beside them, and what the environment serves.
func TestHeapOfALargeWorkspace(t *testing.T) {
	testenv.Slow(t)
	const most = 38 << 20
	files := apiload.ManyFlags(10_000)
	w := newWorld(t, files)
	head, err := w.ledger.Head(ctx)
	must.Do(t, err)
	snapshot, err := w.repo.Snapshot(ctx, head)
	must.Do(t, err)
	name, content, err := repository.EncodeSnapshot(snapshot, nil)
	must.Do(t, err)
	public, secret, editor := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindServiceAccount, "")
	files, snapshot = nil, nil
	before := memory.InUse() - int64(len(content)) // which the stored repository keeps parts of
	stored := &storedRepository{}
	stored.snapshot, err = repository.DecodeSnapshot(name, content)
	must.Do(t, err)
	content = nil
	service := control.New(control.Settings{Authenticator: countedGate{w}, Now: time.Now,
		Repository: func(context.Context, string) (control.Repository, error) { return stored, nil }})
	w.handler = all(sdkapi.Options{Service: service})
	key, err := access.ParseKey(editor)
	must.Do(t, err)
	caller, err := service.Authenticate(ctx, key, "")
	must.Do(t, err)
	session, err := service.Open(caller, control.Read)
	must.Do(t, err)
	if list, err := session.Flags(ctx, control.FlagQuery{}); err != nil || list.Total != 10_000 {
		t.Fatal(list, err)
	}
	session = nil
	for key, path := range map[string]string{public: "/api/v2/configs/eval-with-context/e30=", secret: "/api/v2/configs"} {
		if answer := w.send("GET", path, key, ""); answer.Code != 200 {
			t.Fatal(path, answer.Code)
		}
	}
	grown := memory.InUse() - before
	t.Logf("%.1f MB are held", float64(grown)/(1<<20))
	if grown > most {
		t.Errorf("%d MB are held, more than %d", grown>>20, most>>20)
	}
	runtime.KeepAlive(w.handler)
}
