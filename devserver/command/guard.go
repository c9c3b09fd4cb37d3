package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	watching "svc.example/svc/devserver/guard"
	"svc.example/svc/devserver/inventory"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/guard"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// guardFlags are the flags of svc guard.
type guardFlags struct {
	remoteFlags
	commit, key, environment string
	prometheus, query        string
	above, below             float64
	total, hold, every       time.Duration
	dryRun                   bool
}

func newGuard(in Invocation) *cobra.Command {
	var f guardFlags
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Watch Prometheus after a change, and take the change back",
		Long: `Watch an expression of Prometheus after a change, and take the change back when it
has been wrong for --hold. With --commit that is all that the commit changed; with --key
and --environment what the last change of this item there did to it.

Wrong is a value above --above, or below --below, of any series that the query finds;
without either any series at all, as in an alert. A Prometheus that does not answer is
told, and is no reason to take anything back. What others have changed again since is
never overwritten: that is told, and the change stands.

It needs the permission to edit. Where changes have to be approved, it is a service
account that the commit has named as its guard ("guard" in a write, or --guard).

The exit status is 0 if the time is over and the change stands, or was undone already; 1
if it was taken back, or could not be watched or taken back, as standard error says; 2 for
a command line that makes no sense.`,
		Example: `  svc guard --key new-checkout --environment production --prometheus http://127.0.0.1:9090 \
    --query 'sum(rate(http_errors_total[1m])) / sum(rate(http_requests_total[1m]))' --above 0.05
  svc guard --commit $COMMIT --prometheus http://127.0.0.1:9090 --query 'ALERTS{alertname="Checkout",alertstate="firing"}' --for 2h`,
		Args: cli.Arguments("what is watched is named with --commit, or with --key and --environment"),
		RunE: func(cmd *cobra.Command, _ []string) error { return in.guard(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.commit, "commit", "", "commit that is taken back, all of its 40 digits")
	flags.StringVar(&f.key, "key", "", "item whose last change is taken back, in the place of --commit")
	flags.StringVar(&f.environment, "environment", "", "environment of that change, or default")
	flags.StringVar(&f.prometheus, "prometheus", "", "address of Prometheus, such as http://127.0.0.1:9090")
	flags.StringVar(&f.query, "query", "", "expression that is watched (PromQL)")
	flags.Float64Var(&f.above, "above", 0, "a value above this is wrong")
	flags.Float64Var(&f.below, "below", 0, "a value below this is wrong")
	flags.DurationVar(&f.total, "for", 30*time.Minute, "how long to watch")
	flags.DurationVar(&f.hold, "hold", time.Minute, "how long it has to be wrong")
	flags.DurationVar(&f.every, "every", 15*time.Second, "how long to wait between two looks")
	flags.BoolVar(&f.dryRun, "dry-run", false, "watch, and only print what would be taken back")
	f.add(cmd)
	return cmd
}

var wholeCommit = regexp.MustCompile("^[0-9a-f]{40}$")

// check refuses what can be seen to be wrong.
func (f guardFlags) check() error {
	switch {
	case (f.commit == "") == (f.key == "") || (f.key == "") != (f.environment == ""):
		return cli.Usagef("name what is watched: either --commit, or --key and --environment")
	case f.commit != "" && !wholeCommit.MatchString(f.commit):
		return cli.Usagef("--commit is the whole SHA of a commit, 40 digits of 0-9 and a-f")
	case f.prometheus == "" || strings.TrimSpace(f.query) == "":
		return cli.Usagef("name --prometheus, its address, and --query, the expression that is watched")
	case math.IsNaN(f.above) || math.IsNaN(f.below):
		return cli.Usagef("--above and --below are numbers")
	case f.every < time.Second:
		return cli.Usagef("--every is at least 1s")
	case f.hold < 0 || f.total < f.hold:
		return cli.Usagef("--for is at least as long as --hold")
	}
	return nil
}

func (in Invocation) guard(cmd *cobra.Command, f guardFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	prometheus, err := watching.NewPrometheus(f.prometheus)
	if err != nil {
		return cli.Usagef("--prometheus: %v", err)
	}
	api, err := in.remote(f.remoteFlags)
	if err != nil {
		return err
	}
	o := operation{Op: "revert", CommitSHA: f.commit, Mode: "undo"}
	if f.key != "" {
		if o, err = lastChange(cmd.Context(), api, f.key, f.environment); err != nil {
			return err
		}
	}
	if there, err := in.toUndo(cmd.Context(), api, o); err != nil || !there {
		return err
	}
	w := watching.Watch{Query: f.query, For: f.total, Hold: f.hold, Every: f.every, Ask: prometheus.Ask,
		Undo: func(ctx context.Context, alarm guard.Alarm) error { return in.undo(ctx, api, o, alarm, f.dryRun) },
		Say: func(line string) {
			fmt.Fprintf(in.Stderr, "%s %s\n", time.Now().UTC().Format(time.TimeOnly), terminal.Escape(line))
		}}
	if cmd.Flags().Changed("above") {
		w.Threshold.Above = &f.above
	}
	if cmd.Flags().Changed("below") {
		w.Threshold.Below = &f.below
	}
	undone, err := w.Run(cmd.Context())
	switch {
	case err != nil:
		return fmt.Errorf("the change stands: %w", err)
	case undone:
		return cli.ErrSaid
	}
	fmt.Fprintln(in.Stderr, "the time is over, and the change stands")
	return nil
}

// errFound ends a search.
var errFound = errors.New("found")

// lastChange finds what the last change of an item in an environment did, of whatever type
// it is.
func lastChange(ctx context.Context, api *remote.Client, key, environment string) (o operation, err error) {
	var first error
	for _, t := range inventory.Types {
		query := url.Values{"type": {string(t)}, "key": {key}, "environment": {environment}, "limit": {"20"}}
		err = api.Pages(ctx, "/activity", query, "activity", func(row json.RawMessage) error {
			var entry struct {
				SHA string
				Key string
			}
			if json.Unmarshal(row, &entry) != nil || !wholeCommit.MatchString(entry.SHA) {
				return remote.NoAnswer("/activity", "it is not the JSON that was asked for")
			}
			o = operation{Op: "revert", Type: t, Key: cmp.Or(entry.Key, key), CommitSHA: entry.SHA, Mode: "undo"}
			return errFound
		})
		var refused *remote.Refusal
		switch {
		case errors.Is(err, errFound):
			return o, tookBack(ctx, api, o)
		case err == nil:
			return o, fmt.Errorf("nothing has changed the %s %s in %s", t.Noun(), terminal.Quote(key), terminal.Quote(environment))
		case !errors.As(err, &refused) || refused.Status != http.StatusNotFound:
			return o, err
		}
		first = cmp.Or(first, err)
	}
	return o, first
}

// tookBack refuses a last change that was a guard's: to take that back would be to make the
// change again that did harm.
func tookBack(ctx context.Context, api *remote.Client, o operation) error {
	family := string(workspace.FolderOf(o.Type))
	switch o.Type {
	case document.Flag:
		family = "flags"
	case document.LogLevel: // the API has no history of these
		return nil
	}
	var list struct {
		History []struct{ SHA, Message string }
	}
	if err := api.Read(ctx, "/"+family+"/"+url.PathEscape(o.Key)+"/history", url.Values{"limit": {"50"}}, &list); err != nil {
		return err
	}
	for _, entry := range list.History {
		if entry.SHA == o.CommitSHA && guard.TookBack(entry.Message) {
			return fmt.Errorf("the last change of the %s %s there was a guard's, the commit %s, which took one back: there is nothing to watch", o.Type.Noun(), terminal.Quote(o.Key), o.CommitSHA)
		}
	}
	return nil
}

// toUndo prints what would be taken back. It reports whether there is anything, and refuses
// to watch what could not be.
func (in Invocation) toUndo(ctx context.Context, api *remote.Client, o operation) (there bool, err error) {
	would, err := in.revert(ctx, api, o, "", true)
	if err != nil {
		return false, fmt.Errorf("there is nothing to watch: %w", err)
	}
	if !would.Changed {
		fmt.Fprintf(in.Stderr, "the commit %s was undone already\n", o.CommitSHA)
		return false, nil
	}
	if len(would.ReviewRequired) > 0 {
		return false, fmt.Errorf("others would have to approve taking this back in %s: the commit %s does not name the account of this key as its guard", terminal.Escape(strings.Join(would.ReviewRequired, ", ")), o.CommitSHA)
	}
	fmt.Fprintf(in.Stderr, "watching the commit %s; taken back it would be:\n", o.CommitSHA)
	in.sayResults(would)
	return true, nil
}

// undo takes the change back.
func (in Invocation) undo(ctx context.Context, api *remote.Client, o operation, alarm guard.Alarm, dryRun bool) error {
	done, err := in.revert(ctx, api, o, alarm.Message(), dryRun)
	if refused := (*remote.Refusal)(nil); errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests {
		return &watching.Final{Err: err}
	}
	if err != nil {
		return err
	}
	subject, _, _ := strings.Cut(alarm.Message(), "\n")
	fmt.Fprintln(in.Stderr, subject)
	in.sayChanged(in.sayResults(done), terminal.Escape(done.CommitSHA), dryRun)
	return nil
}

// revert may be sent again: what was taken back once is not taken back again.
func (in Invocation) revert(ctx context.Context, api *remote.Client, o operation, message string, dryRun bool) (*remote.Changed, error) {
	body, err := changeSet(message, "", o)
	if err != nil {
		return nil, err
	}
	return api.Change(ctx, remote.ChangeSet{Body: body, DryRun: dryRun, Repeatable: true})
}
