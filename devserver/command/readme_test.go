package command

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeNamesEveryFlag holds the README's tables against the flags.
func TestReadmeNamesEveryFlag(t *testing.T) {
	serve, api, _ := strings.Cut(read(t, "../../README.md"), "| flag of `svc api` |")
	namesFlags(t, serve, newServe(Invocation{}))
	namesFlags(t, api, newAPI(Invocation{}))
}

func namesFlags(t *testing.T, readme string, cmd *cobra.Command) {
	row := regexp.MustCompile("(?m)^\\| `--[^|]*\\|[^|]*\\|")
	var rows []string
	for _, r := range row.FindAllString(readme, -1) {
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
					t.Errorf("the README's row of --%s does not say its default %s: %s", f.Name, value, r)
				}
			}
		}
		if !named {
			t.Errorf("the README's table lacks --%s", f.Name)
		}
	})
}

// TestTheStartUpLinesAreTheReadmes: what it shows is what is printed.
func TestTheStartUpLinesAreTheReadmes(t *testing.T) {
	f := serveFlags{host: "127.0.0.1", port: 6580, environment: "development"}
	if lines := startUp(f, "/home/you/app/our-config"); !strings.Contains(read(t, "../../README.md"), "```\n"+lines+"```") {
		t.Errorf("the README does not show\n%s", lines)
	}
}

// TestTheTokenOfMakeRun: the curl line that make run prints asks for a context.
func TestTheTokenOfMakeRun(t *testing.T) {
	token := regexp.MustCompile(`(?m)^TOKEN = (\S+)$`).FindStringSubmatch(read(t, "../../Makefile"))
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
