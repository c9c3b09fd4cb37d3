package server

import "syscall"

// fullBuffer is how many bytes of an answer net/http sends at a time where there are
// more: the first piece of any larger answer, with its header, before all the rest.
// Were it another number, nothing would be put off.
const fullBuffer = 4 << 10

// Write implements net.Conn. A full buffer is left to the system to send with what
// follows it: to send a packet costs more than all else about a poll, and a large
// answer took two. The system waits for 200 ms at most.
func (c *conn) Write(p []byte) (n int, err error) {
	c.more = len(p) == fullBuffer && c.raw != nil
	if !c.more {
		return c.TCPConn.Write(p)
	}
	ended := c.raw.Write(func(fd uintptr) (done bool) {
		for n < len(p) && err == nil {
			var sent int
			if sent, err = syscall.SendmsgN(int(fd), p[n:], nil, nil, syscall.MSG_MORE); err == nil {
				n += sent
			}
			if err == syscall.EINTR {
				err = nil
			}
		}
		if err == syscall.EAGAIN {
			err = nil
			return false
		}
		return true
	})
	if err == nil {
		err = ended
	}
	return n, err
}

// push sends what waits for more when there is none.
func (c *conn) push() {
	if c.more {
		c.more = false
		_ = c.TCPConn.SetNoDelay(true) // which also sends at once; else it goes by itself
	}
}
