//go:build !race

package apitest

var buildFlags []string
