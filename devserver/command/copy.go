package command

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/terminal"
)

// operation is one of a change set that is about several items.
type operation struct {
	Op          string          `json:"op"`
	From        string          `json:"from,omitempty"`
	To          string          `json:"to,omitempty"`
	Environment string          `json:"environment,omitempty"`
	Keys        []string        `json:"keys,omitempty"`
	Tag         string          `json:"tag,omitempty"`
	Serve       json.RawMessage `json:"serve,omitempty"`
	Type        document.Type   `json:"type,omitempty"`
	Key         string          `json:"key,omitempty"`
	CommitSHA   string          `json:"commitSha,omitempty"`
	Mode        string          `json:"mode,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`

	ExpectedCommitSHA string `json:"expectedCommitSha,omitempty"`
}

// named refuses an operation that does not name its items, or twice.
func (o operation) named(done string) error {
	if (o.Tag == "") == (len(o.Keys) == 0) {
		return cli.Usagef("name either keys or, with --tag, a tag of what is %s", done)
	}
	return nil
}

func newCopy(in Invocation) *cobra.Command {
	var f remoteFlags
	var tag, message, guard string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "copy <from> <to> [key]...",
		Short: "Copy rules from one environment to another",
		Long: `Copy the rules of one environment to another, for the flags, configs and log levels
that you name or that have a tag, as one commit or not at all, and print what
changes. Whatever inherits the default rules in the one inherits them in the other.`,
		Example: `  svc copy staging production --tag checkout --dry-run
  svc copy staging production new-checkout api.timeout --message "Launch"`,
		Args: cli.Arguments("environments are those of the workspace, such as staging and production"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := operation{Op: "copy", From: args[0], To: args[1], Keys: args[2:], Tag: tag}
			if err := o.named("copied"); err != nil {
				return err
			}
			api, err := in.remote(f)
			if err != nil {
				return err
			}
			return in.carryOut(cmd, api, o, "copied", message, guard, dryRun)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tag, "tag", "", "copy what has this tag")
	flags.StringVarP(&message, "message", "m", "", "what the commit's message begins with, such as why")
	flags.StringVar(&guard, "guard", "", guardUsage)
	flags.BoolVar(&dryRun, "dry-run", false, "only print what would change")
	f.add(cmd)
	return cmd
}

const guardUsage = "service account that may take the commit back without approval, by name or id"

// carryOut carries an operation out as one commit, and prints what it changes.
func (in Invocation) carryOut(cmd *cobra.Command, api *remote.Client, o operation, done, message, guard string, dryRun bool) error {
	body, err := changeSet(message, guard, o)
	if err != nil {
		return err
	}
	answer, err := api.Change(cmd.Context(), remote.ChangeSet{Body: body, DryRun: dryRun, Repeatable: o.ExpectedCommitSHA != ""})
	if errors.As(err, new(*remote.Unknown)) {
		return fmt.Errorf("%w\nthe same with --dry-run tells: where it would change nothing, it was done", err)
	}
	if err != nil {
		return fmt.Errorf("nothing %s: %w", done, err)
	}
	changed := in.sayResults(answer)
	for _, w := range answer.Warnings {
		fmt.Fprintf(in.Stderr, "warning: %s\n", terminal.Escape(w.Message))
	}
	if api.Files && changed > 0 && !dryRun {
		fmt.Fprintf(in.Stderr, "%s changed in the files\n", cli.Plural(changed, "item"))
		return nil
	}
	in.sayChanged(changed, terminal.Escape(answer.CommitSHA), dryRun)
	return nil
}

// changeSet is the body of one of a single operation.
func changeSet(message, guard string, o operation) ([]byte, error) {
	return json.Marshal(struct {
		Message    string      `json:"message,omitempty"`
		Guard      string      `json:"guard,omitempty"`
		Operations []operation `json:"operations"`
	}{message, guard, []operation{o}})
}

// sayResults prints what came of a change set in words, and tells how many items it changes.
func (in Invocation) sayResults(answer *remote.Changed) (changed int) {
	for _, r := range answer.Results {
		for _, m := range r.Messages {
			fmt.Fprintf(in.Stdout, "%s %s: %s\n", terminal.Escape(r.Type.Noun()), terminal.Quote(r.Key), terminal.Escape(m.Message))
		}
		if r.Changed {
			changed++
		}
	}
	return changed
}

// sayChanged ends what a change set is told with.
func (in Invocation) sayChanged(items int, commit string, dryRun bool) {
	switch {
	case items == 0:
		fmt.Fprintln(in.Stderr, "nothing to change: the workspace says the same already")
	case dryRun:
		fmt.Fprintf(in.Stderr, "dry run: %s would be changed by one commit\n", cli.Plural(items, "item"))
	default:
		fmt.Fprintf(in.Stderr, "%s changed by the commit %s\n", cli.Plural(items, "item"), commit)
	}
}
