package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Create creates a flag, a config or a segment.
func (s *Writer) Create(ctx context.Context, c Creation) (*CreationResult, error) {
	one := c.write(s.service)
	return carryOutOne(ctx, s, c.Request, one, func(out *outcome) *CreationResult {
		tree := out.attempt.edited.Tree
		return &CreationResult{
			Key:       one.key,
			ValueType: string(document.View(tree).ValueType),
			CommitSHA: out.written.CommitSHA,
			Document:  tree,
			Warnings:  jsontree.Bounded(out.attempt.warnings),
			DryRun:    out.preview.DryRun,
			Messages:  out.preview.Messages,
			Impact:    out.preview.Impact,

			ReviewRequired: out.preview.ReviewRequired,
		}
	})
}

func (c Creation) write(s *Service) write {
	leftOut := ""
	if c.Type == document.Flag {
		leftOut = string(document.BoolValue)
	}
	tree, err := edit.New(c.Type, edit.Creation{Key: c.Key, ValueType: textOr(c.ValueType, leftOut), Value: c.Value, Name: c.Name,
		Description: c.Description, Tags: c.Tags, Default: c.Default, Schema: s.settings.SchemaAddress})
	w := creates(c.Type, c.Request, c.Key, tree, err)
	w.sent = sendable(sent{Type: c.Type, Key: c.Key, Creation: &c}, c.Value, c.Default)
	return w
}

// creates makes an item of a document, unless there is a problem with it.
func creates(t document.Type, r Request, key string, tree *jsontree.Node, problem error) write {
	return write{
		t: t, key: key,
		issues:    r.with(requestIssues(problem)),
		first:     func() (*jsontree.Node, error) { return tree, nil },
		onlyFirst: true,
		edit:      func(a *attempt) (*edit.Edited, error) { return &edit.Edited{Tree: a.base, Changed: true}, nil },
		checkAll:  true,
	}
}

// Patch sets the fallback of a flag or a config in an environment, or in the default
// rules.
func (s *Writer) Patch(ctx context.Context, t document.Type, key, environment string, p ValuePatch) (*PatchResult, error) {
	return s.patch(ctx, p.Request, p.write(s.service, t, key, environment))
}

// patch carries a write of one scope out.
func (s *Writer) patch(ctx context.Context, r Request, w write) (*PatchResult, error) {
	return carryOutOne(ctx, s, r, w, func(out *outcome) *PatchResult {
		return &PatchResult{
			Key:                         w.key,
			Environment:                 w.scope,
			Written:                     out.written,
			ReplacedTargetingRuleCount:  out.attempt.edited.ReplacedTargetingRuleCount,
			PreservedTargetingRuleCount: out.attempt.edited.PreservedTargetingRuleCount,
			Rules:                       out.rules(),
			Warnings:                    jsontree.Bounded(out.attempt.warnings),
			Dependents:                  out.attempt.dependents,
			Preview:                     out.preview,
		}
	})
}

func (p ValuePatch) write(s *Service, t document.Type, key, environment string) write {
	return patches(environment, write{
		t: t, key: key,
		sent:   sendable(sent{Type: t, Key: key, Environment: environment, Patch: &p}, p.Value, p.Rollout, p.RolloutPlan),
		issues: p.with(p.issues(t, s.settings.Now())),
		token:  p.ExpectedCommitSHA,
		edit: func(a *attempt) (*edit.Edited, error) {
			place := edit.Place{Scope: environment, ReplaceTargeting: p.ReplaceTargeting, At: p.At, Now: a.batch.now()}
			switch {
			case p.Unschedule != nil:
				place.At = p.Unschedule
				return edit.Unschedule(a.base, place)
			case p.RolloutPlan != nil:
				return edit.SetPlan(a.base, place, p.RolloutPlan)
			case p.Enabled != nil:
				return edit.SetEnabled(a.base, place, *p.Enabled)
			case p.Rollout != nil:
				return edit.SetRollout(a.base, place, p.Rollout)
			}
			return edit.SetValue(a.base, place, p.Value)
		},
	})
}

// patches is a write of one scope.
func patches(environment string, w write) write {
	w.scope, w.scoped, w.touches = environment, true, touchesScope
	return w
}

// PatchLogLevel sets the level of a service's loggers in a scope, and creates
// the service's document when it has none.
func (s *Writer) PatchLogLevel(ctx context.Context, service string, p LogLevelPatch) (*LevelResult, error) {
	w := p.write(s.service, service)
	return carryOutOne(ctx, s, p.Request, w, func(out *outcome) *LevelResult {
		result := &LevelResult{
			Key:         w.key,
			Environment: w.scope,
			Target:      p.Target,
			Level:       *p.Level,
			Created:     out.attempt.creates(),
			Written:     out.written,
			Preview:     out.preview,
		}
		if result.Created {
			result.Environment, result.Target = document.DefaultScope, nil
			result.Messages = slices.Concat(result.Messages, w.missing())
		}
		return result
	})
}

func (p LogLevelPatch) write(s *Service, service string) write {
	scope := textOr(p.Environment, document.DefaultScope)
	return write{
		t: document.LogLevel, key: document.LogLevelKey(service),
		sent:    sendable(sent{Type: document.LogLevel, Key: service, Level: &p}),
		issues:  p.with(p.issues()),
		scope:   scope,
		scoped:  true,
		token:   p.ExpectedCommitSHA,
		touches: touchesScope,
		missing: func() []activity.Message { return notYetWritten(scope, p) },
		first: func() (*jsontree.Node, error) {
			return edit.NewLogLevel(service, *p.Level, s.settings.SchemaAddress)
		},
		edit: func(a *attempt) (*edit.Edited, error) {
			if a.creates() { // its one rule serves the level to every logger everywhere
				return &edit.Edited{Tree: a.base, Changed: true}, nil
			}
			return edit.SetLevel(a.base, scope, textOr(p.Target, ""), *p.Level)
		},
	}
}

// notYetWritten says what was asked for and does not stand in a service's first
// document, which is a single default rule.
func notYetWritten(scope string, p LogLevelPatch) []activity.Message {
	what := scope
	switch {
	case p.Target != nil:
		what = fmt.Sprintf("the target %s in %s", terminal.Quote(*p.Target), scope)
	case scope == document.DefaultScope:
		return nil
	}
	return []activity.Message{{Scope: scope, Message: fmt.Sprintf(
		"%s is not written yet: the service's first document serves %s to all of its loggers everywhere; send the same request again to write it", what, *p.Level)}}
}

// PutDocument replaces an item's document; a schema it may create.
func (s *Writer) PutDocument(ctx context.Context, t document.Type, key string, p DocumentPut) (*PutResult, error) {
	return s.put(ctx, p.Request, p.write(s.service, t, key))
}

func (p DocumentPut) write(s *Service, t document.Type, key string) write {
	again := sendable(sent{Type: t, Key: key, Put: &p, AnyVersion: p.anyVersion}, p.Document)
	if t == workspace.SchemaType {
		w := putSchema(key, p)
		w.sent = again
		return w
	}
	var stamped *jsontree.Node
	if p.Document != nil && p.Document.Kind == jsontree.Object && !s.settings.Files {
		stamped = edit.StampSchema(p.Document, s.settings.SchemaAddress)
		p.Document = stamped
	}
	return write{
		t: t, key: key,
		sent:   again,
		issues: p.with(p.issues(t, key)),
		token:  p.ExpectedCommitSHA,
		edit: func(a *attempt) (*edit.Edited, error) {
			if s.settings.Files {
				address, _ := a.base.Get("$schema").Text()
				stamped = edit.StampSchema(p.Document, address)
			}
			if document.SameDocument(a.base, stamped) {
				return &edit.Edited{Tree: a.base}, nil
			}
			return &edit.Edited{Tree: stamped, Changed: true}, nil
		},
		acceptsInvalid: true,
		checkAll:       true,
	}
}

// put carries out a write that is answered like that of a whole document.
func (s *Writer) put(ctx context.Context, r Request, w write) (*PutResult, error) {
	return carryOutOne(ctx, s, r, w, func(out *outcome) *PutResult {
		return &PutResult{
			Key:      out.attempt.write.key,
			Written:  out.written,
			Warnings: jsontree.Bounded(out.attempt.warnings),
			Preview:  out.preview,

			Dependents: out.attempt.dependents,
		}
	})
}

// requestIssues are the issues of an edit's refusal.
func requestIssues(err error) []document.Issue {
	if refused, ok := errors.AsType[*edit.RequestError](err); ok {
		return refused.Issues
	}
	return nil
}

// with is what is wrong with a request: what its reader has found already, and
// what else there is, in other places.
func (r Request) with(issues []document.Issue) []document.Issue {
	all := slices.Clone(r.Malformed)
	for _, issue := range issues {
		if issue.Pointer == "" || !refusal.HasIssueAt(r.Malformed, issue.Pointer) {
			all = append(all, issue)
		}
	}
	return all
}

func textOr(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}
