package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ use, args, want string }{
		{"list", "", ""},
		{"list", "x", `"x" is one argument too many`},
		{"revoke <id>", "", "<id> is missing"},
		{"revoke <id>", "k1", ""},
		{"revoke <id>", "k1 k2 k3", `"k2" is one argument too many`},
		{"search <type> <query>", "", "<type> and <query> are missing"},
		{"search <type> <query>", "user", "<query> is missing"},
		{"roles <principal> <role>...", "ada", "<role>... is missing"},
		{"roles <principal> <role>...", "ada engineer viewer", ""},
		{"init [dir]", "", ""},
		{"init [dir]", "here", ""},
		{"init [dir]", "here there", `"there" is one argument too many`},
	} {
		cmd := &cobra.Command{Use: c.use, Run: func(*cobra.Command, []string) {}}
		for hint, after := range map[string]string{"": "", "look there": "; look there"} {
			said := ""
			if err := cli.Arguments(hint)(cmd, strings.Fields(c.args)); err != nil {
				said = err.Error()
			}
			want := c.want
			if want != "" {
				want += after + "\nUsage: " + cmd.UseLine()
			}
			if said != want {
				t.Errorf("%s %s: %q, want %q", c.use, c.args, said, want)
			}
		}
	}
}
