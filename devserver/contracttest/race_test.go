//go:build race

package contracttest

// With the race detector on, the server is watched too: it then exits with a
// status other than 0, which ends its test.
var buildFlags = []string{"-race"}
