package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	understood, check := false, root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		understood = true
		if err := refuseFlags(cmd); err != nil || check == nil {
			return err
		}
		return check(cmd, args)
	}
	cmd, err := unknownCommand(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	misused := err != nil && (!understood || errors.As(err, new(*usageError)))
	if unprinted := stdout.Flush(); unprinted != nil && (err == nil || misused) {
		err, misused = unprinted, false
	}
	switch {
	case err == nil:
		return 0
	case misused:
		fmt.Fprintf(stderr, "%s: %v\nRun %s --help for what it takes.\n", cmd.CommandPath(), err, cmd.CommandPath())
		return 2
	case errors.Is(err, ErrSaid):
		return 1
	case c.Explain != nil:
		err = c.Explain(err)
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
	return 1
}

// InOrder has the help of a command, and of those below it, show flags in the order in
// which they were added.
func InOrder(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().SortFlags = false
	for _, below := range cmd.Commands() {
		InOrder(below)
	}
	return cmd
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

// ErrSaid is a failure of which everything has been said already.
var ErrSaid = errors.New("failed")

// usageError is a command line whose parts do not go together.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// refuseFlags refuses a flag that is missing and has no default, and one that was given
// without a value, as happens when a script's variable is not set: it would mean the default.
func refuseFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
			err = Usagef("--%s is missing: %s", f.Name, f.Usage)
		}
	})
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			err = Usagef("--%s is empty; give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// wanted says what the flags of a type take.
var wanted = map[string]string{"int": "a whole number is needed", "float64": "a number is needed", "bool": "true or false is needed",
	"duration": "a time is a number and its unit, such as 12h or 30m"}

// plainFlagError leaves Go's own words out of an error about a flag. No flag of ours
// is a digit, so that one is a number in the wrong place.
func plainFlagError(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && strings.Trim(unknown.GetSpecifiedName(), "0123456789") == "" {
		return Usagef("-%s is taken for a flag; a value that begins with - comes last, after --: %s ... -- -%[1]s",
			unknown.GetSpecifiedShortnames(), cmd.CommandPath())
	}
	text := err.Error()
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		own := invalid.Unwrap().Error()
		text = strings.TrimSuffix(text, own) + cmp.Or(wanted[invalid.GetFlag().Value.Type()], own)
	}
	return Usagef("%s", text)
}
