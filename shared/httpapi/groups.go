package httpapi

import (
	"context"
	"log/slog"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/workspace"
)

// Workspace is who the key is, where it acts, and what is served there.
func Workspace() Group {
	return Group{"workspace", map[string]handler{
		"getWhoami": func(_ context.Context, c *call) (any, error) {
			return c.session.Whoami(), nil
		},
		"listWorkspaces": func(_ context.Context, c *call) (any, error) {
			return c.session.Workspaces(), nil
		},
		"getWorkspace": func(ctx context.Context, c *call) (any, error) {
			return c.session.Workspace(ctx)
		},
		"listEnvironments": func(ctx context.Context, c *call) (any, error) {
			return c.session.Environments(ctx)
		},
		"listDifferences": kept(func(ctx context.Context, c *call) (any, error) {
			if err := c.hold(ctx, 2*control.ExportPage, 0); err != nil {
				return nil, err
			}
			return c.session.Differences(ctx, c.request.PathValue("env"), c.query["from"], c.query["cursor"])
		}),
		"exportDocuments": kept(func(ctx context.Context, c *call) (any, error) {
			if err := c.hold(ctx, 2*control.ExportPage, 0); err != nil {
				return nil, err
			}
			return c.session.Export(ctx, c.query["cursor"])
		}),
		"evaluateContext": func(ctx context.Context, c *call) (any, error) {
			q := explanation.Question{Context: c.body.Get("context"), Keys: texts(c.body, "keys"), All: c.body.Get("keys") == nil, Explain: boolean(c.body, "explain")}
			explained := int64(0)
			if q.Explain {
				explained = explanation.MaxExplained
			}
			if err := c.hold(ctx, explanation.MaxAnswer, explained); err != nil {
				return nil, err
			}
			return c.session.Evaluate(ctx, control.EvaluationQuery{
				Environment: text(c.body, "environment"), At: optional(c.body.Get("at").Text()), Malformed: c.issues, Question: q})
		},
	}}
}

// Segments is what other items share: rule sets, and the schemas of configs.
func Segments() Group {
	own := map[string]handler{
		"listSegments": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.Segments(ctx)
		}),
		"getSegment": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Segment(ctx, c.request.PathValue("key"))
		}),
		"listSchemas": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.Schemas(ctx, c.page())
		}),
	}
	return Group{"segments", operationsOf(workspace.SchemaType, "Schema", operationsOf(document.Segment, "Segment", own))}
}

// Activity is the change feed.
func Activity() Group {
	return Group{"activity", map[string]handler{
		"listActivity": func(ctx context.Context, c *call) (any, error) {
			return c.session.Feed().Activity(ctx, feed.ActivityQuery{
				PageQuery: c.page(), Type: c.query["type"], Key: c.query["key"],
				Since: c.query["since"], Until: c.query["until"],
				Author: c.query["author"], Environment: c.query["environment"]})
		},
	}}
}

// Contexts is the contexts that applications were seen with.
func Contexts() Group {
	return Group{"contexts", map[string]handler{
		"listContexts": func(ctx context.Context, c *call) (any, error) {
			return c.session.Contexts(ctx, control.ContextQuery{
				Type: c.query["type"], Key: c.query["key"], Query: c.query["query"],
				Environment: c.query["environment"], Limit: c.query.number("limit"), Properties: c.query["properties"] == "true"})
		},
		"exportContexts": func(ctx context.Context, c *call) (any, error) {
			return c.session.ExportContexts(ctx, c.query["environment"], c.page())
		},
		"deleteContext": func(ctx context.Context, c *call) (any, error) {
			f := control.Forgetting{Malformed: c.issues, Type: c.request.PathValue("type"), Key: c.request.PathValue("key")}
			for name, to := range map[string]*string{"type": &f.Type, "key": &f.Key} {
				if text, given := c.query[name]; given {
					*to = text
				}
			}
			forgotten, err := c.session.ForgetContext(ctx, f)
			if err == nil { // without the key, which nobody is to keep
				c.options.Logger.LogAttrs(ctx, slog.LevelInfo, "a saved context was deleted", slog.String("type", f.Type),
					slog.String("workspace", c.session.Whoami().WorkspaceID), slog.String("principal", string(c.session.Principal().ID)), slog.String("requestId", c.id))
			}
			return forgotten, err
		},
	}}
}

// hold waits until there is memory for an answer as large as the workspace, which is at
// most so many bytes, and for more beside it.
func (c *call) hold(ctx context.Context, most, more int64) error {
	opened, err := c.session.Open(ctx)
	if err == nil {
		c.held, err = c.answers.Hold(ctx, c.owner, min(opened.Snapshot.Size(), most)+more)
	}
	return err
}

func (c *call) page() feed.PageQuery {
	return feed.PageQuery{Limit: c.query.number("limit"), Cursor: c.query["cursor"]}
}
