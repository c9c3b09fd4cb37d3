package console

import (
	"runtime"
	"runtime/debug"
)

// Release and Commit are set when a release is built, see the Makefile.
var Release, Commit string

// Version names the release, the commit it was built from and the platform. A
// binary from `go install` knows the first two from its module.
func Version() string {
	release, commit := Release, Commit
	if info, ok := debug.ReadBuildInfo(); ok {
		if release == "" {
			release = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && commit == "" {
				commit = s.Value
			}
		}
	}
	if commit == "" {
		commit = "unknown"
	}
	return release + " (commit " + commit + ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}
