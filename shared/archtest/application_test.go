package archtest

import (
	"strings"
	"testing"
)

// TestContextsNeedTheStandardLibraryAlone: what an application links must cost it little,
// and contexts nothing at all.
func TestContextsNeedTheStandardLibraryAlone(t *testing.T) {
	for _, p := range list(t) {
		for _, dep := range p.Deps {
			if first, _, _ := strings.Cut(dep, "/"); in(p.ImportPath, "shared/contexts") && strings.Contains(first, ".") && dep != module+"shared/contexts" {
				t.Errorf("%s reaches %s: contexts need nothing but the standard library", p.ImportPath, dep)
			}
		}
	}
}
