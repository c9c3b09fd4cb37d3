//go:build !windows

package worktree

import (
	"errors"
	"syscall"
)

// readOnly reports whether a file system takes no writes.
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
