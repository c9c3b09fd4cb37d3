package fault

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// FullDisk is what a client is told where IsFullDisk.
const FullDisk = "the disk is full, and nothing was written"

// What systems say when no byte more can be written, no file opened and nothing written at all.
var (
	fullDisk   = []error{syscall.ENOSPC, syscall.EDQUOT}
	outOfFiles = []error{syscall.EMFILE, syscall.ENFILE}
	readOnly   = []error{syscall.EROFS}
)

func init() {
	if runtime.GOOS == "windows" { // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL, ERROR_TOO_MANY_OPEN_FILES, ERROR_WRITE_PROTECT
		fullDisk = append(fullDisk, syscall.Errno(39), syscall.Errno(112))
		outOfFiles = append(outOfFiles, syscall.Errno(4))
		readOnly = append(readOnly, syscall.Errno(19))
	}
}

// Refused is what a client is told where the system refuses a program its files, which only
// its operator can mend; "" for any other error.
func Refused(err error) string {
	switch {
	case IsFullDisk(err):
		return "the disk is full"
	case isAnyOf(err, outOfFiles):
		return "the service can open no more files (its operator may raise the limit, ulimit -n)"
	case isAnyOf(err, readOnly):
		return "the file system that the service stores its files on is read-only"
	case errors.Is(err, fs.ErrPermission):
		return "the service has no permission for a file or folder of its own, which its log names"
	}
	return ""
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
func IsFullDisk(err error) bool { return isAnyOf(err, fullDisk) }

func isAnyOf(err error, some []error) bool {
	return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
}
