package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/inventory"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// staleDays is how far back svc stale looks where nobody says otherwise.
const staleDays = 30

func newStale(in Invocation) *cobra.Command {
	var f sourceFlags
	var days int
	var asJSON, fix, dryRun bool
	cmd := &cobra.Command{
		Use:   "stale",
		Short: "List flags and configs that could be cleaned up, and why",
		Long: fmt.Sprintf(`List what could be cleaned up, and why:

  - flags and configs that are marked ready for cleanup (readyForCleanup)
  - flags that serve everybody the same value, in all environments
  - flags and configs that no application has evaluated in --days days

The last two leave out anything that changed within --days days. What was evaluated
is known from the telemetry of applications, so this looks at the workspace of an API:
with --url, --key-file or the environment variable %s. With --datadir it reads a
config directory, and tells the first two, whenever they were changed.

With --fix it lists nothing, and folds: what was scheduled, and the steps of rollout
plans, whose time has been over for a day become what the environments serve by
themselves. Nobody is served anything else by it. In the files of a directory nothing else
changes by a byte.`, keyVariable),
		Example: `  svc stale --url https://flags.acme.example/v1 --key-file ci.key
  svc stale --days 14 --json
  svc stale --fix --dry-run
  svc stale --datadir ./our-config`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > project.MaxStaleDays {
				return cli.Usagef("--days must be a number from 1 to %d", project.MaxStaleDays)
			}
			if dryRun && !fix {
				return cli.Usagef("--dry-run is of --fix: without it nothing is written")
			}
			if fix {
				api, err := in.writable(f)
				if err != nil {
					return err
				}
				return in.carryOut(cmd, api, operation{Op: "fold"}, "folded", "", "", dryRun)
			}
			list, notes, err := in.stale(cmd, f, days)
			if err != nil {
				return err
			}
			for _, note := range notes {
				fmt.Fprintln(in.Stderr, note)
			}
			if asJSON {
				return cli.JSON(in.Stdout, list)
			}
			if len(list.Items) == 0 {
				fmt.Fprintln(in.Stderr, "nothing is stale")
				return nil
			}
			return cli.Table(in.Stdout, list.rows())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&days, "days", staleDays, fmt.Sprintf("how many days back to look, 1 to %d", project.MaxStaleDays))
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.BoolVar(&fix, "fix", false, "fold what was scheduled and has been over for a day")
	flags.BoolVar(&dryRun, "dry-run", false, "with --fix: only print what would change")
	f.addWritable(cmd)
	return cmd
}

// staleList is the answer of svc stale --json.
type staleList struct {
	Days int `json:"days"`
	// EvaluationsSince is the first day on which evaluations were counted; absent
	// where none were, or nothing is known of them.
	EvaluationsSince string      `json:"evaluationsSince,omitempty"`
	Items            []staleItem `json:"items"` // by type and key
}

type staleItem struct {
	Type            document.Type         `json:"type"`
	Key             string                `json:"key"`
	Reasons         []project.StaleReason `json:"reasons"`
	Value           json.RawMessage       `json:"value,omitempty"` // that everybody is served; absent for a secret and a long one
	LastModified    string                `json:"lastModified,omitempty"`
	LastEvaluatedAt string                `json:"lastEvaluatedAt,omitempty"` // to the day
}

func (in Invocation) stale(cmd *cobra.Command, f sourceFlags, days int) (*staleList, []string, error) {
	list := &staleList{Days: days, Items: []staleItem{}}
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	if f.datadir != "" {
		dir, err := in.discover(f.datadir)
		if err != nil {
			return nil, nil, err
		}
		ws, problems := workspace.ReadAndVerify(datadir.Look(dir).Files)
		if slices.ContainsFunc(problems, func(p workspace.Problem) bool { return p.Severity == workspace.Error }) {
			return nil, nil, fmt.Errorf("%s has errors; svc verify lists them", in.Display(dir))
		}
		by, active := project.Stale{Days: days, Today: time.Now()}, ws.WithStatus()
		for i := range ws.Items {
			list.judge(by, ws.Items[i].Read().View, active)
		}
		list.sort()
		return list, []string{"a directory does not tell what was evaluated: --url asks a workspace"}, nil
	}
	api, err := in.remote(f.remoteFlags)
	if err != nil {
		return nil, nil, err
	}
	recent := 0
	for _, t := range []document.Type{document.Flag, document.Config} {
		n, err := list.read(cmd.Context(), api, t)
		if recent += n; err != nil {
			return nil, nil, err
		}
	}
	list.sort()
	return list, list.notes(recent), nil
}

// judge adds a document of a directory that is stale.
func (l *staleList) judge(by project.Stale, d *document.Document, active []document.Active) {
	if d.Type != document.Flag && d.Type != document.Config {
		return
	}
	var everyone *project.ShortValue
	if one, is := project.ServingsOf(d).One(active); is && d.Type == document.Flag {
		everyone = &one
	}
	if reasons, _ := by.Why(d.ReadyForCleanup, everyone, "", ""); len(reasons) > 0 {
		l.add(staleItem{Type: d.Type, Key: d.Key, Reasons: reasons})
	}
}

// read adds what is stale in a workspace, and tells how many items more were changed lately.
func (l *staleList) read(ctx context.Context, api *remote.Client, t document.Type) (recent int, err error) {
	family := string(workspace.FolderOf(t))
	if t == document.Flag {
		family = "flags"
	}
	days := strconv.Itoa(l.Days)
	var list struct {
		EvaluationsSince string
		RecentlyChanged  int
	}
	if err := api.Read(ctx, "/"+family, url.Values{"stale": {days}, "limit": {"1"}}, &list); err != nil {
		return 0, err
	}
	l.EvaluationsSince = list.EvaluationsSince
	var rows []struct {
		Key             string
		Stale           []project.StaleReason
		LastModified    struct{ Date string }
		LastEvaluatedAt string
	}
	if err := api.List(ctx, "/"+family, url.Values{"stale": {days}}, family, &rows); err != nil {
		return 0, err
	}
	for _, row := range rows {
		if len(row.Stale) == 0 {
			return 0, remote.NoAnswer("/"+family, "it lists what is not stale, as a server of an older version does")
		}
		l.add(staleItem{Type: t, Key: row.Key, Reasons: row.Stale, LastModified: row.LastModified.Date, LastEvaluatedAt: row.LastEvaluatedAt})
	}
	return list.RecentlyChanged, nil
}

// notes are what the list does not tell.
func (l *staleList) notes(recent int) (notes []string) {
	from := project.Stale{Days: l.Days, Today: time.Now().UTC()}.From()
	switch {
	case l.EvaluationsSince == "":
		notes = append(notes, "what was not evaluated is not known: no application has reported evaluations yet")
	case l.EvaluationsSince > from:
		notes = append(notes, fmt.Sprintf("what was not evaluated in %s is not known yet: evaluations are counted since %s", cli.Plural(l.Days, "day"), l.EvaluationsSince))
	}
	if recent > 0 {
		notes = append(notes, fmt.Sprintf("left out, as changed in the last %s: %s", cli.Plural(l.Days, "day"), cli.Plural(recent, "item")))
	}
	return notes
}

func (l *staleList) add(item staleItem) {
	for _, reason := range item.Reasons {
		if reason.Value != nil {
			item.Value = reason.Value
		}
	}
	l.Items = append(l.Items, item)
}

func (l *staleList) sort() {
	slices.SortStableFunc(l.Items, func(a, b staleItem) int {
		return cmp.Or(slices.Index(inventory.Types, a.Type)-slices.Index(inventory.Types, b.Type), strings.Compare(a.Key, b.Key))
	})
}

// rows are the list as a table, with a header.
func (l *staleList) rows() [][]string {
	rows := [][]string{{"TYPE", "KEY", "LAST CHANGED", "LAST EVALUATED", "WHY"}}
	day := func(date string) string {
		if len(date) < len(time.DateOnly) {
			return "-"
		}
		return terminal.Printable(date[:len(time.DateOnly)])
	}
	for _, item := range l.Items {
		var reasons []string
		for _, r := range item.Reasons {
			reasons = append(reasons, terminal.Printable(r.Message))
		}
		rows = append(rows, []string{item.Type.Noun(), terminal.Printable(item.Key), day(item.LastModified), day(item.LastEvaluatedAt), strings.Join(reasons, "; ")})
	}
	return rows
}
