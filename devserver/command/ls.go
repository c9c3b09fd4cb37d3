package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/inventory"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/terminal"
)

func newList(in Invocation) *cobra.Command {
	var f evaluationFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List flags, configs, log levels and segments",
		Long: `List flags, configs, log levels and segments with their type, and Boolean flags with
their status in each environment: pre_rollout (off), rollout, live (on for all) or
ready_for_cleanup. With --context, also the value that each flag and config serves
to that context in --environment; with what svc override has set on this machine,
unless you add --no-overrides.

It reads a config directory or, with --url, the workspace of an API (which needs a
key).`,
		Example: `  svc ls
  svc ls --context user.key=u-1,user.plan=pro --environment production
  svc ls --url https://flags.acme.example/v1 --key-file ci.key --json`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(in); err != nil {
				return err
			}
			list, err := in.list(cmd, f)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.JSON(in.Stdout, list)
			}
			return cli.Table(in.Stdout, list.rows())
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listing is the answer of svc ls --json.
type listing struct {
	Environments []string     `json:"environments"` // without archived ones
	Items        []listedItem `json:"items"`        // by type and key

	evaluated string // the environment of the values; "" for none
}

type listedItem struct {
	Type      document.Type      `json:"type"`
	Key       string             `json:"key"`
	ValueType document.ValueType `json:"valueType"`
	// Statuses are by environment, of bool flags.
	Statuses map[string]document.Lifecycle `json:"statuses,omitempty"`
	// Evaluation is there with a context, of flags and configs.
	Evaluation *explanation.Evaluation `json:"evaluation,omitempty"`
}

func (in Invocation) list(cmd *cobra.Command, f evaluationFlags) (list *listing, err error) {
	var found *inventory.Listing
	if f.remote() {
		api, err := in.remote(f.remoteFlags)
		if err != nil {
			return nil, err
		}
		if found, err = inventory.OfWorkspace(cmd.Context(), api); err != nil {
			return nil, err
		}
	} else {
		path, err := in.discover(f.datadir)
		if err != nil {
			return nil, err
		}
		ws, err := in.directory(path, f.environment)
		if err != nil {
			return nil, err
		}
		found = inventory.OfDirectory(ws)
	}
	list = &listing{Environments: []string{}, Items: []listedItem{}}
	for _, e := range found.Environments {
		list.Environments = append(list.Environments, e.Name)
	}
	for _, item := range found.Items {
		list.Items = append(list.Items, listedItem{Type: item.Type, Key: item.Key, ValueType: item.ValueType, Statuses: item.Statuses})
	}
	if len(f.contexts) == 0 && f.contextFile == "" {
		return list, nil
	}
	text, err := in.evaluate(cmd, f, evaluationRequest{})
	if err != nil {
		return nil, err
	}
	var answer explanation.Evaluations
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("this is not an answer of the API: %w", err)
	}
	list.evaluated = answer.Environment
	for i := range list.Items {
		if item := &list.Items[i]; item.Type == document.Flag || item.Type == document.Config {
			item.Evaluation = answer.Evaluations[item.Key]
		}
	}
	return list, nil
}

// rows are the list as a table, with a header.
func (l *listing) rows() [][]string {
	header := []string{"TYPE", "KEY", "VALUE TYPE"}
	if l.evaluated != "" {
		header = append(header, "VALUE")
	}
	for _, e := range l.Environments {
		header = append(header, strings.ToUpper(e))
	}
	rows := [][]string{header}
	for _, item := range l.Items {
		row := []string{item.Type.Noun(), item.Key, string(item.ValueType)}
		if l.evaluated != "" {
			row = append(row, item.value())
		}
		for _, e := range l.Environments {
			row = append(row, cmp.Or(string(item.Statuses[e]), "-"))
		}
		rows = append(rows, row)
	}
	return rows
}

// value is what an item serves, in a column.
func (i listedItem) value() string {
	const wide = 40
	switch e := i.Evaluation; {
	case e == nil || e.RuleSource == nil:
		return "-"
	case e.Confidential:
		return "(confidential)"
	default:
		return terminal.Cut(string(e.Value), wide)
	}
}
