package command

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// TestEveryRuleHasACode: svc verify finds every rule of the table, under the severity
// that stands there, and nothing without a code.
func TestEveryRuleHasACode(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	}
	for _, file := range must.Get(txtar.ParseFile("testdata/mistakes.txtar"))(t).Files {
		write(file.Name, strings.ReplaceAll(string(file.Data), "UNBOUND", base64.StdEncoding.EncodeToString(make([]byte, 40))))
	}
	write("feature-flags/huge.json", strings.Repeat(" ", document.MaxSize+10))
	write("feature-flags/utf16.json", "\xff\xfe{\x00}\x00")
	write("feature-flags/marked.json", "\ufeff"+`{"key": "marked", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`)
	write("config", "") // as in a repository
	write(".svc-write.json", "[]")
	testenv.Program(t, "your system's package", "git")
	write(".git/HEAD", "ref: refs/heads/main\n")
	write(".git/objects/info/packs", "")
	write(".git/refs/heads/x", "")
	write(".gitattributes", "svc.json working-tree-encoding=UTF-16\n")
	must.Do(t, os.Symlink("odd.json", filepath.Join(dir, "feature-flags", "linked.json")))
	for i := range 12 { // whose expressions each fit, and not all together
		rule := `{"criteria": [{"operator": "PROP_MATCHES", "propertyName": "user.key", "valueToMatch": {"type": "string", "value": "%d(a{1,400}){2}"}}], "value": {"type": "bool", "value": true}}`
		var rules []string
		for n := range 40 {
			rules = append(rules, fmt.Sprintf(rule, 100*i+n))
		}
		write(fmt.Sprintf("feature-flags/many%d.json", i), fmt.Sprintf(`{"key": "many%d", "type": "feature_flag", "valueType": "bool", "default": {"rules": [%s]}}`, i, strings.Join(rules, ",")))
	}

	found := map[problem.Code]string{}
	for _, dir := range []string{dir, empty} {
		var out bytes.Buffer
		Main(t.Context(), []string{"verify", "--json", dir}, cli.Caller{Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }, Workdir: dir})
		var v checked
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		for _, p := range v.Problems {
			rule, known := problem.Lookup(p.Code)
			if !known || rule.Warning != (p.Severity == "warning") {
				t.Errorf("%+v is not as the table of rules has it: %+v", p, rule)
			}
			found[p.Code] = p.Message
		}
	}
	for _, rule := range problem.Rules {
		if found[rule.Code] == "" {
			t.Errorf("nothing was found under %s", rule.Code)
		}
	}
}

// TestTheGuideListsTheRules: the guide has the table of rules as it is in the code.
func TestTheGuideListsTheRules(t *testing.T) {
	want := "| code | what is wrong | what to do |\n|---|---|---|\n"
	for _, rule := range problem.Rules {
		if want += fmt.Sprintf("| `%s` | ", rule.Code); rule.Warning {
			want += "warning: "
		}
		if want += rule.Found + " | " + rule.Remedy; rule.Fixed != "" {
			want += " `--fix` " + rule.Fixed + "."
		}
		want += " |\n"
	}
	if !strings.Contains(guides.Read(t, guideToReview), want) {
		t.Errorf("%s does not have this table:\n%s", guideToReview, want)
	}
}

// The guides for those who develop with svc serve, and who check what was changed.
const (
	guideToServe  = "devserver/guides/develop.md"
	guideToReview = "devserver/guides/review.md"
)

// TestTheGuidesNameEveryFlag holds the guides' tables against the flags.
func TestTheGuidesNameEveryFlag(t *testing.T) {
	namesFlags(t, guides.Read(t, guideToServe), newServe(Invocation{&cli.Caller{}}))
	namesFlags(t, guides.Read(t, "devserver/guides/operate.md"), newAPI(Invocation{&cli.Caller{}}))
}

// TestTheGuideNamesEveryCommand: the list of commands has them all.
func TestTheGuideNamesEveryCommand(t *testing.T) {
	list := guides.Read(t, "devserver/README.md")
	for _, cmd := range newRoot(&cli.Caller{Getenv: func(string) string { return "" }}).Commands() {
		if name := cmd.Name(); name != "help" && name != "completion" && name != "version" && !cmd.Hidden && !strings.Contains(list, "`svc "+name+"`") {
			t.Errorf("devserver/README.md does not list `svc %s`", name)
		}
	}
}

func namesFlags(t *testing.T, guide string, cmd *cobra.Command) {
	row := regexp.MustCompile("(?m)^\\| `--[^|]*\\|[^|]*\\|")
	var rows []string
	for _, r := range row.FindAllString(guide, -1) {
		rows = append(rows, r)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		named := false
		for _, r := range rows {
			if regexp.MustCompile("`--" + f.Name + "[ `]").MatchString(r) {
				named = true
				value := strings.Trim(f.DefValue, "[]")
				if value != "" && value != "true" && value != "false" && !strings.Contains(r, "`"+value+"`") {
					t.Errorf("the guide's row of --%s does not say its default %s: %s", f.Name, value, r)
				}
			}
		}
		if !named {
			t.Errorf("the guide's table lacks --%s", f.Name)
		}
	})
}

// TestTheStartUpLinesAreTheGuides: what it shows is what is printed.
func TestTheStartUpLinesAreTheGuides(t *testing.T) {
	f := serveFlags{listenFlags: listenFlags{host: "127.0.0.1", port: 6580}, environment: "development", origins: []string{"*"}}
	if lines := startUp(f, "/home/you/app/our-config", "1 flag, 1 config", "", 0); !strings.Contains(guides.Read(t, guideToServe), "```\n"+lines+"```") {
		t.Errorf("the guide does not show\n%s", lines)
	}
}

// TestTheTreeIsTheGuides: what it shows is what the samples give.
func TestTheTreeIsTheGuides(t *testing.T) {
	command := "svc eval pricing.headline --context user.key=u-1,user.plan=pro --environment production --datadir samples"
	var out strings.Builder
	args := append(strings.Fields(command)[1:], "--datadir", filepath.Join(guides.Root(t), "devserver/sample/directory"))
	c := cli.Caller{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Workdir: t.TempDir()}
	if status := Main(t.Context(), args, c); status != 0 || !strings.Contains(guides.Read(t, guideToServe), "\n"+command+"\n") || !strings.Contains(guides.Read(t, guideToServe), "```\n"+out.String()+"```") {
		t.Errorf("the guide does not show %s with\n%s", command, out.String())
	}
}

// TestTheFilesThatTheGuidesShow: svc verify has nothing against them.
func TestTheFilesThatTheGuidesShow(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"svc.json":                        guides.Snippet(t, "shared/document/README.md", "svc-json"),
		"feature-flags/new-checkout.json": guides.Snippet(t, "README.md", "flag"),
	} {
		path = filepath.Join(dir, path)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)))
	}
	var out strings.Builder
	c := cli.Caller{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Workdir: dir}
	if status := Main(t.Context(), []string{"verify", "--strict", "--datadir", dir}, c); status != 0 {
		t.Errorf("svc verify ends with status %d:\n%s", status, out.String())
	}
}

// TestTheCommandsThatTheGuidesShow: svc has them, with these flags.
func TestTheCommandsThatTheGuidesShow(t *testing.T) {
	guides.CheckCommands(t, "svc", func() *cobra.Command { return newRoot(&cli.Caller{Getenv: func(string) string { return "" }}) })
}

// TestTheHelpShowsExamples: of each command, and svc accepts them.
func TestTheHelpShowsExamples(t *testing.T) {
	guides.CheckHelp(t, "svc", func() *cobra.Command { return newRoot(&cli.Caller{Getenv: func(string) string { return "" }}) })
}

// TestTheListOfServersThatTheGuideShows: svc takes what an assistant starts it with.
func TestTheListOfServersThatTheGuideShows(t *testing.T) {
	const guide = "devserver/guides/assistants.md"
	for _, b := range guides.Blocks(guide, guides.Read(t, guide)) {
		var list struct {
			MCPServers map[string]struct {
				Command string
				Args    []string
			}
		}
		if b.Language != "json" || json.Unmarshal([]byte(b.Text), &list) != nil || list.MCPServers == nil {
			continue
		}
		one := list.MCPServers["svc"]
		cmd, rest, err := newRoot(&cli.Caller{Getenv: func(string) string { return "" }}).Find(one.Args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || one.Command != "svc" || cmd.Name() != "mcp" || len(cmd.Flags().Args()) > 0 {
			t.Errorf("%s %s: %v", one.Command, one.Args, err)
		}
		return
	}
	t.Error("the guide shows none")
}
