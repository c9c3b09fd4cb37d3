package control_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/memoryrepository"
	"svc.example/svc/shared/testing/must"
)

// Environments that a broken workspace file no longer declares are not gone:
// documents name them. All are protected until it is mended.
func TestEnvironmentsOfABrokenWorkspaceFile(t *testing.T) {
	entries := `,"environments":[{"id":"production","rules":[]},{"id":"staging","rules":[]}]`
	for file, declared := range map[string]string{"{": "", "[]": "", "{}": "", `{"environments":"broken"}`: "", `{"environments":["qa",7]}`: `{"name":"qa","environmentType":"development","protected":true},`} {
		w := newWorld(t, map[string]string{path("a"): boolFlag("a", entries), "svc.json": file})
		got := wire(t, must.Get(w.enter().Environments(ctx))(t))
		if want := `{"environments":[` + declared + `{"name":"staging","environmentType":"staging","protected":true},{"name":"production","environmentType":"production","protected":true}]}`; got != want {
			t.Errorf("%s: got\n%s, want\n%s", file, got, want)
		}
	}
}

// TestTheTextsOfWorkspacesAreForgotten once others were looked at, though lists
// and checks need little of them.
func TestTheTextsOfWorkspacesAreForgotten(t *testing.T) {
	service, enter := workspaces(t, 16<<20)
	before := memory.InUse()
	for range 8 {
		files := map[string]string{}
		for i := range 10 {
			key := fmt.Sprint("f", i)
			files[path(key)] = boolFlag(key, `,"extra":"`+strings.Repeat("x", 1<<20-1000)+`"`)
		}
		enter(files)
	}
	if held := (memory.InUse() - before) >> 20; held > 20 {
		t.Errorf("%d MB are held of workspaces of 10 MB each", held)
	}
	runtime.KeepAlive(service)
}

// workspaces makes a service that remembers so much, and what enters a new
// workspace of files, whose repository remembers nothing, and lists its flags.
func workspaces(t *testing.T, bytes int64) (*control.Service, func(files map[string]string)) {
	w := &world{t: t, gate: &fakeGate{keys: map[access.ID]access.KeyRecord{}, people: map[access.ID]access.Principal{}}}
	settings := w.settings()
	settings.CacheBytes = bytes
	service := control.New(settings)
	return service, func(files map[string]string) {
		w.repo = memoryrepository.New()
		w.gate.repo = w.repo
		w.repo.Push(ada, "", files)
		random := newRandom(w.keys + 5000)
		id, _ := access.NewID(random)
		w.keys++
		key := must.Get(access.NewKey(random, access.KindUser, id, id))(t)
		w.gate.keys[key.ID()] = access.RecordOf(key, "k", now)
		w.gate.people[id] = access.Principal{Type: access.PrincipalUser, ID: id}
		w.gate.workspace = access.Workspace{ID: string(id)}
		s := must.Get(service.SessionOf(ctx, key.Reveal()))(t)
		if list := must.Get(s.Flags(ctx, control.FlagQuery{}))(t); list.Total != len(files) {
			t.Error(list)
		}
	}
}
