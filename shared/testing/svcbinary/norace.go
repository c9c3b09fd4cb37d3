//go:build !race

package svcbinary

var flags []string
