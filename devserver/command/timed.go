package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/terminal"
)

func newSchedule(in Invocation) *cobra.Command {
	var at string
	var replace bool
	cmd := &cobra.Command{
		Use:   "schedule <environment> <key> <value>",
		Short: "Have a flag or config serve a value from a time on",
		Long: `Have a flag or config serve everybody a value in an environment from a time on, for
whom no rule of its targeting holds. The value is of the item's type: true, 3, blue, PT5M,
'["a", "b"]', '{"limit": 10}'. The change stands in the document as a rule on the current
time, which every client evaluates by its own clock. At the same time another one replaces it;
svc unschedule takes it away.`,
		Example: `  svc schedule production new-checkout true --at 2036-12-01T09:00:00Z
  svc schedule production api.timeout PT1M --at 2036-12-01T09:00:00+01:00 --dry-run`,
	}
	in.writesTo(cmd, "scheduled", true, func(ctx context.Context, api *remote.Client, args []string) (operation, error) {
		it, err := find(ctx, api, args[1])
		if err != nil {
			return operation{}, err
		}
		value, err := overrides.ParseValue(it.ValueType, args[2])
		if err != nil {
			return operation{}, cli.Usagef("the value of %s: %v", terminal.Quote(args[1]), err)
		}
		body := map[string]any{"value": value, "at": at}
		if replace {
			body["replaceTargeting"] = true
		}
		return patching(it.Type, args, body)
	})
	cmd.Flags().StringVar(&at, "at", "", "when, as RFC 3339 with its zone")
	cmd.Flags().BoolVar(&replace, "replace-targeting", false, "for everybody, whatever the targeting says")
	_ = cmd.MarkFlagRequired("at") // which is there
	return cmd
}

func newUnschedule(in Invocation) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:     "unschedule <environment> <key>",
		Short:   "Take away what is scheduled for a time",
		Long:    "Take away the change of a flag or config that is scheduled for a time in an environment.",
		Example: `  svc unschedule production new-checkout --at 2036-12-01T09:00:00Z`,
	}
	in.writesTo(cmd, "unscheduled", true, func(ctx context.Context, api *remote.Client, args []string) (operation, error) {
		it, err := find(ctx, api, args[1])
		if err != nil {
			return operation{}, err
		}
		return patching(it.Type, args, map[string]any{"unschedule": at})
	})
	cmd.Flags().StringVar(&at, "at", "", "the time, as RFC 3339 with its zone")
	_ = cmd.MarkFlagRequired("at") // which is there
	return cmd
}

func newRollout(in Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Have a flag reach more and more people by itself",
		Long: `Have a flag reach more and more people by itself, hold that at a step, go on, and take it
back by a step. A rollout plan stands in the document as rules on the current time, which
every client evaluates by its own clock, offline too; nobody who is in goes out while it grows.`,
	}
	cmd.AddCommand(newRolloutStart(in), controlling(in, "hold", "Stay at the step that holds", ""),
		controlling(in, "resume", "Go on, with the steps that are left", "The steps that are left are later by the time that the plan was held."),
		controlling(in, "back", "Go back to the step before, and stay there", "svc rollout resume goes on from there."))
	return cmd
}

func newRolloutStart(in Invocation) *cobra.Command {
	var to, from, by, steps string
	var replace bool
	cmd := &cobra.Command{
		Use:   "start <environment> <key>",
		Short: "Make a rollout plan",
		Long: `Make a rollout plan of 1 to 20 steps, in the place of one that stands. A step is a percentage
and its time as RFC 3339, such as 10%@2036-12-01T09:00:00Z; only the first may leave the time
out, to begin at once. A write without a time ends the plan.`,
		Example: `  svc rollout start production new-checkout --steps 1%,10%@2036-12-01T09:00:00Z,100%@2036-12-02T09:00:00Z
  svc rollout start production plans --to b --from a --by user.company --steps 50%@2036-12-01T09:00:00Z --dry-run`,
	}
	in.writesTo(cmd, "rolled out", true, func(ctx context.Context, api *remote.Client, args []string) (operation, error) {
		list, err := parseSteps(steps)
		if err != nil {
			return operation{}, err
		}
		it, err := find(ctx, api, args[1])
		if err != nil {
			return operation{}, err
		}
		plan := map[string]any{"steps": list}
		for name, text := range map[string]string{"value": to, "from": from} {
			if name == "from" && !cmd.Flags().Changed(name) {
				continue
			}
			value, err := overrides.ParseValue(it.ValueType, text)
			if err != nil {
				return operation{}, cli.Usagef("the %s of %s: %v", name, terminal.Quote(args[1]), err)
			}
			plan[name] = value
		}
		if by != "" {
			plan["hashByPropertyName"] = by
		}
		body := map[string]any{"rolloutPlan": plan}
		if replace {
			body["replaceTargeting"] = true
		}
		return patching(it.Type, args, body)
	})
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "true", "what those get who are in")
	flags.StringVar(&from, "from", "", "what the others get (default what everybody gets now)")
	flags.StringVar(&by, "by", "", "property by which people are told apart (default that of the last rollout here, then user.key)")
	flags.StringVar(&steps, "steps", "", "the steps, separated by commas")
	flags.BoolVar(&replace, "replace-targeting", false, "for everybody, whatever the targeting says")
	_ = cmd.MarkFlagRequired("steps") // which is there
	return cmd
}

// step is one of a rollout plan, as the API has it.
type step struct {
	At      string      `json:"at,omitempty"`
	Percent json.Number `json:"percent"`
}

// parseSteps reads what --steps says. What the API says of it is left to that.
func parseSteps(text string) (list []step, err error) {
	for _, one := range strings.Split(text, ",") {
		share, at, timed := strings.Cut(strings.TrimSpace(one), "@")
		percent := strings.TrimSuffix(share, "%")
		if !json.Valid([]byte(percent)) || strings.Trim(percent, "0123456789.") != "" || timed && at == "" {
			return nil, cli.Usagef("--steps: %s is no step; one is a percentage and its time, such as 10%%@2036-12-01T09:00:00Z", terminal.Quote(one))
		}
		list = append(list, step{at, json.Number(percent)})
	}
	return list, nil
}

// controlling does something with the rollout plan that stands.
func controlling(in Invocation, do, short, more string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     do + " <environment> <key>",
		Short:   short,
		Long:    strings.TrimSpace(short + ", of a flag's rollout plan in an environment. " + more),
		Example: "  svc rollout " + do + " production new-checkout",
	}
	in.writesTo(cmd, "changed", do == "resume", func(ctx context.Context, api *remote.Client, args []string) (operation, error) {
		it, err := find(ctx, api, args[1])
		if err != nil {
			return operation{}, err
		}
		o, err := patching(it.Type, args, map[string]any{"rolloutPlan": map[string]string{"do": do}})
		o.ExpectedCommitSHA = it.CommitSHA // so that nobody goes back two steps for one
		return o, err
	})
	return cmd
}

// changeable is as much of a flag or a config as a command has to know that changes it.
type changeable struct {
	Type      document.Type `json:"-"`
	ValueType document.ValueType
	CommitSHA string
}

// find finds a flag or a config, by its key.
func find(ctx context.Context, api *remote.Client, key string) (it changeable, err error) {
	err = api.Read(ctx, "/flags/"+url.PathEscape(key), nil, &it)
	absent := func() bool {
		refused := (*remote.Refusal)(nil)
		return errors.As(err, &refused) && refused.Status == http.StatusNotFound
	}
	it.Type = document.Flag
	if absent() {
		it.Type = document.Config
		if err = api.Read(ctx, "/configs/"+url.PathEscape(key), nil, &it); absent() {
			return it, fmt.Errorf("there is no flag and no config %s; svc ls lists them", terminal.Quote(key))
		}
	}
	if err == nil && (it.ValueType == "" || it.CommitSHA == "") {
		err = remote.NoAnswer("/flags", "it is not the JSON that was asked for")
	}
	return it, err
}

// patching is the operation of a PATCH. Of its arguments the first is the environment, and
// the second the key.
func patching(t document.Type, args []string, body any) (o operation, err error) {
	o = operation{Op: "patch", Environment: args[0], Type: t, Key: args[1]}
	o.Body, err = json.Marshal(body)
	return o, err
}

// writesTo has a command carry out an operation, and gives it the flags of what writes: of a
// guard too, where it does more than stop something.
func (in Invocation) writesTo(cmd *cobra.Command, done string, guarded bool, make func(context.Context, *remote.Client, []string) (operation, error)) {
	var f sourceFlags
	var message, guard string
	var dryRun bool
	cmd.Args = cli.Arguments("an environment is one of the workspace, such as production")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		api, err := in.writable(f)
		if err != nil {
			return err
		}
		o, err := make(cmd.Context(), api, args)
		if err != nil {
			return err
		}
		return in.carryOut(cmd, api, o, done, message, guard, dryRun)
	}
	flags := cmd.Flags()
	if guarded {
		flags.StringVar(&guard, "guard", "", guardUsage)
	}
	flags.StringVarP(&message, "message", "m", "", "what the commit's message begins with, such as why")
	flags.BoolVar(&dryRun, "dry-run", false, "only print what would change")
	f.addWritable(cmd)
}
