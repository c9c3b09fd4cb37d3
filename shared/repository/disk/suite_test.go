package disk_test

import (
	"context"
	"testing"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/testenv"
)

func TestContract(t *testing.T) {
	git := testenv.Program(t, "apt-get install git", "git")
	repositorytest.Run(t, func(t *testing.T) repositorytest.Store {
		dir := t.TempDir()
		objects, err := disk.Init(dir)
		if err != nil {
			t.Fatal(err)
		}
		compact := func(ctx context.Context, _ []string) (string, error) {
			_, err := objects.Compact(ctx)
			return "", err
		}
		ledger := repositorytest.NewMemory()
		return repositorytest.Store{Ledger: ledger, Objects: objects, Head: ledger.Head, Bump: ledger.Bump, Merge: compact, GitDir: dir, Git: git}
	})
}
