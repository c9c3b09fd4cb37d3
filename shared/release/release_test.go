package release

import (
	"strings"
	"testing"
)

func TestAReleaseAlwaysHasAName(t *testing.T) {
	if Name() == "" {
		t.Error("a build without a stamp has no name")
	}
	defer func(stamp, commit string) { Stamp, Commit = stamp, commit }(Stamp, Commit)
	Stamp, Commit = "v1.2.3", "abcdef0"
	if Name() != "v1.2.3" || !strings.HasPrefix(Version(), "v1.2.3 (commit abcdef0, go") {
		t.Errorf("%s, %s", Name(), Version())
	}
}
