//go:build !linux

package server

func (c *conn) push() {}
