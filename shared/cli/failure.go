package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc.example/svc/shared/terminal"
)

// Main runs a command line, says what went wrong, if anything did, and returns
// the exit status. The caller that the commands are made for has writers that escape
// all that is printed; what could not be printed is a failure.
func Main(ctx context.Context, args []string, c Caller, newRoot func(c *Caller) *cobra.Command) int {
	writer := terminal.NewWriter
	if c.Getenv != nil && c.Getenv("GITHUB_ACTIONS") == "true" {
		writer = terminal.NewWriterInActions
	}
	stdout, stderr := writer(c.Stdout), writer(c.Stderr)
	defer stderr.Flush() // there is nowhere left to say it
	c.Stdout, c.Stderr = stdout, stderr
	if c.Person == nil {
		c.Person = Terminal
	}
	root := newRoot(&c)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(plainFlagError)
	cmd, err := unknownCommand(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	var failed *failure
	if unprinted := stdout.Flush(); unprinted != nil && !errors.As(err, &failed) {
		err = &failure{unprinted}
	}
	if err == nil {
		return 0
	}
	if errors.As(err, &failed) {
		if failed.err != nil {
			fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), failed.err)
		}
		return 1
	}
	fmt.Fprintf(stderr, "%s: %v\nRun %s --help for what it takes.\n", cmd.CommandPath(), err, cmd.CommandPath())
	return 2
}

// unknownCommand finds a word where a command belongs. cobra does so below the
// root alone: elsewhere it prints the help, as if that had been asked for.
func unknownCommand(root *cobra.Command, args []string) (*cobra.Command, error) {
	group, rest, err := root.Find(args)
	if err != nil || group == root || group.Runnable() || !group.HasSubCommands() {
		return root, nil
	}
	_ = group.ParseFlags(rest) // a flag of the command that was meant is not known here
	words := group.Flags().Args()
	if len(words) == 0 {
		return group, nil
	}
	meant := ""
	if group.SuggestionsMinimumDistance = 2; len(group.SuggestionsFor(words[0])) > 0 {
		meant = "; did you mean " + strings.Join(group.SuggestionsFor(words[0]), " or ") + "?"
	}
	return group, Usagef("unknown command %q for %q%s", words[0], group.CommandPath(), meant)
}

// failure is an error of the work itself, as opposed to one of the command
// line. Without an inner error everything has been said already.
type failure struct{ err error }

func (f *failure) Error() string { return "failed" }

// ErrSaid is a failure of which everything has been said already.
var ErrSaid error = &failure{}

// Run makes a command's function of work that reports failures plainly.
func Run(work func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		var failed *failure
		var usage *usageError
		if err == nil || errors.As(err, &failed) || errors.As(err, &usage) {
			return err
		}
		return &failure{err}
	}
}

// Explain has the errors of a command's work, and of those below it, put into
// words that its user can act on.
func Explain(cmd *cobra.Command, words func(error) error) {
	for _, below := range cmd.Commands() {
		Explain(below, words)
	}
	work := cmd.RunE
	if work == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		if failed := (*failure)(nil); errors.As(err, &failed) && failed.err != nil {
			return &failure{words(failed.err)}
		}
		return err
	}
}

// usageError is a command line whose parts do not go together.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// RefuseEmpty refuses flags that were given without a value, as happens when
// a script's variable is not set: it would mean the default.
func RefuseEmpty(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return Usagef("--%s is empty; give it a value, or leave it out", name)
		}
	}
	return nil
}

// syntax is how the flag package ends its words about a value it cannot read.
var syntax = regexp.MustCompile(`flag: (strconv\.Parse\w+|time): .*$`)

// wanted says what the flags of a kind take.
var wanted = map[string]string{
	"strconv.ParseInt": "a whole number is needed", "strconv.ParseFloat": "a number is needed",
	"strconv.ParseBool": "true or false is needed",
}

// plainFlagError leaves Go's own words out of an error about a flag. No flag of ours
// is a digit, so that one is a number in the wrong place.
func plainFlagError(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && strings.Trim(unknown.GetSpecifiedName(), "0123456789") == "" {
		return Usagef("-%s is taken for a flag; a value that begins with - comes last, after --: %s ... -- -%[1]s",
			unknown.GetSpecifiedShortnames(), cmd.CommandPath())
	}
	return Usagef("%s", syntax.ReplaceAllStringFunc(err.Error(), func(words string) string {
		what, known := wanted[syntax.FindStringSubmatch(words)[1]]
		if !known {
			what = "that is not what it takes, see --help"
		}
		return "flag: " + what
	}))
}
