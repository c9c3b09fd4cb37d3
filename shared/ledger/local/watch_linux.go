package local

import (
	"encoding/binary"
	"errors"
	"syscall"
	"unsafe"
)

// inotify is a queue of inotify(7).
type inotify struct {
	fd     int
	events [4 << 10]byte // for empty, which one at a time calls
}

// localFilesystems are those where every change comes through this kernel, by their
// numbers in statfs(2). What others change on a network's file system is not told.
var localFilesystems = map[uint32]bool{
	0xEF53:     true, // ext2, ext3, ext4
	0x58465342: true, // XFS
	0x9123683E: true, // Btrfs
	0xF2F52010: true, // F2FS
	0x2FC12FC1: true, // ZFS
	0x01021994: true, // tmpfs
}

const (
	// changed are a file that comes, goes or is written, and a folder that does.
	changed = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO | syscall.IN_MODIFY |
		syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR
	// replacedFolder is what is told of a folder that its path does not lead to any more.
	replacedFolder = syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_UNMOUNT | syscall.IN_IGNORED
)

func openQueue(folders []string) queue {
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		var s syscall.Statfs_t
		err := syscall.Statfs(folder, &s)
		if err == nil && !localFilesystems[uint32(s.Type)] {
			err = errors.ErrUnsupported
		}
		if err == nil {
			_, err = syscall.InotifyAddWatch(fd, folder, changed)
		}
		if err != nil {
			syscall.Close(fd)
			return nil
		}
	}
	return &inotify{fd: fd}
}

// waiting takes no detour through the scheduler, as a call does that may block.
func (q *inotify) waiting() bool {
	var bytes int32
	_, _, failed := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(q.fd), syscall.TIOCINQ, uintptr(unsafe.Pointer(&bytes)))
	return failed != 0 || bytes > 0
}

var errReplaced = errors.New("a folder that is watched has gone")

func (q *inotify) empty() error {
	for {
		n, err := syscall.Read(q.fd, q.events[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return nil
		case err != nil:
			return err
		}
		for rest := q.events[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			mask, name := binary.NativeEndian.Uint32(rest[4:]), binary.NativeEndian.Uint32(rest[12:])
			if mask&replacedFolder != 0 {
				return errReplaced
			}
			rest = rest[min(syscall.SizeofInotifyEvent+int(name), len(rest)):]
		}
	}
}

func (q *inotify) close() error { return syscall.Close(q.fd) }
