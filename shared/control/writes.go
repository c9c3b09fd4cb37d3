package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// CreateFlag creates a flag.
func (s *Session) CreateFlag(ctx context.Context, c FlagCreation) (*CreationResult, error) {
	creation := edit.Creation{Key: c.Key, Value: c.Value, Description: c.Description, Tags: c.Tags, Schema: s.service.schemaAddress()}
	if c.Type != nil {
		creation.ValueType = *c.Type
		if *c.Type == "" {
			creation.ValueType = " " // only a type left out is bool
		}
	}
	tree, err := edit.NewFlag(creation)
	return s.create(ctx, document.Flag, c.Request, c.Key, tree, err)
}

// CreateConfig creates a config.
func (s *Session) CreateConfig(ctx context.Context, c ConfigCreation) (*CreationResult, error) {
	tree, err := edit.NewConfig(edit.Creation{Key: c.Key, ValueType: c.ValueType, Value: c.Value,
		Description: c.Description, Tags: c.Tags, Schema: s.service.schemaAddress()})
	return s.create(ctx, document.Config, c.Request, c.Key, tree, err)
}

// CreateSegment creates a segment.
func (s *Session) CreateSegment(ctx context.Context, c SegmentCreation) (*CreationResult, error) {
	tree, err := edit.NewSegment(edit.Creation{Key: c.Key, Name: c.Name, Description: c.Description,
		Default: c.Default, Schema: s.service.schemaAddress()})
	return s.create(ctx, document.Segment, c.Request, c.Key, tree, err)
}

func (s *Session) create(ctx context.Context, t document.Type, r Request, key string, tree *jsontree.Node, problem error) (*CreationResult, error) {
	out, err := s.write(ctx, write{
		Request: r, t: t, key: key,
		issues:    notSaid(r.Malformed, requestIssues(problem)),
		first:     func() (*jsontree.Node, error) { return tree, nil },
		onlyFirst: true,
		edit:      func(a *attempt) (*edit.Edited, error) { return &edit.Edited{Tree: a.base, Changed: true}, nil },
		checkAll:  true,
	})
	if err != nil {
		return nil, err
	}
	result := &CreationResult{
		Key:       key,
		ValueType: string(document.View(tree).ValueType),
		CommitSHA: out.commit,
		Document:  tree,
		DryRun:    r.DryRun,
		Messages:  out.preview().Messages,
	}
	return result, nil
}

// PatchFlag sets the fallback of a flag in an environment, or in the default
// rules.
func (s *Session) PatchFlag(ctx context.Context, key, environment string, p FlagPatch) (*PatchResult, error) {
	place := edit.Place{Scope: environment, ReplaceTargeting: p.ReplaceTargeting}
	return s.patch(ctx, environment, write{
		Request: p.Request, t: document.Flag, key: key,
		issues: notSaid(p.Malformed, p.issues()),
		token:  p.ExpectedCommitSHA,
		edit: func(a *attempt) (*edit.Edited, error) {
			switch {
			case p.Enabled != nil:
				return edit.SetEnabled(a.base, place, *p.Enabled)
			case p.Rollout != nil:
				return edit.SetRollout(a.base, place, p.Rollout)
			case p.Value != nil:
				return edit.SetValue(a.base, place, p.Value)
			}
			return &edit.Edited{Tree: a.base}, nil // only foreseen asks
		},
	})
}

// PatchConfig sets the fallback of a config in an environment, or in the
// default rules.
func (s *Session) PatchConfig(ctx context.Context, key, environment string, p ConfigPatch) (*PatchResult, error) {
	issues := tokenIssues(p.ExpectedCommitSHA)
	if p.Value == nil {
		issues = append(issues, document.Issue{Pointer: "/value", Message: "value is missing; any JSON value of the config's type"})
	}
	place := edit.Place{Scope: environment, ReplaceTargeting: p.ReplaceTargeting}
	return s.patch(ctx, environment, write{
		Request: p.Request, t: document.Config, key: key,
		issues: notSaid(p.Malformed, issues),
		token:  p.ExpectedCommitSHA,
		edit: func(a *attempt) (*edit.Edited, error) {
			return edit.SetValue(a.base, place, p.Value)
		},
	})
}

func (s *Session) patch(ctx context.Context, environment string, w write) (*PatchResult, error) {
	w.scope, w.scoped, w.touches = environment, true, touchesScope
	w.issues = append(w.issues, s.foreseen(ctx, w)...)
	out, err := s.write(ctx, w)
	if err != nil {
		return nil, err
	}
	return &PatchResult{
		Key:                         w.key,
		Environment:                 environment,
		Changed:                     out.changed(),
		CommitSHA:                   out.commit,
		PreviousCommitSHA:           out.previous,
		ReplacedTargetingRuleCount:  out.edited.ReplacedTargetingRuleCount,
		PreservedTargetingRuleCount: out.edited.PreservedTargetingRuleCount,
		Rules:                       append([]*jsontree.Node{}, out.edited.Rules...),
		Warnings:                    out.patchWarnings(),
		Preview:                     out.preview(),
	}, nil
}

// foreseen are what the stored item has against a PATCH that is refused
// already, so that all is said at once. What cannot be read now is left to the
// next try.
func (s *Session) foreseen(ctx context.Context, w write) []document.Issue {
	known := slices.Concat(w.Malformed, w.issues)
	if len(known) == 0 {
		return nil
	}
	o, err := s.open(ctx)
	if err != nil {
		return nil
	}
	a := &attempt{Session: s, opened: o, write: w}
	if a.find(ctx) != nil {
		return nil
	}
	_, err = w.edit(a)
	return notSaid(known, requestIssues(err))
}

// PatchLogLevel sets the level of a service's loggers in a scope, and creates
// the service's document when it has none.
func (s *Session) PatchLogLevel(ctx context.Context, service string, p LogLevelPatch) (*LevelResult, error) {
	w := write{
		Request: p.Request, t: document.LogLevel, key: document.LogLevelKey(service),
		issues:  notSaid(p.Malformed, p.issues()),
		scope:   textOr(p.Environment, document.DefaultScope),
		scoped:  true,
		token:   p.ExpectedCommitSHA,
		touches: touchesScope,
	}
	w.first = func() (*jsontree.Node, error) {
		return edit.NewLogLevel(service, *p.Level, s.service.schemaAddress())
	}
	w.edit = func(a *attempt) (*edit.Edited, error) {
		if a.creates() { // its one rule serves the level to every logger everywhere
			return &edit.Edited{Tree: a.base, Changed: true}, nil
		}
		return edit.SetLevel(a.base, w.scope, textOr(p.Target, ""), *p.Level)
	}
	out, err := s.write(ctx, w)
	if err != nil {
		return nil, err
	}
	result := &LevelResult{
		Key:               w.key,
		Environment:       w.scope,
		Target:            p.Target,
		Level:             *p.Level,
		Created:           out.creates(),
		Changed:           out.changed(),
		CommitSHA:         out.commit,
		PreviousCommitSHA: out.previous,
		Preview:           out.preview(),
	}
	if result.Created {
		result.Environment, result.Target = document.DefaultScope, nil
		result.Messages = append(result.Messages, notYetWritten(w.scope, p)...)
	}
	return result, nil
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
func (s *Session) PutDocument(ctx context.Context, t document.Type, key string, p DocumentPut) (*PutResult, error) {
	if t == Schema {
		return s.putSchema(ctx, key, p)
	}
	var stamped *jsontree.Node
	if p.Document != nil && p.Document.Kind == jsontree.Object {
		stamped = edit.StampSchema(p.Document, s.service.schemaAddress())
		p.Document = stamped
	}
	out, err := s.write(ctx, write{
		Request: p.Request, t: t, key: key,
		issues: notSaid(p.Malformed, p.issues(t, key)),
		token:  p.ExpectedCommitSHA,
		edit: func(a *attempt) (*edit.Edited, error) {
			if document.SameDocument(a.base, stamped) {
				return &edit.Edited{Tree: a.base}, nil
			}
			return &edit.Edited{Tree: stamped, Changed: true}, nil
		},
		mends:    true,
		checkAll: true,
	})
	if err != nil {
		return nil, err
	}
	return out.putResult(), nil
}

// putResult is the answer to a write of a whole document.
func (o *outcome) putResult() *PutResult {
	warnings := o.lookups
	if tree := o.edited.Tree; tree != nil && o.t != Schema {
		warnings = append(warnings, workspace.Warnings(&workspace.Item{View: document.View(tree), Tree: tree})...)
	}
	return &PutResult{
		Key:               o.key,
		Changed:           o.changed(),
		CommitSHA:         o.commit,
		PreviousCommitSHA: o.previous,
		Warnings:          jsontree.Bounded(warnings),
		Preview:           o.preview(),
	}
}

// requestIssues are the issues of an edit's refusal.
func requestIssues(err error) []document.Issue {
	var refused *edit.RequestError
	if errors.As(err, &refused) {
		return refused.Issues
	}
	return nil
}

// notSaid leaves out what is said of a place that the reader of the request
// has found wrong already.
func notSaid(already, issues []document.Issue) []document.Issue {
	var rest []document.Issue
	for _, issue := range issues {
		if issue.Pointer == "" || !said(already, issue.Pointer) {
			rest = append(rest, issue)
		}
	}
	return rest
}

func textOr(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}
