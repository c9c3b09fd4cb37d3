package httpapi

import (
	"context"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
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
		"evaluateContext": func(ctx context.Context, c *call) (any, error) {
			q := explanation.Question{Context: c.body.Get("context"), Keys: texts(c.body, "keys"), All: c.body.Get("keys") == nil, Explain: boolean(c.body, "explain")}
			size, err := c.session.Size(ctx)
			if size = min(size, explanation.MaxAnswer); q.Explain {
				size += explanation.MaxExplained
			}
			if err == nil {
				c.held, err = c.answers.Hold(ctx, c.owner, size)
			}
			if err != nil {
				return nil, err
			}
			return c.session.Evaluate(ctx, control.EvaluationQuery{
				Environment: text(c.body, "environment"), At: optionalText(c.body, "at"), Malformed: c.issues, Question: q})
		},
	}}
}

// Segments is what other items share: rule sets, and the schemas of configs.
func Segments() Group {
	return Group{"segments", map[string]handler{
		"listSegments": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.Segments(ctx)
		}),
		"createSegment": func(ctx context.Context, c *call) (any, error) {
			return c.session.CreateSegment(ctx, control.SegmentCreation{
				Request: c.write(), Key: text(c.body, "key"), Name: text(c.body, "name"),
				Description: text(c.body, "description"), Default: c.body.Get("default")})
		},
		"getSegment": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Segment(ctx, c.request.PathValue("key"))
		}),
		"getSegmentHistory":      history(document.Segment),
		"getSegmentDocument":     stored(document.Segment),
		"replaceSegmentDocument": replace(document.Segment),
		"deleteSegment":          remove(document.Segment),
		"revertSegment":          revert(document.Segment),

		"listSchemas": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.Schemas(ctx, c.page())
		}),
		"getSchemaDocument":     stored(control.Schema),
		"replaceSchemaDocument": replace(control.Schema),
		"deleteSchema":          remove(control.Schema),
	}}
}

// Activity is the change feed.
func Activity() Group {
	return Group{"activity", map[string]handler{
		"listActivity": func(ctx context.Context, c *call) (any, error) {
			return c.session.Activity(ctx, control.ActivityQuery{
				PageQuery: c.page(), Type: c.query["type"], Key: c.query["key"]})
		},
	}}
}

// Contexts is the contexts that applications were seen with.
func Contexts() Group {
	return Group{"contexts", map[string]handler{
		"listContexts": func(ctx context.Context, c *call) (any, error) {
			return c.session.Contexts(ctx, control.ContextQuery{
				Type: c.query["type"], Query: c.query["query"],
				Environment: c.query["environment"], Limit: c.query.number("limit")})
		},
	}}
}

func (c *call) page() control.PageQuery {
	return control.PageQuery{Limit: c.query.number("limit"), Cursor: c.query["cursor"]}
}
