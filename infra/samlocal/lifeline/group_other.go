//go:build !unix

package lifeline

import "syscall"

// There is no /bin/sh either; this lets the rest compile.
func ownGroup() *syscall.SysProcAttr { return nil }
