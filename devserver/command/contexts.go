package command

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
)

func newContexts(in Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contexts",
		Short: "Find, export and delete contexts that applications reported",
		Long: `Find contexts that applications have reported, to target them by key. Only
contexts that have a key are saved. They are kept for some time after they were
last seen, or until you delete them.`,
	}
	cmd.AddCommand(newContextsSearch(in), newContextsExport(in), newContextsDelete(in))
	return cmd
}

func newContextsSearch(in Invocation) *cobra.Command {
	var f remoteFlags
	var environment string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "search <type> <query>",
		Short: "Find the key of a person, a team or a device by its name",
		Long: `Search the saved contexts of a type, such as user, over the REST API of a hosted
workspace or of svc api. The query is looked for in the key and in the text
properties, ignoring case; "" finds all. Those seen last come first. The search
covers the 20,000 contexts of the type and environment that were seen last.`,
		Example: `  svc contexts search user ada
  svc contexts search team "" --environment production --limit 100 --json`,
		Args: cli.Arguments(`a query of several words stands in quotes, and "" finds all`),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > 100 {
				return cli.Usagef("--limit must be a number from 1 to 100")
			}
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range map[string]string{"type": args[0], "query": args[1], "environment": environment} {
				if value != "" {
					query.Set(name, value)
				}
			}
			api, err := in.remote(f)
			if err != nil {
				return err
			}
			return in.searchContexts(cmd.Context(), api, query, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&environment, "environment", "", "only contexts seen in this environment")
	flags.IntVar(&limit, "limit", 20, "how many to show, 1 to 100")
	flags.BoolVar(&asJSON, "json", false, "print the API's answer")
	f.add(cmd)
	return cmd
}

// foundContext is a row of the API's answer.
type foundContext struct {
	Type        string  `json:"type"`
	Key         string  `json:"key"`
	Name        *string `json:"name"`
	Email       string  `json:"email,omitempty"`
	Environment string  `json:"environment"`
	LastSeenAt  string  `json:"lastSeenAt"`
}

func (in Invocation) searchContexts(ctx context.Context, api *remote.Client, query url.Values, asJSON bool) error {
	var answer struct {
		Contexts []foundContext `json:"contexts"`
	}
	if err := api.List(ctx, "/contexts", query, "contexts", &answer.Contexts); err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(in.Stdout, answer)
	}
	if len(answer.Contexts) == 0 {
		fmt.Fprintln(in.Stderr, "nothing found")
		return nil
	}
	rows := [][]string{{"TYPE", "KEY", "NAME", "EMAIL", "ENVIRONMENT", "LAST SEEN"}}
	for _, c := range answer.Contexts {
		name, email := "-", "-"
		if c.Name != nil {
			name = terminal.Printable(*c.Name)
		}
		if c.Email != "" {
			email = terminal.Printable(c.Email)
		}
		rows = append(rows, []string{terminal.Printable(c.Type), terminal.Printable(c.Key), name, email, terminal.Printable(c.Environment), c.LastSeenAt})
	}
	return cli.Table(in.Stdout, rows)
}
