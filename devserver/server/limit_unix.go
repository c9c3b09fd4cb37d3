//go:build unix

package server

import "syscall"

// files is how many files and connections the process may have open.
func files() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<30 {
		return 1 << 30
	}
	return int(limit.Cur)
}
