package functions

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "svc.example/svc/"

// links are what a function must not link, and why.
var links = []struct {
	groups []string // nil: all
	but    []string
	not    []string
	why    string
}{
	{groups: []string{"reference"}, not: []string{"github.com/aws/aws-sdk-go-v2", module + "shared/ledger", module + "shared/repository/s3", module + "functions/internal/table"},
		why: "neither the description nor the console needs a store"},
	{but: []string{"reference"}, not: []string{module + "shared/console"}, why: "one function serves the console"},
	{groups: []string{"telemetry"}, not: []string{module + "shared/httpapi"}, why: "telemetry serves no REST"},
	{groups: []string{"delivery"}, not: []string{module + "shared/httpapi", module + "shared/telemetry/rows"},
		why: "a poll is no part of the REST API and takes nothing in"},
	{groups: []string{"workspace", "loglevels", "activity"}, not: []string{module + "shared/telemetry/rows", module + "shared/sdkapi"},
		why: "the REST API neither takes telemetry in nor is polled"},
	{groups: []string{"contexts", "flags", "configs", "segments", "changes"}, not: []string{module + "shared/sdkapi"}, why: "what was saved is read, not taken in"},
	{groups: []string{"maintenance"}, not: []string{module + "shared/httpapi", module + "shared/delivery", module + "shared/sdkapi", module + "functions/internal/api"},
		why: "maintenance answers nobody"},
	{but: []string{"maintenance"}, not: []string{"github.com/aws/aws-sdk-go-v2/service/sqs"}, why: "only maintenance has a queue"},
	{but: []string{"maintenance"}, not: []string{module + "infra/", "github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/service/sso", "github.com/aws/aws-sdk-go-v2/service/sts"},
		why: "what only an operator does, and credentials that Lambda does not use, cost every cold start"},
	{but: []string{"maintenance"}, not: []string{module + "shared/ledger/local", module + "shared/repository/disk", module + "shared/datadir"},
		why: "a function that answers requests has no disk (shared/admin, which imports and exports, has)"},
	{not: []string{"testing", "github.com/spf13/cobra", "go.yaml.in/yaml", module + "devserver/", module + "infra/samlocal", module + "shared/testing/standin"},
		why: "a function has no command line and no tests"},
}

func dependencies(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags=lambda.norpc", "-json=ImportPath,Name,Deps", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	all := map[string][]string{}
	for dec := json.NewDecoder(out); ; {
		var p struct {
			ImportPath, Name string
			Deps             []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Name == "main" {
			all[strings.TrimPrefix(p.ImportPath, module+"functions/")] = p.Deps
		}
	}
	must(t, cmd.Wait())
	return all
}

func TestAFunctionLinksOnlyWhatItsGroupNeeds(t *testing.T) {
	for group, deps := range dependencies(t) {
		// Without contexts it would say, of everybody, that nobody is reached.
		if slices.Contains([]string{"flags", "configs", "segments", "changes"}, group) && !slices.Contains(deps, module+"shared/telemetry/rows") {
			t.Errorf("%s tells impact and reads no contexts", group)
		}
		for _, rule := range links {
			if rule.groups != nil && !slices.Contains(rule.groups, group) || slices.Contains(rule.but, group) {
				continue
			}
			for _, not := range rule.not {
				for _, dep := range deps {
					if dep == not || strings.HasPrefix(dep, not) && (strings.HasSuffix(not, "/") || dep[len(not)] == '/') {
						t.Errorf("%s links %s: %s", group, dep, rule.why)
					}
				}
			}
		}
	}
}

const maxBytes = 16 << 20

func TestAFunctionStaysSmall(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", "-o", dir, "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(all) {
		t.Fatalf("%d binaries, %v", len(entries), err)
	}
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		t.Logf("%-12s %5.1f MB", e.Name(), float64(info.Size())/(1<<20))
		if info.Size() > maxBytes {
			t.Errorf("%s is %d bytes stripped, at most %d are allowed", e.Name(), info.Size(), maxBytes)
		}
	}
}
