package repositorytest_test

import (
	"context"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
)

// TestLocal holds what svc api stores in to the contract: the ledger and the
// objects in one directory.
func TestLocal(t *testing.T) {
	repositorytest.Run(t, func(t *testing.T) repositorytest.Store {
		dir := filepath.Join(t.TempDir(), "data")
		must.Do(t, local.Create(dir, access.Workspace{ID: "0123456789abcdef", Name: "workspace", Secret: []byte("secret")}))
		ledger := must.Get(local.Open(context.Background(), dir, local.Options{}))(t)
		t.Cleanup(func() {
			must.Report(t, ledger.Close())
		})
		compact := func(ctx context.Context, _ []string) (string, error) {
			_, err := ledger.Objects().Compact(ctx)
			return "", err
		}
		bump := func() {
			must.Report(t, ledger.Registry().SetWorkspace(context.Background(), func(w *access.Workspace) { w.Name += "." }))
		}
		return repositorytest.Store{Ledger: ledger, Objects: ledger.Objects(), Head: ledger.Head, Bump: bump, Merge: compact, GitDir: ledger.Repository()}
	})
}
