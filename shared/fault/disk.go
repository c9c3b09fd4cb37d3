package fault

import (
	"errors"
	"runtime"
	"slices"
	"strings"
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

// FullDiskIn is the error of a full disk whose words a text ends with, for what
// comes of a library that keeps no more than the words; nil when there is none.
func FullDiskIn(text string) error {
	for _, full := range fullDisk {
		if strings.HasSuffix(text, full.Error()) {
			return full
		}
	}
	return nil
}

// IsFullDisk reports whether an error comes of a disk that is full.
func IsFullDisk(err error) bool {
	return slices.ContainsFunc(fullDisk, func(full error) bool { return errors.Is(err, full) })
}
