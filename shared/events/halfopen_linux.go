package events

import (
	"net"
	"syscall"
	"time"
)

// lost is how long a client may not confirm what it was sent, such as a comment,
// before its connection counts as gone: one whose machine has vanished would stay
// for a quarter of an hour.
const lost = 30 * time.Second

// notice has the system end a connection whose other end is lost.
func notice(conn net.Conn) {
	const tcpUserTimeout = 0x12 // which package syscall does not name
	if tcp, ok := conn.(syscall.Conn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { // else the system's own patience applies
				_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(lost.Milliseconds()))
			})
		}
	}
}
