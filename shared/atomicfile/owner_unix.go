//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// GiveToFolder gives a file that root has made to whom its folder belongs: a
// service that runs under a user of its own could not read it, and its
// administrator, who works beside it as root, would have stopped it.
func GiveToFolder(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || of.Uid == 0 {
		return nil
	}
	return os.Lchown(path, int(of.Uid), int(of.Gid))
}

// GiveToOwner gives a file to whom another one belongs, where the process may do so.
func GiveToOwner(root *os.Root, name string, another fs.FileInfo) {
	if of, ok := another.Sys().(*syscall.Stat_t); ok {
		_ = root.Lchown(name, int(of.Uid), int(of.Gid))
	}
}
