package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/release"
)

// Options say what the tools work on: a workspace or a directory, one of the two.
type Options struct {
	API       *remote.Client
	Directory *Directory
	ReadOnly  bool // without the tool that writes
	In        io.Reader
	Out       io.Writer
	// Grace is how long calls may go on when the client has hung up; 0 is 10 s.
	Grace time.Duration
}

// Directory is a config directory. It is read for each call.
type Directory struct {
	Path string
	// Evaluate answers a question; at is a commit of the directory's repository, or "".
	Evaluate func(ctx context.Context, environment, at string, context *jsontree.Node, key string) (*explanation.Evaluations, error)
	// Edits says what was changed since a commit, as something that is JSON.
	Edits func(ctx context.Context, since string) (any, error)
}

// server is the tools at work for one client.
type server struct {
	Options
	proposals proposals
	calls     context.Context // is done when nobody waits for calls any more
	turns     chan struct{}   // of calls at a time
}

// maxCalls is how many calls are carried out at a time; the rest wait.
const maxCalls = 8

// Serve answers a client until it hangs up, or the context is done.
func Serve(ctx context.Context, o Options) error {
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	calls, stop := context.WithCancel(ctx)
	defer stop()
	s := &server{Options: o, calls: calls, turns: make(chan struct{}, maxCalls)}
	made := mcp.NewServer(&mcp.Implementation{Name: "svc", Title: "svc: feature flags and configuration", Version: release.Version()},
		&mcp.ServerOptions{Instructions: s.instructions(), Capabilities: &mcp.ServerCapabilities{}})
	for i := range tools {
		t := &tools[i]
		if o.API != nil && !t.workspace || o.Directory != nil && !t.directory || o.ReadOnly && t.writes {
			continue
		}
		handler, err := s.handler(t)
		if err != nil {
			return err
		}
		no := false
		made.AddTool(&mcp.Tool{Name: t.name, Title: t.title, Description: t.description, InputSchema: json.RawMessage(t.schema()),
			Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: !t.writes, DestructiveHint: &t.writes, IdempotentHint: true, OpenWorldHint: &no}}, handler)
	}
	err := made.Run(ctx, lines{in: o.In, out: o.Out, calls: calls, ended: func() { time.AfterFunc(o.Grace, stop) }})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (s *server) instructions() string {
	if s.Directory != nil {
		return "svc keeps feature flags and configuration as JSON files. These tools read the config directory " + s.Directory.Path +
			". Change it by editing its files; then verify checks them, and list_edits says in words what was changed."
	}
	text := "svc keeps feature flags and configuration in a workspace, with history. "
	if s.ReadOnly {
		return text + "These tools read it and try changes out; nothing here can write."
	}
	return text + "Change it in two steps: propose_change says what would happen, and writes nothing; apply_proposal does it, once the person who decides agrees. Undo with propose_revert."
}

// handler calls a tool with arguments that fit its schema.
func (s *server) handler(t *tool) (mcp.ToolHandler, error) {
	tree, err := jsontree.Parse([]byte(t.schema()))
	if err != nil {
		return nil, fmt.Errorf("the arguments of %s: %w", t.name, err)
	}
	var known []string
	for _, m := range tree.Get("properties").Members {
		known = append(known, m.Name)
	}
	tree.Delete("additionalProperties") // which is told with what is known
	schema, issues := document.CompileSchema(tree)
	if len(issues) > 0 {
		return nil, fmt.Errorf("the arguments of %s: %s", t.name, jsontree.InWords(issues))
	}
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(s.calls, stop)()
		select {
		case s.turns <- struct{}{}:
			defer func() { <-s.turns }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		arguments, err := readArguments(request.Params.Arguments, schema, known)
		var made answer
		if err == nil {
			made, err = t.run(s, ctx, arguments)
		}
		if err != nil {
			made = answer{tree: failure(err)}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: made.text()}}, IsError: err != nil}, nil
	}, nil
}

// maxValues is how many values arguments may hold, as the body of a change set.
const maxValues = document.MaxValues + 100_000

func readArguments(text json.RawMessage, schema *document.Schema, known []string) (*jsontree.Node, error) {
	if len(text) == 0 {
		text = json.RawMessage("{}")
	}
	arguments, err := jsontree.ParseWithin(text, maxValues)
	if syntax := (*jsontree.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, refuse(document.Issue{Pointer: syntax.Pointer, Message: syntax.Message}.Cut())
	}
	var issues []document.Issue
	for _, m := range arguments.Members {
		if !slices.Contains(known, m.Name) {
			issue := document.Issue{Pointer: jsontree.Pointer(m.Name), Message: "unknown argument; known are " + strings.Join(known, ", ")}
			if len(known) == 0 {
				issue.Message = "unknown argument; this tool takes none"
			}
			issues = append(issues, issue.Cut())
		}
	}
	if issues = append(issues, schema.Check(arguments)...); len(issues) > 0 {
		return nil, refuse(issues...)
	}
	return arguments, nil
}

// refusal is an error in the words of the API's: a code, a message and details.
type refusal struct {
	code, message string
	issues        []document.Issue
}

func (r *refusal) Error() string { return r.message }

// refuse says what is wrong with arguments.
func refuse(issues ...document.Issue) error {
	return &refusal{"BAD_REQUEST", "the arguments cannot be taken: " + jsontree.InWords(issues), jsontree.Bounded(issues)}
}

// failure is an error as JSON, as the API's errors are.
func failure(err error) *jsontree.Node {
	var r *refusal
	var refused *remote.Refusal
	var unknown *remote.Unknown
	code, message := "UNAVAILABLE", err.Error()
	tree := jsontree.NewObject()
	switch {
	case errors.As(err, &r):
		code, message = r.code, r.message
		if len(r.issues) > 0 {
			tree.Set("details", jsontree.NewObject(jsontree.Field("issues", node(r.issues))))
		}
	case errors.As(err, &unknown):
		code, message = "OUTCOME_UNKNOWN", unknown.Error()+". Call apply_proposal again with the same proposal, which is never made twice"
	case errors.As(err, &refused) && refused.Code != "":
		code, message = refused.Code, refused.Message
		if details, err := jsontree.Parse(refused.Details); err == nil {
			for _, issue := range details.Get("issues").Elements() {
				// A parameter of a query, ?limit, was an argument here.
				if path := text(issue, "path"); strings.HasPrefix(path, "?") {
					issue.Set("path", jsontree.NewString("/"+path[1:]))
					message = strings.ReplaceAll(message, path+": ", "/"+path[1:]+": ")
				}
			}
			tree.Set("details", details)
		}
	}
	tree.SetFirst("message", jsontree.NewString(message))
	tree.SetFirst("error", jsontree.NewString(code))
	return tree
}

// node is a value as JSON. It is for values that always are.
func node(value any) *jsontree.Node {
	text, _ := json.Marshal(value)
	tree, err := jsontree.Parse(text)
	if err != nil {
		return jsontree.NewString("(cannot be told)")
	}
	return tree
}
