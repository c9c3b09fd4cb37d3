package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

func newList(in Invocation) *cobra.Command {
	var f evaluationFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List flags, configs, log levels and segments",
		Long: `List flags, configs, log levels and segments with their type, and bool flags with
their status in each environment: pre_rollout (off), rollout, live (on for all) or
ready_for_cleanup. With --context, also the value that each flag and config serves
to that context in --environment.

It reads a config directory or, with --url, the workspace of an API (which needs a
key).`,
		Example: `  svc ls
  svc ls --context user.key=u-1,user.plan=pro --environment production
  svc ls --url https://flags.acme.example/v1 --key-file ci.key --json`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: cli.Run(func(cmd *cobra.Command, _ []string) error {
			remote, err := f.read(cmd, in)
			if err != nil {
				return err
			}
			list, err := in.list(cmd, f, remote)
			if err != nil {
				return err
			}
			if asJSON {
				return in.printJSON(list)
			}
			return cli.Table(in.Stdout, list.rows())
		}),
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

func (in Invocation) list(cmd *cobra.Command, f evaluationFlags, remote bool) (list *listing, err error) {
	if remote {
		api, err := in.remote(cmd, f.remoteFlags)
		if err != nil {
			return nil, err
		}
		if list, err = listRemote(cmd.Context(), api); err != nil {
			return nil, err
		}
	} else {
		ws, err := in.directory(f)
		if err != nil {
			return nil, err
		}
		list = listDirectory(ws)
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

// listDirectory decodes one document at a time.
func listDirectory(ws *workspace.Workspace) *listing {
	list := &listing{Environments: ws.Active(), Items: []listedItem{}}
	var active []document.Active
	for _, e := range ws.Environments {
		if !e.Archived {
			active = append(active, document.Active{Name: e.Name, Production: e.Type == "production"})
		}
	}
	for i := range ws.Items {
		read := ws.Items[i].Read()
		item := listedItem{Type: read.View.Type, Key: read.Key, ValueType: read.View.ValueType}
		if item.Type == document.Flag {
			_, item.Statuses = document.Statuses(read.View, active)
		}
		list.Items = append(list.Items, item)
	}
	list.sort()
	return list
}

func listRemote(ctx context.Context, api *remote.Client) (*listing, error) {
	list := &listing{Environments: []string{}, Items: []listedItem{}}
	var environments []struct{ Name string }
	if err := api.List(ctx, "/environments", nil, "environments", &environments); err != nil {
		return nil, err
	}
	for _, e := range environments {
		list.Environments = append(list.Environments, e.Name)
	}
	for _, of := range []struct {
		path, member string
		kind         document.Type
		valueType    document.ValueType
	}{
		{"/flags", "flags", document.Flag, ""},
		{"/configs", "configs", document.Config, ""},
		{"/log-levels", "logLevels", document.LogLevel, document.LogLevelValue},
		{"/segments", "segments", document.Segment, document.BoolValue},
	} {
		var rows []struct {
			Key                 string
			ValueType           document.ValueType
			EnvironmentStatuses map[string]document.Lifecycle
		}
		if err := api.List(ctx, of.path, nil, of.member, &rows); err != nil {
			return nil, err
		}
		for _, row := range rows {
			item := listedItem{Type: of.kind, Key: row.Key, ValueType: row.ValueType, Statuses: row.EnvironmentStatuses}
			if of.valueType != "" {
				item.ValueType = of.valueType
			}
			list.Items = append(list.Items, item)
		}
	}
	list.sort()
	return list, nil
}

// typeOrder is the order of an overview: what changes most often first.
var typeOrder = []document.Type{document.Flag, document.Config, document.LogLevel, document.Segment}

func (l *listing) sort() {
	slices.SortStableFunc(l.Items, func(a, b listedItem) int {
		if a.Type != b.Type {
			return slices.Index(typeOrder, a.Type) - slices.Index(typeOrder, b.Type)
		}
		return strings.Compare(a.Key, b.Key)
	})
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
			status := string(item.Statuses[e])
			if status == "" {
				status = "-"
			}
			row = append(row, status)
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
