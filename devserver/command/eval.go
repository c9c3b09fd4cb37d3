package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// evaluationFlags say for whom something is evaluated, and where.
type evaluationFlags struct {
	sourceFlags
	environment string
	contexts    []string
	contextFile string
	noOverrides bool
}

func (f *evaluationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.contexts, "context", nil, "properties, such as user.key=u-1,user.plan=pro; may be repeated")
	flags.StringVar(&f.contextFile, "context-file", "", `file that holds a context as JSON, such as {"user": {"key": "u-1"}}; - for standard input`)
	flags.StringVar(&f.environment, "environment", "", "environment that is evaluated (default $SVC_ENVIRONMENT, then development)")
	flags.StringVar(&f.datadir, "datadir", "", datadirUsage)
	flags.BoolVar(&f.noOverrides, "no-overrides", false, "of a directory: leave out what svc override has set on this machine")
	f.remoteFlags.add(cmd)
	flags.Lookup("url").Usage = workspaceUsage
}

// read checks and completes the flags.
func (f *evaluationFlags) read(in Invocation) error {
	if err := f.check(); err != nil {
		return err
	}
	if len(f.contexts) > 0 && f.contextFile != "" {
		return cli.Usagef("--context and --context-file cannot be used together")
	}
	f.environment = in.environment(f.environment)
	return nil
}

func newEval(in Invocation) *cobra.Command {
	var f evaluationFlags
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "eval <key>",
		Short: "Show what a flag or config serves to a context, and why",
		Long: `Show what a flag or config serves to a context, and why: the rules that were tried,
in order, each criterion with the value it was compared with, and where the context
falls in a percentage split. The evaluation is the one that applications get.

A value of --context is a number, true or false if it looks like one, and otherwise
a string; "in quotes" it is always a string.

It reads a config directory or, with --url, the workspace of an API (which needs a
key). What svc override has set on this machine goes before the files of a
directory, as svc serve has it, unless you add --no-overrides. With --at it is
evaluated as it was at a commit of the workspace or, of a directory, of the git
repository that the directory is in: main, v1.2, HEAD~3. A time with its zone stands for
the last commit before it, and rules on the current time see that time:
2026-03-04T14:03:00+01:00.`,
		Example: `  svc eval new-checkout --context user.key=u-1,user.plan=pro
  svc eval new-checkout --context-file ada.json --environment production --json
  svc eval new-checkout --context user.key=u-1 --at HEAD~1
  svc eval new-checkout --url https://flags.acme.example/v1 --key-file ci.key --at 3f786850`,
		Args: cli.Arguments("it is the key of a flag or config; svc ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.read(in); err != nil {
				return err
			}
			text, err := in.evaluate(cmd, f, evaluationRequest{Keys: args, At: at, Explain: true})
			if err != nil {
				return err
			}
			var answer explanation.Evaluations
			if err := json.Unmarshal(text, &answer); err != nil {
				return fmt.Errorf("this is not an answer of the API: %w", err)
			}
			if answer.Evaluations[args[0]] == nil {
				return fmt.Errorf("there is no flag or config %s; svc ls lists them", terminal.Quote(args[0]))
			}
			if asJSON {
				return cli.JSON(in.Stdout, json.RawMessage(text))
			}
			_, err = io.WriteString(in.Stdout, evaluationTree(args[0], &answer))
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&at, "at", "", "commit whose state is evaluated: of a workspace in full or its first digits, of a directory as git names it; or a time, such as 2026-03-04T14:03:00Z")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer")
	return cmd
}

// evaluationRequest is the body of the API's request.
type evaluationRequest struct {
	Environment string         `json:"environment"`
	Context     *jsontree.Node `json:"context,omitempty"`
	Keys        []string       `json:"keys,omitempty"` // nil asks for all
	At          string         `json:"at,omitempty"`
	Explain     bool           `json:"explain,omitempty"`
}

// evaluate asks a directory or a workspace, and returns the API's answer.
func (in Invocation) evaluate(cmd *cobra.Command, f evaluationFlags, request evaluationRequest) ([]byte, error) {
	var err error
	if request.Context, err = in.context(f); err != nil {
		return nil, err
	}
	request.Environment = f.environment
	if f.remote() {
		api, err := in.remote(f.remoteFlags)
		if err != nil {
			return nil, err
		}
		body, err := encoding.JSON(request)
		if err != nil {
			return nil, err
		}
		return api.Evaluate(cmd.Context(), body)
	}
	answer, err := in.evaluateDirectory(cmd.Context(), f, request)
	if err != nil {
		return nil, err
	}
	return encoding.JSON(answer)
}

// evaluateDirectory evaluates a directory as it is, with what is overridden, or as it was.
func (in Invocation) evaluateDirectory(ctx context.Context, f evaluationFlags, request evaluationRequest) (*explanation.Evaluations, error) {
	path, err := in.discover(f.datadir)
	if err != nil {
		return nil, err
	}
	var ws *workspace.Workspace
	var commit *string
	applied := &overrides.Applied{}
	if request.At == "" {
		ws, err = in.directory(path, request.Environment)
		if err == nil && !f.noOverrides {
			applied = in.overridden(ws, path, request.Environment)
		}
	} else {
		ws, commit, err = directoryAt(ctx, path, request)
	}
	if err != nil {
		return nil, err
	}
	state, err := explanation.Compile(ws, request.Environment, applied.Rules(), 0)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if at, ok := repository.Time(request.At); ok {
		now = at
	}
	answer, err := state.Evaluate(ctx, explanation.Question{
		Context: request.Context, Keys: request.Keys, All: request.Keys == nil, Explain: request.Explain,
		Document: func(t document.Type, key string) *workspace.Stored {
			stored, _ := ws.Item(t, key)
			return stored
		},
		Now: now.UnixMilli(), Random: rand.Float64,
	})
	if err != nil {
		return nil, err
	}
	answer.CommitSHA = commit
	return answer, nil
}

// directoryAt is a config directory as it was at a commit of its repository: a document
// that could not be served then is missing.
func directoryAt(ctx context.Context, dir string, request evaluationRequest) (ws *workspace.Workspace, commit *string, err error) {
	git, err := openGit(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	state, err := git.at(ctx, request.At)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range state.problems {
		if p.Code == problem.HiddenByGit {
			return nil, nil, errors.New(p.String())
		}
	}
	needed := []string{workspace.File}
	for _, key := range request.Keys {
		needed = append(needed, workspace.Path(document.Flag, key), workspace.Path(document.Config, key))
	}
	for _, file := range needed {
		if e, encoded := state.encoded[file]; encoded {
			return nil, nil, fmt.Errorf("%s goes through the filter %s, which is not run: what git has of it at %s cannot be read without", terminal.Escape(file), terminal.Escape(e.filter), terminal.Quote(request.At))
		}
	}
	ws, _ = workspace.ReadServable(state.files, nil)
	return ws, &state.commit, ws.CheckEnvironment(request.Environment)
}

// directory is a config directory as it is.
func (in Invocation) directory(path, environment string) (*workspace.Workspace, error) {
	ws, err := directory.Read("evaluate", path, environment)
	if err != nil {
		return nil, in.locate(err)
	}
	return ws, nil
}

var errUTF16 = errors.New("it is written in UTF-16; save the file as UTF-8")

// context reads the context that the flags give; nil for none.
func (in Invocation) context(f evaluationFlags) (*jsontree.Node, error) {
	if f.contextFile == "" {
		return contextOf(f.contexts)
	}
	text, err := in.read("context-file", f.contextFile, bodies.Max, "it has more than 1 MiB")
	if err != nil {
		return nil, err
	}
	if workspace.IsUTF16(text) {
		return nil, fmt.Errorf("--context-file %s: %w", f.contextFile, errUTF16)
	}
	text = workspace.WithoutMark(text)
	tree, err := jsontree.Parse(text)
	if first, rest, several := bytes.Cut(bytes.TrimSpace(text), []byte("\n")); err != nil && several && json.Valid(first) && json.Valid(bytes.SplitN(rest, []byte("\n"), 2)[0]) {
		return nil, fmt.Errorf("--context-file %s: it has several contexts, each on a line: give one of the lines", f.contextFile)
	}
	if err != nil {
		return nil, fmt.Errorf("--context-file %s: not JSON: %w", f.contextFile, err)
	}
	if issues := explanation.ContextIssues(tree, ""); len(issues) > 0 {
		return nil, fmt.Errorf("--context-file %s: %s", f.contextFile, jsontree.InWords(issues))
	}
	return tree, nil
}

// contextOf reads properties as they stand on a command line.
func contextOf(flags []string) (*jsontree.Node, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	all := jsontree.NewObject()
	for _, flag := range flags {
		for _, one := range strings.Split(flag, ",") {
			name, text, found := strings.Cut(one, "=")
			context, property, dotted := strings.Cut(name, ".")
			if !found || !dotted || context == "" || property == "" {
				return nil, cli.Usagef("--context %s: a property is written <context>.<property>=<value>, such as user.key=u-1, several with commas between them; what holds a comma goes into a --context-file", terminal.Quote(one))
			}
			value, err := jsontree.Parse([]byte(text))
			if err != nil || value.Kind == jsontree.Object || value.Kind == jsontree.Array || value.Kind == jsontree.Null {
				value = jsontree.NewString(text)
			}
			if all.Get(context) == nil {
				all.Set(context, jsontree.NewObject())
			}
			if all.Get(context).Get(property) != nil {
				return nil, cli.Usagef("--context gives %s twice", terminal.Quote(name))
			}
			all.Get(context).Set(property, value)
		}
	}
	return all, nil
}
