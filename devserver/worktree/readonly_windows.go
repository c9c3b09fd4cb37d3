package worktree

import (
	"errors"

	"golang.org/x/sys/windows"
)

// readOnly reports whether a volume takes no writes.
func readOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
