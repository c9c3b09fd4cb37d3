//go:build !race

package browsertest

var buildFlags []string
