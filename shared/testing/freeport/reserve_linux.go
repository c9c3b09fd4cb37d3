package freeport

import "syscall"

// reserve binds a port for as long as the process lives, if nobody else has it. Servers
// may bind it nevertheless: they allow reuse of addresses, as this does once it is bound,
// and this never listens.
func reserve(port int) bool {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}
	if err != nil {
		_ = syscall.Close(fd)
	}
	return err == nil
}
