package httpapi

import (
	"context"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
)

// Flags is everything about flags.
func Flags() Group {
	return Group{"flags", map[string]handler{
		"listFlags": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.Flags(ctx, control.FlagQuery{
				PageQuery: c.page(), Tag: c.query["tag"], Status: c.query["status"]})
		}),
		"createFlag": func(ctx context.Context, c *call) (any, error) {
			return c.session.CreateFlag(ctx, control.FlagCreation{
				Request: c.write(), Key: text(c.body, "key"), Type: optionalText(c.body, "type"),
				Value: c.body.Get("value"), Description: text(c.body, "description"), Tags: texts(c.body, "tags")})
		},
		"getFlag": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Flag(ctx, c.request.PathValue("key"))
		}),
		"updateFlagEnvironment": func(ctx context.Context, c *call) (any, error) {
			return c.session.PatchFlag(ctx, c.request.PathValue("key"), c.request.PathValue("env"), control.FlagPatch{
				Request: c.write(), Enabled: optionalBool(c.body, "enabled"),
				Value: c.body.Get("value"), Rollout: c.body.Get("rollout"),
				ReplaceTargeting:  boolean(c.body, "replaceTargeting"),
				ExpectedCommitSHA: optionalText(c.body, "expectedCommitSha")})
		},
		"getFlagHistory":      history(document.Flag),
		"getFlagDocument":     stored(document.Flag),
		"replaceFlagDocument": replace(document.Flag),
		"deleteFlag":          remove(document.Flag),
		"revertFlag":          revert(document.Flag),
	}}
}

// Configs is everything about configs.
func Configs() Group {
	return Group{"configs", map[string]handler{
		"listConfigs": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.Configs(ctx, control.ConfigQuery{PageQuery: c.page(), Tag: c.query["tag"]})
		}),
		"createConfig": func(ctx context.Context, c *call) (any, error) {
			return c.session.CreateConfig(ctx, control.ConfigCreation{
				Request: c.write(), Key: text(c.body, "key"), ValueType: text(c.body, "valueType"),
				Value: c.body.Get("value"), Description: text(c.body, "description"), Tags: texts(c.body, "tags")})
		},
		"getConfig": kept(func(ctx context.Context, c *call) (any, error) {
			return c.session.Config(ctx, c.request.PathValue("key"))
		}),
		"updateConfigEnvironment": func(ctx context.Context, c *call) (any, error) {
			return c.session.PatchConfig(ctx, c.request.PathValue("key"), c.request.PathValue("env"), control.ConfigPatch{
				Request: c.write(), Value: c.body.Get("value"),
				ReplaceTargeting:  boolean(c.body, "replaceTargeting"),
				ExpectedCommitSHA: optionalText(c.body, "expectedCommitSha")})
		},
		"getConfigHistory":      history(document.Config),
		"getConfigDocument":     stored(document.Config),
		"replaceConfigDocument": replace(document.Config),
		"deleteConfig":          remove(document.Config),
		"revertConfig":          revert(document.Config),
	}}
}

// LogLevels is everything about log levels.
func LogLevels() Group {
	return Group{"log-levels", map[string]handler{
		"listLogLevels": list(func(ctx context.Context, c *call) (any, error) {
			return c.session.LogLevels(ctx)
		}),
		"updateLogLevel": func(ctx context.Context, c *call) (any, error) {
			return c.session.PatchLogLevel(ctx, c.request.PathValue("key"), control.LogLevelPatch{
				Request: c.write(), Level: optionalText(c.body, "level"), Target: optionalText(c.body, "target"),
				Environment:       optionalText(c.body, "environment"),
				ExpectedCommitSHA: optionalText(c.body, "expectedCommitSha")})
		},
		"getLogLevelDocument":     stored(document.LogLevel),
		"replaceLogLevelDocument": replace(document.LogLevel),
		"deleteLogLevel":          remove(document.LogLevel),
		"revertLogLevel":          revert(document.LogLevel),
	}}
}

func history(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.History(ctx, t, c.request.PathValue("key"), c.page())
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
		return c.session.PutDocument(ctx, t, c.request.PathValue("key"), control.DocumentPut{
			Request: c.write(), Document: c.body.Get("document"),
			ExpectedCommitSHA: optionalText(c.body, "expectedCommitSha")})
	}
}

func remove(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		deletion := control.Deletion{Request: c.write()}
		if token, given := c.query["expectedCommitSha"]; given {
			deletion.ExpectedCommitSHA = &token
		}
		return c.session.Delete(ctx, t, c.request.PathValue("key"), deletion)
	}
}

func revert(t document.Type) handler {
	return func(ctx context.Context, c *call) (any, error) {
		return c.session.Revert(ctx, t, c.request.PathValue("key"), control.Reversion{
			Request: c.write(), CommitSHA: text(c.body, "commitSha"), Mode: text(c.body, "mode"),
			ExpectedCommitSHA: optionalText(c.body, "expectedCommitSha")})
	}
}

// write is what every write has. What is wrong with its shape goes along, so
// that control tells all of it at once.
func (c *call) write() control.Request {
	return control.Request{ID: c.id, DryRun: c.query["dryRun"] == "true", Malformed: c.issues}
}
