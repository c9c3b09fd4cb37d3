package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/testing/guides"
)

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
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)))
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
