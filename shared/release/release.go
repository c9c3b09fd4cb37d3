// Package release knows what this program was built from.
package release

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Stamp and Commit are set when a release is built, see the Makefile.
var Stamp, Commit string

// Name is the name of the release. A binary from go install knows it from its
// module.
func Name() string {
	if Stamp != "" {
		return Stamp
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)" // what Go itself says of a build without a version
}

// Version is the release, the commit that it was built from and the platform.
func Version() string {
	built := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				built = s.Value
			}
		}
	}
	return Name() + " (commit " + cmp.Or(Commit, built) + ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}
