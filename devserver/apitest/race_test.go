//go:build race

package apitest

// With the race detector on, the server is watched too.
var buildFlags = []string{"-race"}
