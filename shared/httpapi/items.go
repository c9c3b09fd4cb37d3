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
	group := Group{"flags", operationsOf(document.Flag, "Flag", map[string]handler{
		"listFlags": listWithEvaluations(func(ctx context.Context, c *call) (any, error) {
			return c.session.Flags(ctx, control.FlagQuery{
				PageQuery: c.page(), Tag: c.query["tag"], Status: c.query["status"], Stale: c.query.number("stale")})
		}),
		"getFlag": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Flag(ctx, c.request.PathValue("key"))
		}),
	})}
	maps.Copy(group.handlers, manifests)
	return group
}

// Configs is everything about configs.
func Configs() Group {
	return Group{"configs", operationsOf(document.Config, "Config", map[string]handler{
		"listConfigs": listWithEvaluations(func(ctx context.Context, c *call) (any, error) {
			return c.session.Configs(ctx, control.ConfigQuery{PageQuery: c.page(), Tag: c.query["tag"], Stale: c.query.number("stale")})
		}),
		"getConfig": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Config(ctx, c.request.PathValue("key"))
		}),
	})}
}

// LogLevels is everything about log levels.
func LogLevels() Group {
	return Group{"log-levels", operationsOf(document.LogLevel, "LogLevel", map[string]handler{
		"listLogLevels": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.LogLevels(ctx)
		}),
		"updateLogLevel": func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().PatchLogLevel(ctx, c.request.PathValue("key"), levelPatch(c.write(), c.body, optional(c.body.Get("environment").Text()), token(c.body)))
		},
	})}
}

// operationsOf are those of items of a type: those that are its own, and of what can be
// done to items whatever their type, what the description has.
func operationsOf(t document.Type, name string, own map[string]handler) map[string]handler {
	common := map[string]handler{
		"create" + name: func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().Create(ctx, creation(t, c.write(), c.body))
		},
		"update" + name + "Environment": func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().Patch(ctx, t, c.request.PathValue("key"), c.request.PathValue("env"), valuePatch(c.write(), c.body, token(c.body)))
		},
		"pause" + name: func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().Pause(ctx, t, c.request.PathValue("key"), c.request.PathValue("env"), pausing(c.write(), c.body, false))
		},
		"resume" + name: func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().Pause(ctx, t, c.request.PathValue("key"), c.request.PathValue("env"), pausing(c.write(), c.body, true))
		},
		"get" + name + "History": func(ctx context.Context, c *call) (any, error) {
			return c.session.Feed().History(ctx, t, c.request.PathValue("key"), c.page())
		},
		"get" + name + "Evaluations": func(ctx context.Context, c *call) (any, error) {
			return c.session.Evaluations(ctx, t, c.request.PathValue("key"), control.EvaluationsQuery{Environment: c.query["environment"], Days: c.query.number("days")})
		},
		"get" + name + "Document": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Document(ctx, t, c.request.PathValue("key"), c.query.text("at"))
		}),
		"replace" + name + "Document": func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().PutDocument(ctx, t, c.request.PathValue("key"), documentPut(c.write(), c.body))
		},
		"delete" + name: func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().Delete(ctx, t, c.request.PathValue("key"), change.Deletion{Request: c.write(), ExpectedCommitSHA: c.query.text(expectedCommit)})
		},
		"revert" + name: func(ctx context.Context, c *call) (any, error) {
			return c.session.Changes().Revert(ctx, t, c.request.PathValue("key"), reversion(c.write(), c.body))
		},
	}
	for operation, handler := range common {
		if described().operations[operation] != nil {
			own[operation] = handler
		}
	}
	return own
}

// The bodies of writes, which are parts of operations too.

func creation(t document.Type, r change.Request, body *jsontree.Node) change.Creation {
	valueType := "valueType"
	if t == document.Flag {
		valueType = "type"
	}
	return change.Creation{Request: r, Type: t, Key: text(body, "key"), ValueType: optional(body.Get(valueType).Text()), Value: body.Get("value"),
		Description: text(body, "description"), Tags: texts(body, "tags"), Name: text(body, "name"), Default: body.Get("default")}
}

func valuePatch(r change.Request, body *jsontree.Node, token *string) change.ValuePatch {
	return change.ValuePatch{Request: r, Enabled: optional(body.Get("enabled").Bool()), Value: body.Get("value"), Rollout: body.Get("rollout"),
		RolloutPlan: body.Get("rolloutPlan"), At: optional(body.Get("at").Text()), Unschedule: optional(body.Get("unschedule").Text()),
		ReplaceTargeting: boolean(body, "replaceTargeting"), ExpectedCommitSHA: token}
}

func pausing(r change.Request, body *jsontree.Node, resume bool) change.Pausing {
	return change.Pausing{Request: r, Serve: body.Get("serve"), Resume: resume, ExpectedCommitSHA: token(body)}
}

func levelPatch(r change.Request, body *jsontree.Node, environment, token *string) change.LogLevelPatch {
	return change.LogLevelPatch{Request: r, Level: optional(body.Get("level").Text()), Target: optional(body.Get("target").Text()),
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

// guard is who may take a write back: a field of its body, or a parameter likewise.
const guard = "guard"

func token(body *jsontree.Node) *string { return optional(body.Get(expectedCommit).Text()) }

// write is what every write has. What is wrong with its shape goes along, so
// that control tells all of it at once.
func (c *call) write() change.Request {
	r := change.Request{ID: c.id, DryRun: c.dryRun(), Impact: c.query["impact"] == "true", Idempotency: c.once, Malformed: c.issues, Guard: text(c.body, guard)}
	if named := c.query[guard]; named != "" {
		r.Guard, r.GuardAt = named, "?"+guard
	}
	if r.Impact && !r.DryRun {
		r.Malformed = append(r.Malformed[:len(r.Malformed):len(r.Malformed)], document.Issue{Pointer: "?impact",
			Message: "impact is told before a write is made: send dryRun=true with it, or leave it out"})
	}
	return r
}
