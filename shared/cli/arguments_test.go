package cli_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
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

// TestWhatCannotBePrinted: who sends the output into a file on a full disk must
// not believe that it is there.
func TestWhatCannotBePrinted(t *testing.T) {
	full := errors.New("no space left")
	revealed := ""
	for name, c := range map[string]struct {
		command func(c *cli.Caller) *cobra.Command
		said    func() string
	}{
		"a line": {func(c *cli.Caller) *cobra.Command {
			return &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error {
				fmt.Fprintln(c.Stdout, "a line")
				return nil
			}}
		}, func() string { return "x: no space left\n" }},
		"half a character": {func(c *cli.Caller) *cobra.Command {
			return &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error {
				fmt.Fprint(c.Stdout, "\xc3")
				return nil
			}}
		}, func() string { return "x: no space left\n" }},
		"a new key": {func(c *cli.Caller) *cobra.Command {
			cmd := cli.Settings{Program: "x", Caller: c, Flags: func(*cobra.Command) {},
				IssueKey: func(_ *cobra.Command, q access.KeyRequest) (access.Key, access.Principal, error) {
					key, err := access.NewKey(strings.NewReader(strings.Repeat("x", 1000)), q.Kind, "0123456789abcdef", "0123456789abcdef")
					revealed = string(key.ID())
					return key, access.Principal{}, err
				}}.Commands()[0]
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			return cmd
		}, func() string {
			return "key create: the key " + revealed + " was created and could not be printed; revoke it and create another: no space left\n"
		}},
	} {
		args := []string{}
		if name == "a new key" {
			args = []string{"create", "--kind", "service-account", "--name", "ci"}
		}
		var stderr strings.Builder
		status := cli.Main(context.Background(), args, cli.Caller{Stdout: failing{full}, Stderr: &stderr}, c.command)
		if status != 1 || stderr.String() != c.said() {
			t.Errorf("%s: status %d, %q", name, status, &stderr)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
