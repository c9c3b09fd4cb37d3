package command

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

func newOverride(in Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "override",
		Short: "Try another value of a flag or config, on this machine only",
		Long: `Try another value of a flag or config, on this machine only. svc serve on a
loopback address serves overrides in the place of what the config directory says,
as soon as they are set, and svc eval and svc ls go by them. The files stay as they
are, and nobody else gets any: svc api and hosted services know nothing of them.

They are kept in your state directory ($XDG_STATE_HOME, else the platform's), for
each config directory and environment.`,
	}
	cmd.AddCommand(newOverrideSet(in), newOverrideList(in), newOverrideClear(in))
	return cmd
}

// overrideFlags say which overrides are meant.
type overrideFlags struct{ datadir, environment string }

func (f *overrideFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.datadir, "datadir", "", datadirUsage)
	flags.StringVar(&f.environment, "environment", "", "environment that is overridden (default $SVC_ENVIRONMENT, then development)")
}

// open finds the overrides, and reads what they override. A document that is broken
// keeps nobody from overriding others.
func (f *overrideFlags) open(cmd *cobra.Command, in Invocation) (overrides.File, *workspace.Workspace, error) {
	path, err := in.discover(f.datadir)
	if err != nil {
		return overrides.File{}, nil, err
	}
	ws, _ := workspace.ReadServable(datadir.Look(path).Files, nil)
	file, err := overrides.Of(in.Getenv, path, in.environment(f.environment))
	if err == nil && ws.Declared {
		err = ws.CheckEnvironment(file.Environment)
	}
	return file, ws, err
}

// environment is the one that a flag names, else the usual one.
func (in Invocation) environment(flag string) string {
	return cmp.Or(flag, in.Getenv("SVC_ENVIRONMENT"), defaultEnvironment)
}

func newOverrideSet(in Invocation) *cobra.Command {
	var f overrideFlags
	var property string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "set <key> <value>",
		Short: "Have a flag or config serve another value on this machine",
		Long: `Have a flag or config serve another value on this machine. The value is of the
item's type: true, 3, blue, PT5M, '["a", "b"]', '{"limit": 10}'.

With --for, only contexts get it that have a property with that value; several such
overrides can stand beside each other, and go before one for everybody. Setting one
again replaces it.`,
		Example: `  svc override set new-checkout true
  svc override set new-checkout true --for user.key=u1 --ttl 8h
  svc override set api.timeout PT1M --environment staging`,
		Args: cli.Arguments("a value that begins with a dash stands behind --"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := overrides.Override{Key: args[0]}
			if property != "" {
				var err error
				if o.For, err = overrides.ParseProperty(property); err != nil {
					return cli.Usagef("--for %v", err)
				}
			}
			if cmd.Flags().Changed("ttl") {
				if ttl <= 0 {
					return cli.Usagef("--ttl %s: how long it holds, such as 8h or 30m", ttl)
				}
				o.Until = time.Now().Add(ttl).Round(0).UTC()
			}
			file, ws, err := f.open(cmd, in)
			if err != nil {
				return err
			}
			doc := overrides.Document(ws, o.Key)
			if doc != nil {
				if o.Value, err = overrides.ParseValue(doc.ValueType, args[1]); err != nil {
					return fmt.Errorf("%s: %w", terminal.Quote(o.Key), err)
				}
			}
			if problem := o.Problem(doc); doc == nil {
				return fmt.Errorf("%s: %s in %s; svc ls lists them", terminal.Quote(o.Key), problem, in.Display(file.Datadir))
			} else if problem != "" {
				return fmt.Errorf("%s cannot be overridden: %s", terminal.Quote(o.Key), problem)
			}
			if err := file.Set(cmd.Context(), o); err != nil {
				return err
			}
			fmt.Fprintf(in.Stdout, "%s is %s in %s for %s, %s, where svc serve serves %s on this machine\n",
				o.Key, terminal.Cut(string(o.Value.Compact()), 200), file.Environment, whom(o), until(o), in.Display(file.Datadir))
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&property, "for", "", "only contexts that have this property, such as user.key=u1 (default every context)")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "how long it holds, such as 8h or 30m (default until it is cleared)")
	return cmd
}

// whom says in words which contexts get an override.
func whom(o overrides.Override) string {
	if o.For == nil {
		return "everybody"
	}
	return o.For.String()
}

// until says in words when an override ends.
func until(o overrides.Override) string {
	if o.Until.IsZero() {
		return "until it is cleared"
	}
	return "until " + o.Until.Local().Format("2006-01-02 15:04:05")
}

// overrideList is the answer of svc override list --json.
type overrideList struct {
	Datadir     string             `json:"datadir"`
	Environment string             `json:"environment"`
	Overrides   []overrides.Listed `json:"overrides"`
}

func newOverrideList(in Invocation) *cobra.Command {
	var f overrideFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the overrides of a config directory and environment",
		Example: "  svc override list --environment staging",
		Args:    cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, ws, err := f.open(cmd, in)
			if err != nil {
				return err
			}
			all, err := file.Read()
			if err != nil {
				return err
			}
			list := overrideList{file.Datadir, file.Environment, overrides.List(ws, all, time.Now())}
			rows := [][]string{{"KEY", "VALUE", "FOR", "UNTIL"}}
			for _, o := range list.Overrides {
				value := "[redacted]"
				if o.Value != nil {
					value = terminal.Cut(string(o.Value.Compact()), 60)
				}
				if o.Problem != "" {
					fmt.Fprintln(in.Stderr, o.Warning())
				}
				rows = append(rows, []string{o.Key, value, whom(o.Override), strings.TrimPrefix(until(o.Override), "until ")})
			}
			switch {
			case asJSON:
				return cli.JSON(in.Stdout, list)
			case len(list.Overrides) == 0:
				fmt.Fprintf(in.Stderr, "nothing is overridden in %s\n", file.Environment)
				return nil
			}
			return cli.Table(in.Stdout, rows)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newOverrideClear(in Invocation) *cobra.Command {
	var f overrideFlags
	cmd := &cobra.Command{
		Use:   "clear [key]",
		Short: "Take the overrides of an item back, or all of them",
		Example: `  svc override clear new-checkout
  svc override clear`,
		Args: cli.Arguments("without a key, all overrides are taken back"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, _, err := f.open(cmd, in)
			if err != nil {
				return err
			}
			cleared := 0
			if len(args) == 0 {
				cleared, err = file.ClearAll(cmd.Context())
			} else if cleared, err = file.Clear(cmd.Context(), args[0]); err == nil && cleared == 0 {
				err = fmt.Errorf("%s is not overridden in %s; svc override list lists what is", terminal.Quote(args[0]), file.Environment)
			}
			if err == nil {
				fmt.Fprintf(in.Stdout, "%s taken back in %s\n", cli.Plural(cleared, "override"), file.Environment)
			}
			return err
		},
	}
	f.add(cmd)
	return cmd
}

// overridden is what the overrides of a directory come to.
func (in Invocation) overridden(ws *workspace.Workspace, path, environment string) *overrides.Applied {
	file, err := overrides.Of(in.Getenv, path, environment)
	if err != nil { // there is no place for any
		return &overrides.Applied{}
	}
	all, err := file.Read()
	if err != nil {
		fmt.Fprintf(in.Stderr, "warning: %v\n", err)
	}
	return overrides.Apply(ws, all, time.Now())
}
