package archtest

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

const module = "svc.example/svc/"

// pkg is what go list says of a package, as far as a rule needs it.
type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	Doc        string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,Imports,Deps", module+"...")
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	var packages []pkg
	for dec := json.NewDecoder(out); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	must.Do(t, cmd.Wait())
	return packages
}

func in(path string, folders ...string) bool {
	for _, f := range folders {
		if path == module+f || strings.HasPrefix(path, module+f+"/") {
			return true
		}
	}
	return false
}

// core are the packages that know no technology.
var core = []string{"shared/fault", "shared/problem", "shared/jsontree", "shared/expression", "shared/document", "shared/evaluation", "shared/explanation", "shared/impact", "shared/manifest", "shared/versions", "shared/workspace", "shared/access"}

// rules say what a package must not import itself, and what it must not even
// reach through others.
var rules = []struct {
	who     []string
	except  []string
	imports []string
	reaches []string
	why     string
}{
	{
		who:     core,
		imports: []string{"os", "os/exec", "log", "testing"},
		reaches: []string{"net/http", "testing", "github.com/aws/...", "github.com/go-git/...", "github.com/spf13/..."},
		why:     "the core is decided by its arguments alone, so that it can be tested and reused anywhere",
	},
	{
		who:     []string{"shared"},
		except:  []string{"shared/testing"},
		imports: []string{module + "devserver/...", module + "functions/...", module + "infra/..."},
		why:     "arrows point down: what is shared knows none of the programs",
	},
	{
		who: []string{"shared/client", "shared/openfeature", "shared/opentelemetry"},
		reaches: []string{"github.com/aws/...", "github.com/awslabs/...", "github.com/go-git/...", "github.com/spf13/...", "testing",
			module + "shared/access", module + "shared/control", module + "shared/change", module + "shared/served", module + "shared/feed", module + "shared/refusal", module + "shared/httpapi", module + "shared/repository", module + "shared/repository/...",
			module + "shared/ledger/...", module + "shared/delivery", module + "shared/telemetry", module + "shared/telemetry/..."},
		why: "a client is linked into other people's programs and shares no code with the control plane",
	},
	{
		who:     []string{"shared/contexts"},
		except:  []string{"shared/contexts/requestscope"},
		reaches: []string{"net/http"},
		why:     "only requestscope is about HTTP",
	},
	{
		who:     []string{"shared/datadir"},
		reaches: []string{"net/http"},
		why:     "a directory on disk has nothing to do with HTTP",
	},
	{
		who:     []string{"shared/delivery"},
		imports: []string{"os", module + "shared/datadir", module + "shared/access"},
		why:     "delivery serves tables; where they come from and who may have them is its caller's business",
	},
	{
		who:     []string{"shared/control", "shared/change"},
		imports: []string{"os", "log", "log/slog", module + "shared/ledger/...", module + "shared/repository/disk", module + "shared/httpapi", module + "shared/delivery", module + "shared/authentication", module + "shared/ratelimit"},
		reaches: []string{"net/http", "github.com/aws/..."},
		why:     "the use cases know their ports, not what stands behind them",
	},
	{
		who:     []string{"shared/change"},
		reaches: []string{module + "shared/control"},
		why:     "a change is made after control has admitted its caller",
	},
	{
		who:     []string{"shared/served"},
		imports: []string{module + "shared/feed", module + "shared/document/edit"},
		why:     "what is served is told without knowing how it is changed, and in what words",
	},
	{
		who:     []string{"shared/served", "shared/feed", "shared/refusal"},
		imports: []string{"os", "log", "log/slog"},
		reaches: []string{"net/http", module + "shared/change", module + "shared/control", module + "shared/telemetry/...", module + "shared/ledger/..."},
		why:     "what is served and what commits changed is told without knowing who asks",
	},
	{
		who:     []string{"shared/httpapi"},
		imports: []string{"os", module + "shared/ledger/...", module + "shared/repository/..."},
		reaches: []string{"github.com/aws/..."},
		why:     "HTTP speaks to the use cases only; main packages name the stores",
	},
	{
		who:     []string{"shared/router", "shared/endpoints"},
		reaches: []string{module + "shared/..."},
		why:     "what matches a path knows nothing of what answers there",
	},
	{
		who:     []string{"shared/testing/instance"},
		imports: []string{module + "shared/control", module + "shared/sdkapi", module + "shared/delivery", module + "functions/internal/..."},
		why:     "tests start what is shipped: package functions wires the functions, and nobody else does",
	},
	{
		who:     []string{"shared/repository", "shared/ledger"},
		except:  onAWS,
		reaches: []string{"net/http", "golang.org/x/crypto/...", "github.com/ProtonMail/..."},
		why:     "of go-git only the formats: its transports and signatures would double the binary",
	},
	{
		who:     []string{"devserver"},
		reaches: []string{"github.com/aws/..."},
		why:     "svc is one small download: the AWS SDK alone is larger",
	},
	{
		who:     []string{"devserver"},
		reaches: []string{"html/template"},
		why:     "for templates the linker keeps every method of every type",
	},
	{
		who:     []string{"devserver/mcpserver"},
		imports: []string{"os", "os/exec", "log", "log/slog", module + "devserver/command", module + "devserver/embedded", module + "shared/control"},
		why:     "what the tools may do is the REST API's to decide, and standard output is the protocol's",
	},
	{
		who:     []string{"devserver"},
		except:  []string{"devserver/mcpserver", "devserver/command", "devserver/svc", "devserver/manpages"},
		reaches: []string{"github.com/modelcontextprotocol/..."},
		why:     "one package knows the Model Context Protocol",
	},
	{
		who:     []string{"shared"},
		except:  onAWS,
		reaches: []string{"github.com/aws/..."},
		why:     "one package for each technology: what works on AWS is named by functions and infra, and known to nobody else",
	},
	{
		who:     []string{"devserver", "functions", "infra", "shared"},
		except:  []string{"shared/table/postgres", "shared/testing"},
		imports: []string{"github.com/jackc/..."},
		why:     "one package for each technology: this one knows PostgreSQL",
	},
	{
		who:     []string{"devserver", "functions", "infra", "shared"},
		except:  []string{"shared/opentelemetry"},
		reaches: []string{"go.opentelemetry.io/..."},
		why:     "one package knows OpenTelemetry, for applications that have it",
	},
	{
		who:     []string{"shared/table"},
		except:  []string{"shared/table/dynamo", "shared/table/bolt", "shared/table/postgres"},
		imports: []string{"os", "net/http"},
		reaches: []string{"github.com/aws/...", "go.etcd.io/...", "github.com/jackc/...", module + "shared/repository/...", module + "shared/telemetry/...", module + "shared/access"},
		why:     "what a table promises knows neither how it is kept, nor what its rows mean",
	},
	{
		who:     []string{"shared/telemetry"},
		except:  []string{"shared/telemetry/earlier", "shared/testing/telemetrytest"},
		imports: []string{"os", "testing"},
		reaches: []string{"net/http", "testing", "go.etcd.io/...", "github.com/aws/..."},
		why:     "what is counted and saved is decided without knowing where it comes from and where it is kept",
	},
	{
		who:     []string{"shared/webhook"},
		imports: []string{"os", "testing", module + "shared/ledger/...", module + "shared/settings", module + "shared/httpapi", module + "shared/control"},
		reaches: []string{"go.etcd.io/...", "github.com/aws/...", "testing"},
		why:     "what webhooks are told is decided without knowing who manages them and where it is kept",
	},
	{
		who:     []string{"shared/sdkapi"},
		imports: []string{"os", module + "shared/ledger/...", module + "shared/repository/...", module + "shared/telemetry/...", module + "shared/httpapi"},
		reaches: []string{"github.com/aws/...", "go.etcd.io/...", "testing"},
		why:     "applications are served from the control plane and an intake; main packages name the stores",
	},
	{
		who:     []string{"shared/bucket"},
		reaches: []string{module + "shared/repository/...", module + "shared/control/..."},
		why:     "a bucket knows nothing of what lies in it",
	},
	{
		who:     []string{"shared/dynamo", "shared/awsclient"},
		reaches: []string{module + "shared/repository/...", module + "shared/control/...", module + "shared/access"},
		why:     "a table knows nothing of what its rows mean",
	},
	{
		who:     []string{"devserver", "functions", "infra", "shared"},
		except:  []string{"shared/testing", "infra/samlocal"},
		reaches: []string{module + "shared/testing/...", "github.com/anishathalye/porcupine"},
		why:     "suites, loads, faults and stand-ins are for tests and sam local",
	},
	{
		who:     []string{"shared/testing/apiload"},
		reaches: []string{module + "shared/...", "github.com/aws/..."},
		why:     "the judges share no code with what they judge",
	},
	{
		who:     []string{"devserver", "functions", "infra", "shared"},
		except:  []string{"shared/git", "shared/testing", "shared/archtest"},
		imports: []string{"os/exec"},
		why:     "no program runs another one but git, and that in one way, which nothing in a repository has a say in",
	},
	{
		who:     []string{"devserver", "functions", "infra", "shared"},
		except:  []string{"shared/testing/standin", "shared/testing/docker", "shared/testing/realgit"},
		imports: []string{module + "shared/testing/testenv"},
		why:     "outside of tests it would link package testing",
	},
	{
		who:     []string{"shared/admin"},
		reaches: []string{"github.com/spf13/...", module + "infra/command", module + "devserver/..."},
		why:     "the maintenance function links it: how an operator asks and is told is the command line's business",
	},
}

// onAWS are the packages that know the AWS SDK, or one that does.
var onAWS = []string{"shared/admin", "shared/testing", "shared/awsclient", "shared/dynamo", "shared/bucket", "shared/repository/s3", "shared/ledger/dynamo", "shared/table/dynamo"}

// names that say nothing of what a package is for.
var emptyNames = []string{"util", "utils", "common", "model", "models", "types", "helper", "helpers", "misc", "base", "lib", "dto"}

func TestImportRules(t *testing.T) {
	for _, p := range list(t) {
		if slices.Contains(emptyNames, p.Name) {
			t.Errorf("%s: the name %s says nothing of what the package is for", p.ImportPath, p.Name)
		}
		for _, rule := range rules {
			if !in(p.ImportPath, rule.who...) || in(p.ImportPath, rule.except...) {
				continue
			}
			for _, bad := range forbidden(p.Imports, rule.imports) {
				t.Errorf("%s imports %s: %s", p.ImportPath, bad, rule.why)
			}
			for _, bad := range forbidden(p.Deps, rule.reaches) {
				t.Errorf("%s reaches %s: %s", p.ImportPath, bad, rule.why)
			}
		}
	}
}

// forbidden finds the paths that a rule names; one that ends in /... names all
// that lie below it.
func forbidden(paths, named []string) []string {
	var found []string
	for _, path := range paths {
		for _, name := range named {
			if prefix, below := strings.CutSuffix(name, "..."); path == name || below && strings.HasPrefix(path, prefix) {
				found = append(found, path)
			}
		}
	}
	return found
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range list(t) {
		if files := must.Get(filepath.Glob(filepath.Join(p.Dir, "*.go")))(t); !slices.ContainsFunc(files, hasPackageComment) {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func hasPackageComment(path string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && f.Doc != nil
}

const maxBytes = 32 << 20

func TestTheBinaryStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "nethttpomithttp2", "-ldflags", "-s -w", "-o", path, module+"devserver/svc")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info := must.Get(os.Stat(path))(t)
	t.Logf("svc is %.1f MB stripped", float64(info.Size())/1e6)
	if info.Size() > maxBytes {
		t.Errorf("svc is %d bytes stripped, at most %d are allowed", info.Size(), maxBytes)
	}
}

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
