package archtest

import (
	"slices"
	"strings"
	"testing"
)

// What an application links must cost it little: the contexts nothing at all,
// the client no more than evaluation needs.
func TestWhatApplicationsImport(t *testing.T) {
	for _, p := range list(t) {
		switch {
		case p.ImportPath == module+"shared/contexts":
			if slices.Contains(p.Deps, "net/http") {
				t.Errorf("%s reaches net/http: only requestscope is about HTTP", p.ImportPath)
			}
			fallthrough
		case in(p.ImportPath, "shared/contexts"):
			for _, dep := range p.Deps {
				if first, _, _ := strings.Cut(dep, "/"); strings.Contains(first, ".") && dep != module+"shared/contexts" {
					t.Errorf("%s reaches %s: contexts need nothing but the standard library", p.ImportPath, dep)
				}
			}
		case in(p.ImportPath, "shared/client", "shared/openfeature", "shared/opentelemetry"):
			for _, bad := range forbidden(p.Deps, serverSide) {
				t.Errorf("%s reaches %s: a client is linked into other people's programs and shares no code with the control plane", p.ImportPath, bad)
			}
		}
	}
}

var serverSide = []string{
	"github.com/aws/...", "github.com/awslabs/...", "github.com/go-git/...", "github.com/spf13/...", "testing",
	module + "shared/access", module + "shared/control", module + "shared/change", module + "shared/served", module + "shared/feed", module + "shared/refusal", module + "shared/httpapi", module + "shared/repository", module + "shared/repository/...",
	module + "shared/ledger/...", module + "shared/delivery", module + "shared/telemetry", module + "shared/telemetry/...",
}
