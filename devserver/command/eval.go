package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// evaluationFlags say for whom something is evaluated, and where.
type evaluationFlags struct {
	remoteFlags
	datadir, environment string
	contexts             []string
	contextFile          string
}

func (f *evaluationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.contexts, "context", nil, "properties, such as user.key=u-1,user.plan=pro; may be repeated")
	flags.StringVar(&f.contextFile, "context-file", "", `file that holds a context as JSON, such as {"user": {"key": "u-1"}}; - for standard input`)
	flags.StringVar(&f.environment, "environment", "", "environment that is evaluated (default $SVC_ENVIRONMENT, then development)")
	flags.StringVar(&f.datadir, "datadir", "", "config directory (default ./our-config, then ./.svc, then $SVC_DIR)")
	f.remoteFlags.add(cmd)
	flags.Lookup("url").Usage = "base URL of the API of a workspace, in the place of a config directory"
}

// read completes the flags, and says whether a workspace is meant.
func (f *evaluationFlags) read(cmd *cobra.Command, in Invocation) (remote bool, err error) {
	if err := cli.RefuseEmpty(cmd, "datadir", "environment", "context-file", "url", "key-file"); err != nil {
		return false, err
	}
	f.environment = cmp.Or(f.environment, in.Getenv("SVC_ENVIRONMENT"), defaultEnvironment)
	remote = f.url != "" || f.keyFile != ""
	switch {
	case remote && f.datadir != "":
		return false, cli.Usagef("--datadir is a directory, and --url and --key-file are a workspace; give one of the two")
	case len(f.contexts) > 0 && f.contextFile != "":
		return false, cli.Usagef("--context and --context-file cannot be used together")
	}
	return remote, nil
}

func newEval(in Invocation) *cobra.Command {
	var f evaluationFlags
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "eval <key>",
		Short: "Say what a flag or config serves to a context, and why",
		Long: `Say what a flag or config serves to a context, and why: the rules that were tried,
in order, each criterion with the value that was seen, and of a percentage split
the point that the context falls on. It is evaluated as it is for applications.

A value of --context is a number, true or false where it reads as one, else a
text; "in quotes" it is always a text.

It reads a config directory or, with --url, the workspace of an API (which needs a
key). With --at it is evaluated as it was at a commit of the workspace.`,
		Example: `  svc eval new-checkout --context user.key=u-1,user.plan=pro
  svc eval new-checkout --context-file ada.json --environment production --json
  svc eval new-checkout --url https://flags.acme.example/v1 --key-file ci.key --at 3f786850`,
		Args: cli.Arguments("it is the key of a flag or config; svc ls lists them"),
		RunE: cli.Run(func(cmd *cobra.Command, args []string) error {
			remote, err := f.read(cmd, in)
			if err == nil {
				err = cli.RefuseEmpty(cmd, "at")
			}
			if err == nil && at != "" && !remote {
				err = cli.Usagef("--at names a commit of a workspace, which needs --url; a directory has only its present state")
			}
			if err != nil {
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
				return in.printJSON(json.RawMessage(text))
			}
			_, err = io.WriteString(in.Stdout, evaluationTree(args[0], &answer))
			return err
		}),
	}
	f.add(cmd)
	cmd.Flags().StringVar(&at, "at", "", "commit whose state is evaluated, in full or its first digits")
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
	if f.url != "" || f.keyFile != "" {
		api, err := in.remote(cmd, f.remoteFlags)
		if err != nil {
			return nil, err
		}
		var body bytes.Buffer
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(request); err != nil {
			return nil, err
		}
		return api.Evaluate(cmd.Context(), body.Bytes())
	}
	ws, err := in.directory(f)
	if err != nil {
		return nil, err
	}
	answer, err := evaluateDirectory(cmd.Context(), ws, request)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err = enc.Encode(answer)
	return text.Bytes(), err
}

// directory is the config directory that is meant.
func (in Invocation) directory(f evaluationFlags) (*workspace.Workspace, error) {
	path, err := datadir.Discover(f.datadir, in.Getenv, in.Workdir)
	if err != nil {
		return nil, err
	}
	ws, err := directory.Read("evaluate", path, f.environment)
	if err != nil {
		return nil, in.locate(err)
	}
	return ws, nil
}

func evaluateDirectory(ctx context.Context, ws *workspace.Workspace, request evaluationRequest) (*explanation.Evaluations, error) {
	state, err := explanation.Compile(ws, request.Environment, 0)
	if err != nil {
		return nil, err
	}
	return state.Evaluate(ctx, explanation.Question{
		Context: request.Context, Keys: request.Keys, All: request.Keys == nil, Explain: request.Explain,
		Document: func(t document.Type, key string) *workspace.Stored {
			stored, _ := ws.Item(t, key)
			return stored
		},
		Now: time.Now().UnixMilli(), Random: rand.Float64,
	})
}

// context reads the context that the flags give; nil for none.
func (in Invocation) context(f evaluationFlags) (*jsontree.Node, error) {
	if f.contextFile == "" {
		return contextOf(f.contexts)
	}
	file := os.Stdin
	if f.contextFile != "-" {
		opened, err := os.Open(in.absolute(f.contextFile))
		if err != nil {
			return nil, fmt.Errorf("--context-file %s: %w", f.contextFile, withoutPath(err))
		}
		defer opened.Close()
		file = opened
	}
	text, err := io.ReadAll(io.LimitReader(file, bodies.Max+1))
	if err == nil && len(text) > bodies.Max {
		err = errors.New("it has more than 1 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("--context-file %s: %w", f.contextFile, withoutPath(err))
	}
	tree, err := jsontree.Parse(text)
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
