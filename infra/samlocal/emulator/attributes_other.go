//go:build !linux

package emulator

import "syscall"

// The emulator runs on Linux only; this lets the rest compile elsewhere.
func attributes() *syscall.SysProcAttr { return nil }
