package command

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc.example/svc/shared/testing/guides"
)

const guide = "devserver/README.md"

// TestTheGuideNamesEveryFlag holds the guide's tables against the flags.
func TestTheGuideNamesEveryFlag(t *testing.T) {
	serve, api, _ := strings.Cut(guides.Read(t, guide), "| flag of `svc api` |")
	namesFlags(t, serve, newServe(Invocation{}))
	namesFlags(t, api, newAPI(Invocation{}))
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
	f := serveFlags{host: "127.0.0.1", port: 6580, environment: "development"}
	if lines := startUp(f, "/home/you/app/our-config"); !strings.Contains(guides.Read(t, guide), "```\n"+lines+"```") {
		t.Errorf("the guide does not show\n%s", lines)
	}
}

// TestTheTreeIsTheGuides: what it shows is what the samples give.
func TestTheTreeIsTheGuides(t *testing.T) {
	command := "svc eval pricing.headline --context user.key=u-1,user.plan=pro --environment production"
	var out strings.Builder
	in := Invocation{Args: append(strings.Fields(command)[1:], "--datadir", filepath.Join(guides.Root(t), "devserver/sample/directory")),
		Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Workdir: t.TempDir()}
	if status := Main(t.Context(), in); status != 0 || !strings.Contains(guides.Read(t, guide), "\n"+command+"\n") || !strings.Contains(guides.Read(t, guide), "```\n"+out.String()+"```") {
		t.Errorf("the guide does not show %s with\n%s", command, out.String())
	}
}

// TestTheTokenOfMakeRun: the curl line that make run prints asks for a context.
func TestTheTokenOfMakeRun(t *testing.T) {
	token := regexp.MustCompile(`(?m)^TOKEN = (\S+)$`).FindStringSubmatch(guides.Read(t, "Makefile"))
	if token == nil {
		t.Fatal("the Makefile has no TOKEN")
	}
	text, err := base64.RawURLEncoding.DecodeString(token[1])
	if err != nil {
		t.Fatal(err)
	}
	var context map[string]map[string]any
	if err := json.Unmarshal(text, &context); err != nil || context["user"]["key"] == nil {
		t.Errorf("the token holds %s: %v", text, err)
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
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	in := Invocation{Args: []string{"verify", "--strict", "--datadir", dir}, Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Workdir: dir}
	if status := Main(t.Context(), in); status != 0 {
		t.Errorf("svc verify ends with status %d:\n%s", status, out.String())
	}
}

// TestTheCommandsThatTheGuidesShow: svc has them, with these flags.
func TestTheCommandsThatTheGuidesShow(t *testing.T) {
	guides.CheckCommands(t, "svc", func() *cobra.Command { return newRoot(Invocation{Getenv: func(string) string { return "" }}) })
}
