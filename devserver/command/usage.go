package command

import (
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/telemetry"
)

func newUsage(in Invocation) *cobra.Command {
	var data, month string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Count the distinct context keys of a month (MTK)",
		Long: `Count the distinct context keys that applications reported in a month: each pair
of context type and key once, however often and from whichever environment it
was reported. Contexts without a key do not count. Of more than 10,000 new keys in
an hour the rest is not counted, nor are the keys of more than 50 new types; how
often these came is told, and there are at most so many more. It works while
svc api serves the data directory.`,
		Example: `  svc usage
  svc usage --month 2026-11 --json`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := telemetry.MonthOf(time.Now())
			if cmd.Flags().Changed("month") {
				var err error
				if m, err = telemetry.ParseMonth(month); err != nil {
					return cli.Usagef("--month: %v", err)
				}
			}
			usage, err := embedded.Usage(cmd.Context(), in.Absolute(data), m)
			if err != nil {
				return in.noWorkspace(err, data)
			}
			if asJSON {
				return cli.JSON(in.Stdout, usage)
			}
			return cli.Table(in.Stdout, cli.UsageRows(usage))
		},
	}
	flags := cmd.Flags()
	dataFlag(cmd, &data)
	flags.StringVar(&month, "month", "", "month in UTC, like 2026-11 (default the current one)")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
