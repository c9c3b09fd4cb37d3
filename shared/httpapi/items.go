package httpapi

import (
	"context"
	"maps"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Flags is everything about flags, in the OpenFeature CLI's manifest too.
func Flags() Group {
	group := Group{"flags", map[string]handler{
		"listFlags": listWithEvaluations(func(ctx context.Context, c *call) (any, error) {
			return c.session.Flags(ctx, control.FlagQuery{
				PageQuery: c.page(), Tag: c.query["tag"], Status: c.query["status"]})
		}),
		"createFlag": create(document.Flag),
		"getFlag": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Flag(ctx, c.request.PathValue("key"))
		}),
		"updateFlagEnvironment": patch(document.Flag),
		"getFlagHistory":        history(document.Flag),
		"getFlagEvaluations":    evaluations(document.Flag),
		"getFlagDocument":       stored(document.Flag),
		"replaceFlagDocument":   replace(document.Flag),
		"deleteFlag":            remove(document.Flag),
		"revertFlag":            revert(document.Flag),
	}}
	maps.Copy(group.handlers, manifests)
	return group
}

// Configs is everything about configs.
func Configs() Group {
	return Group{"configs", map[string]handler{
		"listConfigs": listWithEvaluations(func(ctx context.Context, c *call) (any, error) {
			return c.session.Configs(ctx, control.ConfigQuery{PageQuery: c.page(), Tag: c.query["tag"]})
		}),
		"createConfig": create(document.Config),
		"getConfig": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Config(ctx, c.request.PathValue("key"))
		}),
		"updateConfigEnvironment": patch(document.Config),
		"getConfigHistory":        history(document.Config),
		"getConfigEvaluations":    evaluations(document.Config),
		"getConfigDocument":       stored(document.Config),
		"replaceConfigDocument":   replace(document.Config),
		"deleteConfig":            remove(document.Config),
		"revertConfig":            revert(document.Config),
	}}
}

// LogLevels is everything about log levels.
func LogLevels() Group {
	return Group{"log-levels", map[string]handler{
		"listLogLevels": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.LogLevels(ctx)
		}),
		"updateLogLevel": func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().PatchLogLevel(ctx, c.request.PathValue("key"), levelPatch(c.write(), c.body, optionalText(c.body, "environment"), token(c.body)))
		},
		"getLogLevelDocument":     stored(document.LogLevel),
		"replaceLogLevelDocument": replace(document.LogLevel),
		"deleteLogLevel":          remove(document.LogLevel),
		"revertLogLevel":          revert(document.LogLevel),
	}}
}

func history(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.Feed().History(ctx, t, c.request.PathValue("key"), c.page())
	}
}

func evaluations(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.Evaluations(ctx, t, c.request.PathValue("key"), control.EvaluationsQuery{Environment: c.query["environment"], Days: c.query.number("days")})
	}
}

func stored(t document.Type) handler {
	return kept(func(ctx context.Context, c *call) (any, error) {
		var at *string
		if revision, given := c.query["at"]; given {
			at = &revision
		}
		return c.session.Document(ctx, t, c.request.PathValue("key"), at)
	})
}

func replace(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.Changes().PutDocument(ctx, t, c.request.PathValue("key"), documentPut(c.write(), c.body))
	}
}

func remove(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		deletion := change.Deletion{Request: c.write()}
		if token, given := c.query[expectedCommit]; given {
			deletion.ExpectedCommitSHA = &token
		}
		return c.session.Changes().Delete(ctx, t, c.request.PathValue("key"), deletion)
	}
}

func create(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.Changes().Create(ctx, creation(t, c.write(), c.body))
	}
}

func patch(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.Changes().Patch(ctx, t, c.request.PathValue("key"), c.request.PathValue("env"), valuePatch(c.write(), c.body, token(c.body)))
	}
}

func revert(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.Changes().Revert(ctx, t, c.request.PathValue("key"), reversion(c.write(), c.body))
	}
}

// The bodies of writes, which are parts of operations too.

func creation(t document.Type, r change.Request, body *jsontree.Node) change.Creation {
	valueType := "valueType"
	if t == document.Flag {
		valueType = "type"
	}
	return change.Creation{Request: r, Type: t, Key: text(body, "key"), ValueType: optionalText(body, valueType), Value: body.Get("value"),
		Description: text(body, "description"), Tags: texts(body, "tags"), Name: text(body, "name"), Default: body.Get("default")}
}

func valuePatch(r change.Request, body *jsontree.Node, token *string) change.ValuePatch {
	return change.ValuePatch{Request: r, Enabled: optionalBool(body, "enabled"), Value: body.Get("value"), Rollout: body.Get("rollout"),
		ReplaceTargeting: boolean(body, "replaceTargeting"), ExpectedCommitSHA: token}
}

func levelPatch(r change.Request, body *jsontree.Node, environment, token *string) change.LogLevelPatch {
	return change.LogLevelPatch{Request: r, Level: optionalText(body, "level"), Target: optionalText(body, "target"),
		Environment: environment, ExpectedCommitSHA: token}
}

func documentPut(r change.Request, body *jsontree.Node) change.DocumentPut {
	return change.DocumentPut{Request: r, Document: body.Get("document"), ExpectedCommitSHA: token(body)}
}

func reversion(r change.Request, body *jsontree.Node) change.Reversion {
	return change.Reversion{Request: r, CommitSHA: text(body, "commitSha"), Mode: text(body, "mode"), ExpectedCommitSHA: token(body)}
}

// expectedCommit is where a write says what it was decided on: a field of its body, or a
// parameter of the query where it has none.
const expectedCommit = "expectedCommitSha"

func token(body *jsontree.Node) *string { return optionalText(body, expectedCommit) }

// write is what every write has. What is wrong with its shape goes along, so
// that control tells all of it at once.
func (c *call) write() change.Request {
	r := change.Request{ID: c.id, DryRun: c.dryRun(), Impact: c.query["impact"] == "true", Idempotency: c.once, Malformed: c.issues}
	if r.Impact && !r.DryRun {
		r.Malformed = append(r.Malformed[:len(r.Malformed):len(r.Malformed)], document.Issue{Pointer: "?impact",
			Message: "impact is told before a write is made: send dryRun=true with it, or leave it out"})
	}
	return r
}
