//go:build !race

package contracttest

var buildFlags []string
