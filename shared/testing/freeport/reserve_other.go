//go:build !linux

package freeport

import (
	"net"
	"strconv"
)

func reserve(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
