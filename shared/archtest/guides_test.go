package archtest

import (
	"encoding/json"
	"fmt"
	"go/doc"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
)

// maxSays is how many characters the map has for a package.
const maxSays = 80

// TestTheMapHasEveryPackage holds the map in ARCHITECTURE.md against go list.
func TestTheMapHasEveryPackage(t *testing.T) {
	_, section, _ := strings.Cut(guides.Read(t, "ARCHITECTURE.md"), "\n## The map\n")
	section, _, _ = strings.Cut(section, "\n## ")
	mapped := map[string]bool{}
	for _, block := range guides.Blocks("ARCHITECTURE.md", section) {
		for line := range strings.Lines(block.Text) {
			name, says, _ := strings.Cut(strings.TrimSpace(line), " ")
			if mapped[name] {
				t.Errorf("the map in ARCHITECTURE.md has two lines for %s: remove one", name)
			}
			says = strings.TrimSpace(says)
			if mapped[name] = true; says == "" || len(says) > maxSays || strings.HasSuffix(says, ".") {
				t.Errorf("the map in ARCHITECTURE.md says %q of %s: it takes a phrase of at most %d characters, without a full stop", says, name, maxSays)
			}
		}
	}
	var packages []string
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		packages = append(packages, name)
		if !mapped[name] {
			t.Errorf("the map in ARCHITECTURE.md lacks a package: add the line\n%-31s %s", name, packageIs.ReplaceAllString(new(doc.Package).Synopsis(p.Doc), ""))
		}
	}
	for name := range mapped {
		if !slices.Contains(packages, name) {
			t.Errorf("the map in ARCHITECTURE.md has a package that is gone: remove the line of %s", name)
		}
	}
}

// packageIs begins a package comment.
var packageIs = regexp.MustCompile(`^(Package|Command) \S+ (is )?`)

// runs are the languages whose blocks a test must run.
var runs = []string{"sh", "js", "html", "go"}

// TestEverySnippetIsRun: each block that can run has a name, and a test that
// takes it by this name.
func TestEverySnippetIsRun(t *testing.T) {
	tested := testedSnippets(t)
	for _, guide := range guides.All(t) {
		for _, b := range guides.Blocks(guide, guides.Read(t, guide)) {
			where := fmt.Sprintf("%s:%d", guide, b.Line)
			switch {
			case b.Name == "" && slices.Contains(runs, b.Language):
				t.Errorf("%s: nobody runs this block: call it ```%s snippet=<name> and run it in a test, or ```console if no test can", where, b.Language)
			case b.Name != "" && !tested[guide+" "+b.Name]:
				t.Errorf("%s: nobody runs the snippet %s: take it in a test with guides.Snippet(t, %q, %q)", where, b.Name, guide, b.Name)
			case b.Language == "json" && !json.Valid([]byte(b.Text)):
				t.Errorf("%s: this is not JSON", where)
			}
		}
	}
}

var (
	inGo     = regexp.MustCompile(`guides\.Snippet\(t, "([^"]+)", "([^"]+)"\)`)
	inScript = regexp.MustCompile(`(?m)^snippet (\S+) (\S+) `)
)

// testedSnippets are the snippets that tests take, as "<guide> <name>".
func testedSnippets(t *testing.T) map[string]bool {
	tested := map[string]bool{}
	must.Do(t, filepath.WalkDir(guides.Root(t), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		taken := inScript
		if strings.HasSuffix(file, "_test.go") {
			taken = inGo
		} else if !strings.HasSuffix(file, ".txtar") {
			return nil
		}
		text, err := os.ReadFile(file)
		for _, found := range taken.FindAllSubmatch(text, -1) {
			tested[string(found[1])+" "+string(found[2])] = true
		}
		return err
	}))
	return tested
}

var (
	inTree  = regexp.MustCompile("(?:^|[\\s`(])(?:\\./)?((?:devserver|functions|infra|shared)/[a-zA-Z0-9_./-]*[a-zA-Z0-9])")
	link    = regexp.MustCompile(`\]\(([^)#:]*)(#[^):]*)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestTheGuidesNameWhatIsThere: make's targets, files and packages, links.
func TestTheGuidesNameWhatIsThere(t *testing.T) {
	makefile := guides.Read(t, "Makefile")
	for _, guide := range guides.All(t) {
		text := guides.Read(t, guide)
		for _, c := range guides.Commands(guide, text, "make") {
			if !strings.Contains(makefile, "\n"+c.Args[0]+":") {
				t.Errorf("%s: the Makefile has no target %s", c.Where, c.Args[0])
			}
		}
		for _, found := range inTree.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(guides.Root(t), found[1])); err != nil {
				t.Errorf("%s names %s, which is not there", guide, found[1])
			}
		}
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			to := guide
			if found[1] != "" {
				to = path.Join(path.Dir(guide), found[1])
			}
			if _, err := os.Stat(filepath.Join(guides.Root(t), to)); err != nil {
				t.Errorf("%s leads to %s, which is not there", guide, found[1])
			} else if found[2] != "" && !slices.Contains(anchors(guides.Read(t, to)), found[2]) {
				t.Errorf("%s leads to %s, which has no heading %s", guide, to, found[2])
			}
		}
	}
}

var function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)

// TestTheTestsThatGuidesRunAreThere: go test with -run or -fuzz finds one in each package.
func TestTheTestsThatGuidesRunAreThere(t *testing.T) {
	checked := 0
	for _, guide := range guides.All(t) {
		for _, c := range guides.Commands(guide, guides.Read(t, guide), "go") {
			for i, arg := range c.Args[:len(c.Args)-1] {
				name := strings.Trim(c.Args[i+1], `'"`)
				if c.Args[0] != "test" || arg != "-run" && arg != "-fuzz" || name == "^$" {
					continue
				}
				name, _, _ = strings.Cut(name, "/")
				for _, dir := range c.Args {
					if !strings.HasPrefix(dir, "./") {
						continue
					}
					checked++
					if !slices.ContainsFunc(testsOf(t, dir), regexp.MustCompile(name).MatchString) {
						t.Errorf("%s: %s has no test %s", c.Where, dir, name)
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no guide runs a test")
	}
}

// testsOf are the names of a package's tests.
func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(guides.Root(t), dir, "*_test.go")))(t)
	var names []string
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names
}

// anchors are the headings of a text as links name them.
func anchors(text string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		slug := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, "#"+strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}
