package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
)

// newRequest makes the command request: create, list, show, approve, apply, close, comment.
func newRequest(in Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "request",
		Short: "Propose a change, approve what others propose, and apply it",
		Long: `Propose a change, approve what others propose, and apply it. A change request is a
change set that waits: where svc.json says that an environment is reviewed, nothing
that changes what it serves is written before others have approved it. An approval is
for what was looked at: when the change or anything that it touches is changed, it
does not count any more.`,
	}
	create := newRequestCreate(in)
	cmd.AddCommand(create, newRequestList(in),
		requestCommand(in, "show <id>", "Print what a change request would do, and who has approved it", "show 12", func(r *requestCall) error { return r.show() }),
		requestCommand(in, "approve <id>", "Approve a change request, as it is printed", "approve 12", func(r *requestCall) error { return r.approve() }),
		requestCommand(in, "unapprove <id>", "Take your approval back", "unapprove 12", func(r *requestCall) error {
			return r.write(http.MethodDelete, "/approvals", nil, "approval taken back")
		}),
		newRequestApply(in),
		requestCommand(in, "close <id>", "Close a change request without applying it", "close 12", func(r *requestCall) error { return r.write(http.MethodPost, "/close", nil, "") }),
		requestCommand(in, "comment <id> <text>", "Comment on a change request", `comment 12 "Why everybody at once?"`, func(r *requestCall) error {
			body, err := json.Marshal(map[string]string{"text": r.args[1]})
			if err != nil {
				return err
			}
			return r.write(http.MethodPost, "/comments", body, "comment added")
		}))
	return cmd
}

// requestCall is one use of a command about a change request.
type requestCall struct {
	Invocation
	cmd  *cobra.Command
	api  *remote.Client
	id   string
	args []string
}

var requestID = regexp.MustCompile(`^#?[1-9][0-9]{0,9}$`)

func requestCommand(in Invocation, use, short, example string, work func(*requestCall) error) *cobra.Command {
	var f remoteFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Example: "  svc request " + example, Args: cli.Arguments("svc request list prints the ids"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !requestID.MatchString(args[0]) {
				return cli.Usagef("%q is not the id of a change request, such as 12; svc request list prints them", terminal.Escape(args[0]))
			}
			api, err := in.remote(f)
			if err != nil {
				return err
			}
			return work(&requestCall{in, cmd, api, strings.TrimPrefix(args[0], "#"), args})
		},
	}
	f.add(cmd)
	return cmd
}

func newRequestApply(in Invocation) *cobra.Command {
	var guard string
	cmd := requestCommand(in, "apply <id>", "Apply a change request, as one commit", "apply 12", func(r *requestCall) error {
		path := "/apply"
		if guard != "" {
			path += "?" + url.Values{"guard": {guard}}.Encode()
		}
		return r.write(http.MethodPost, path, nil, "")
	})
	cmd.Flags().StringVar(&guard, "guard", "", guardUsage)
	return cmd
}

// write sends something about the request, and says what came of it.
func (r *requestCall) write(method, path string, body []byte, said string) error {
	answer, err := r.api.WriteRequest(r.cmd.Context(), method, "/"+r.id+path, body, "")
	if err != nil {
		return err
	}
	switch {
	case said != "":
		fmt.Fprintln(r.Stderr, said)
	case answer.CommitSHA != "":
		fmt.Fprintf(r.Stderr, "applied by the commit %s\n", terminal.Escape(answer.CommitSHA))
	default:
		fmt.Fprintf(r.Stderr, "change request %s is %s\n", terminal.Escape(answer.ID), terminal.Escape(answer.State))
	}
	return nil
}

func (r *requestCall) approve() error {
	looked, err := r.api.ReadRequest(r.cmd.Context(), r.id)
	if err != nil {
		return err
	}
	r.print(looked)
	if looked.Preview == nil || looked.Preview.Digest == "" {
		return fmt.Errorf("there is nothing to approve")
	}
	body, err := json.Marshal(map[string]string{"digest": looked.Preview.Digest})
	if err != nil {
		return err
	}
	return r.write(http.MethodPost, "/approvals", body, "approved")
}

func (r *requestCall) show() error {
	looked, err := r.api.ReadRequest(r.cmd.Context(), r.id)
	if err == nil {
		r.print(looked)
	}
	return err
}

func (r *requestCall) print(q *remote.Requested) {
	say := func(format string, args ...string) {
		escaped := make([]any, len(args))
		for i, a := range args {
			escaped[i] = terminal.Escape(a)
		}
		fmt.Fprintf(r.Stdout, format+"\n", escaped...)
	}
	say("#%s %s", q.ID, q.Title)
	say("%s, proposed by %s at %s", q.State, q.Author.Name, q.CreatedAt)
	if q.Description != "" {
		say("%s", q.Description)
	}
	if p := q.Preview; p != nil {
		for _, result := range p.Results {
			for _, m := range result.Messages {
				say("  %s %s: %s", result.Type.Noun(), result.Key, m.Message)
			}
		}
		for _, w := range p.Warnings {
			say("  warning: %s", w.Message)
		}
		if p.Conflict != nil {
			say("  it cannot be applied: %s", p.Conflict.Message)
		}
		for _, q := range p.Requirements {
			by := ""
			if len(q.Roles) > 0 {
				by = " by " + strings.Join(q.Roles, " or ")
			}
			say("%s: %s of %s given"+by, q.Environment, fmt.Sprint(q.Given), cli.Plural(q.Approvals, "approval"))
		}
	}
	for _, a := range q.Approvals {
		line := "approved by " + a.By.Name
		if a.Why != "" {
			line += ", which does not count: " + a.Why
		}
		say("%s", line)
	}
	if q.EndedBy.Name != "" {
		say("%s by %s %s", q.State, q.EndedBy.Name, q.CommitSHA)
	}
	for _, c := range q.Comments {
		say("%s: %s", c.By.Name, c.Text)
	}
}

func newRequestList(in Invocation) *cobra.Command {
	var f remoteFlags
	var state string
	cmd := &cobra.Command{
		Use: "list", Short: "List change requests", Example: "  svc request list\n  svc request list --state applied", Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := in.remote(f)
			if err != nil {
				return err
			}
			table := [][]string{{"ID", "STATE", "AUTHOR", "APPROVALS", "TITLE"}}
			err = api.Pages(cmd.Context(), "/change-requests", url.Values{"state": {state}}, "changeRequests", func(row json.RawMessage) error {
				var r remote.Requested
				if err := json.Unmarshal(row, &r); err != nil {
					return remote.NoAnswer("/change-requests", "it is not the JSON that was asked for")
				}
				table = append(table, []string{r.ID, r.State, r.Author.Name, fmt.Sprint(len(r.Approvals)), r.Title})
				return nil
			})
			if err != nil {
				return err
			}
			return cli.Table(in.Stdout, table)
		},
	}
	cmd.Flags().StringVar(&state, "state", "open", "open, applied, closed or expired")
	f.add(cmd)
	return cmd
}

func newRequestCreate(in Invocation) *cobra.Command {
	var f remoteFlags
	var title, description, expires string
	cmd := &cobra.Command{
		Use:   "create <file>",
		Short: "Propose the change set of a file",
		Long: `Propose the change set of a file, - for standard input: a JSON object with operations,
as POST /v1/changes takes it, or an array of them.`,
		Example: `  svc request create launch.json --title "Launch the new checkout"
  echo '[{"op": "patch", "type": "feature_flag", "key": "new-checkout", "environment": "production", "body": {"enabled": true}}]' | svc request create - --title Launch`,
		Args: cli.Arguments("- reads standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := in.read("file", args[0], maxProposal, "it is too large for a change request")
			if err != nil {
				return err
			}
			var operations json.RawMessage
			if text := strings.TrimSpace(strings.TrimPrefix(string(content), byteOrderMark)); strings.HasPrefix(text, "[") {
				operations = json.RawMessage(text)
			} else {
				var set struct{ Operations json.RawMessage }
				if err := json.Unmarshal([]byte(text), &set); err != nil || set.Operations == nil {
					return fmt.Errorf("%s has no operations: it is a JSON object with operations, or an array of them", terminal.Escape(args[0]))
				}
				operations = set.Operations
			}
			body, err := json.Marshal(struct {
				Title       string          `json:"title"`
				Description string          `json:"description,omitempty"`
				Expires     string          `json:"expires,omitempty"`
				Operations  json.RawMessage `json:"operations"`
			}{title, description, expires, operations})
			if err != nil {
				return fmt.Errorf("%s is not JSON: %w", terminal.Escape(args[0]), err)
			}
			api, err := in.remote(f)
			if err != nil {
				return err
			}
			made, err := api.WriteRequest(cmd.Context(), http.MethodPost, "", body, "")
			if err != nil {
				return err
			}
			fmt.Fprintln(in.Stdout, terminal.Escape(made.ID))
			fmt.Fprintf(in.Stderr, "proposed; others look at it with svc request show %s\n", terminal.Escape(made.ID))
			return nil
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "one line that says what it is about")
	cmd.Flags().StringVar(&description, "description", "", "why, for those who approve")
	cmd.Flags().StringVar(&expires, "expires", "", "when it can no longer be approved, such as 2026-12-24T18:00:00Z")
	_ = cmd.MarkFlagRequired("title") // which there is
	f.add(cmd)
	return cmd
}

// maxProposal is more than the API takes.
const maxProposal = 2 << 20
