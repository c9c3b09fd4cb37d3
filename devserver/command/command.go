// Package command is the command line of svc: what each command takes, what
// it prints, and the status it exits with.
//
// What must stay true:
//
//   - Standard output carries what was asked for, standard error everything
//     else.
//   - The status is 0 for success, 1 for a failure, 2 for a command line that
//     makes no sense.
//   - An error is one line that says what would be right, or the list of all
//     problems found.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// Invocation is everything a command takes from the process it runs in.
type Invocation struct {
	Args    []string // without the program's name
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Workdir string
}

// System is the invocation of the running process.
func System() Invocation {
	workdir, err := os.Getwd()
	if err != nil {
		workdir = "."
	}
	return Invocation{os.Args[1:], os.Stdout, os.Stderr, os.Getenv, workdir}
}

// Main runs the command line and returns the exit status.
func Main(ctx context.Context, in Invocation) int {
	root := newRoot(in)
	root.SetArgs(in.Args)
	root.SetOut(in.Stdout)
	root.SetErr(in.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var failed *failure
	if errors.As(err, &failed) {
		if failed.err != nil {
			fmt.Fprintf(in.Stderr, "%s: %v\n", cmd.CommandPath(), failed.err)
		}
		return 1
	}
	fmt.Fprintf(in.Stderr, "%s: %v\nRun %s --help for what it takes.\n", cmd.CommandPath(), err, cmd.CommandPath())
	return 2
}

// failure is an error of the work itself, as opposed to one of the command
// line. Without an inner error everything has been said already.
type failure struct{ err error }

func (f *failure) Error() string { return "failed" }

// run makes a command's function of work that reports failures plainly.
func run(work func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		var failed *failure
		if err == nil || errors.As(err, &failed) {
			return err
		}
		var usage *usageError
		if errors.As(err, &usage) {
			return err
		}
		return &failure{err}
	}
}

// usageError is a command line whose parts do not go together.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// refuseEmpty refuses flags that were given without a value, as happens when
// a script's variable is not set: it would mean the default.
func refuseEmpty(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty; give it a value, or leave it out", name)
		}
	}
	return nil
}

// noDirectory takes no argument, and knows what one was meant to be.
func noDirectory(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q is one argument too many; a config directory is named with --datadir", args[0])
	}
	return nil
}

// numberSyntax is how the flag package ends its words about a number.
var numberSyntax = regexp.MustCompile(`flag: (strconv\.|time: ).*$`)

func plainFlagError(_ *cobra.Command, err error) error {
	return usagef("%s", numberSyntax.ReplaceAllString(err.Error(), "flag: that is not what it takes, see --help"))
}

func newRoot(in Invocation) *cobra.Command {
	root := &cobra.Command{
		Use:   "svc",
		Short: "Feature flags and configuration that live as JSON files in git",
		Long: `svc serves feature flags and configuration that live as JSON files in git.

To begin, in the directory of an application:

  svc init      lay out a config directory, ./our-config
  svc serve     serve it to browser clients on http://127.0.0.1:6580
  svc verify    check it, before a commit or in CI

To change flags over HTTP, with keys, permissions and history:

  svc api       run the control plane over a git repository on disk`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(plainFlagError)
	root.SetVersionTemplate("svc {{.Version}}\n")
	root.AddCommand(newServe(in), newVerify(in), newInit(in), newSchema(in),
		newAPI(in), newKey(in), newPrincipal(in), newExport(in))
	return root
}

// display is a path as it is easiest to read and click: relative to the
// working directory when it lies inside.
func (in Invocation) display(path string) string {
	relative, err := filepath.Rel(in.Workdir, path)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return path
	}
	return relative
}
