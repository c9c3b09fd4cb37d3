package disk_test

import (
	"testing"

	"svc.example/svc/shared/needs"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/suite"
)

func TestContract(t *testing.T) {
	git := needs.Program(t, "apt-get install git", "git")
	suite.Run(t, func(t *testing.T) suite.Store {
		dir := t.TempDir()
		objects, err := disk.Init(dir)
		if err != nil {
			t.Fatal(err)
		}
		ledger := suite.NewMemory()
		return suite.Store{Ledger: ledger, Objects: objects, Head: ledger.Head, Bump: ledger.Bump, GitDir: dir, Git: git}
	})
}
