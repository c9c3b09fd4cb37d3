package disk_test

import (
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
		ledger := repositorytest.NewMemory()
		return repositorytest.Store{Ledger: ledger, Objects: objects, Head: ledger.Head, Bump: ledger.Bump, GitDir: dir, Git: git}
	})
}
