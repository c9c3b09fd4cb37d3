package fault

import (
	"errors"
	"runtime"
	"slices"
	"syscall"
)

// FullDisk is what a client is told where IsFullDisk.
const FullDisk = "the disk is full, and nothing was written"

// fullDisk are what systems say when no byte more can be written.
var fullDisk = []error{syscall.ENOSPC, syscall.EDQUOT}

func init() {
	if runtime.GOOS == "windows" { // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL
		fullDisk = append(fullDisk, syscall.Errno(39), syscall.Errno(112))
	}
}

// IsFullDisk says whether an error comes of a disk that is full.
func IsFullDisk(err error) bool {
	return slices.ContainsFunc(fullDisk, func(full error) bool { return errors.Is(err, full) })
}
