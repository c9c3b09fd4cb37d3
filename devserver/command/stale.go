package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/inventory"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// staleDays is how far back svc stale looks where nobody says otherwise, and
// maxStaleDays the most: counts are kept for 60 days.
const (
	staleDays    = 30
	maxStaleDays = 59
)

func newStale(in Invocation) *cobra.Command {
	var f sourceFlags
	var days int
	var asJSON bool
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
config directory, and tells the first two, whenever they were changed.`, keyVariable),
		Example: `  svc stale --url https://flags.acme.example/v1 --key-file ci.key
  svc stale --days 14 --json
  svc stale --datadir ./our-config`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > maxStaleDays {
				return cli.Usagef("--days must be a number from 1 to %d", maxStaleDays)
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
	flags.IntVar(&days, "days", staleDays, fmt.Sprintf("how many days back to look, 1 to %d", maxStaleDays))
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.StringVar(&f.datadir, "datadir", "", "config directory, in the place of a workspace")
	f.add(cmd)
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
	Type            document.Type   `json:"type"`
	Key             string          `json:"key"`
	Reasons         []staleReason   `json:"reasons"`
	Value           json.RawMessage `json:"value,omitempty"` // that everybody is served; absent for a secret
	LastModified    string          `json:"lastModified,omitempty"`
	LastEvaluatedAt string          `json:"lastEvaluatedAt,omitempty"` // to the day
}

// staleReason is why an item is stale: a code that does not change, and words.
type staleReason struct {
	Code    string `json:"code"` // ready_for_cleanup, one_value or not_evaluated
	Message string `json:"message"`
}

// itemUse is what a workspace tells of a flag or config beside its document.
type itemUse struct {
	Key             string
	LastModified    struct{ Date string }
	LastEvaluatedAt string
}

// staleView is what items are judged by.
type staleView struct {
	environments []string
	days         int
	today        time.Time
	since        string             // the first day of counts; "" for none
	uses         map[string]itemUse // by key
	recent       int                // items that would be stale, had they not been changed
}

func (in Invocation) stale(cmd *cobra.Command, f sourceFlags, days int) (*staleList, []string, error) {
	v := staleView{days: days, today: time.Now().UTC().Truncate(24 * time.Hour), uses: map[string]itemUse{}}
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
		v.environments = ws.Active()
		for i := range ws.Items {
			list.add(v.judge(ws.Items[i].Read().View, ws.Items[i].Key))
		}
		list.sort()
		return list, []string{"a directory does not tell what was evaluated: --url asks a workspace"}, nil
	}
	api, err := in.remote(f.remoteFlags)
	if err != nil {
		return nil, nil, err
	}
	if err := v.read(cmd.Context(), api); err != nil {
		return nil, nil, err
	}
	err = api.Pages(cmd.Context(), "/export", url.Values{}, "documents", func(row json.RawMessage) error {
		var of struct {
			Key      string
			Document json.RawMessage
		}
		if json.Unmarshal(row, &of) != nil {
			return remote.NoAnswer("/export", "a document is none")
		}
		if tree, err := document.Parse(of.Document); err == nil {
			list.add(v.judge(document.View(tree), of.Key))
		}
		return nil
	})
	list.EvaluationsSince = v.since
	list.sort()
	return list, v.notes(), err
}

// read asks a workspace what is told of its items.
func (v *staleView) read(ctx context.Context, api *remote.Client) error {
	environments, err := api.Environments(ctx)
	if err != nil {
		return err
	}
	for _, e := range environments {
		v.environments = append(v.environments, e.Name)
	}
	var first struct{ EvaluationsSince string }
	if err := api.Read(ctx, "/flags", url.Values{"limit": {"1"}}, &first); err != nil {
		return err
	}
	v.since = first.EvaluationsSince
	for _, family := range []string{"flags", "configs"} {
		var rows []itemUse
		if err := api.List(ctx, "/"+family, nil, family, &rows); err != nil {
			return err
		}
		for _, row := range rows {
			v.uses[row.Key] = row
		}
	}
	return nil
}

// from is the first day that is looked at.
func (v *staleView) from() string { return v.today.AddDate(0, 0, -v.days).Format(time.DateOnly) }

// judge says why a document is stale; without reasons it is not.
func (v *staleView) judge(d *document.Document, key string) (item staleItem) {
	if d.Type != document.Flag && d.Type != document.Config {
		return item
	}
	use := v.uses[key]
	item = staleItem{Type: d.Type, Key: key, LastModified: use.LastModified.Date, LastEvaluatedAt: use.LastEvaluatedAt}
	because := func(code, format string, args ...any) {
		item.Reasons = append(item.Reasons, staleReason{code, fmt.Sprintf(format, args...)})
	}
	if d.ReadyForCleanup {
		because("ready_for_cleanup", "is marked as ready for cleanup")
	}
	marked := len(item.Reasons)
	if one, is := d.ServesOne(v.environments); is && d.Type == document.Flag {
		shown := "a secret"
		if !one.Secret() {
			item.Value = one.Served().Compact()
			shown = terminal.Cut(string(item.Value), 40)
		}
		because("one_value", "serves %s to everybody", shown)
	}
	switch last := item.LastEvaluatedAt[:min(len(item.LastEvaluatedAt), len(time.DateOnly))]; {
	case v.since == "" || v.since > v.from() || last >= v.from():
	case last == "":
		because("not_evaluated", "was not evaluated since %s, when counting began", v.since)
	default:
		because("not_evaluated", "was not evaluated in the last %s", cli.Plural(v.days, "day"))
	}
	if len(item.Reasons) > marked && item.LastModified >= v.from() {
		v.recent++
		item.Reasons, item.Value = item.Reasons[:marked], nil
	}
	return item
}

// notes are what the list does not tell.
func (v *staleView) notes() (notes []string) {
	switch {
	case v.since == "":
		notes = append(notes, "what was not evaluated is not known: no application has reported evaluations yet")
	case v.since > v.from():
		notes = append(notes, fmt.Sprintf("what was not evaluated in %s is not known yet: evaluations are counted since %s", cli.Plural(v.days, "day"), v.since))
	}
	if v.recent > 0 {
		notes = append(notes, fmt.Sprintf("left out, as changed in the last %s: %s", cli.Plural(v.days, "day"), cli.Plural(v.recent, "item")))
	}
	return notes
}

func (l *staleList) add(item staleItem) {
	if len(item.Reasons) > 0 {
		l.Items = append(l.Items, item)
	}
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
			reasons = append(reasons, r.Message)
		}
		rows = append(rows, []string{item.Type.Noun(), terminal.Printable(item.Key), day(item.LastModified), day(item.LastEvaluatedAt), strings.Join(reasons, "; ")})
	}
	return rows
}
