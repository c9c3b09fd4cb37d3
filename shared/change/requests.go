package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Request is what every write has besides its own fields.
type Request struct {
	// ID is the request's, for its commit; "" draws one. See package requestid.
	ID string
	// DryRun asks for the answer without the write.
	DryRun bool
	// Idempotency is of a request that may be sent again; nil for others.
	Idempotency *Idempotency
	// Impact asks a dry run for what the write does to the contexts that were saved.
	Impact bool
	// Guard is the name of a service account that may take the change back; "" for none.
	Guard string
	// GuardAt is where the request names it; "" is /guard, in its body.
	GuardAt string
	// Malformed is what the reader of the request has found wrong already: a
	// field that is not known, one of another type. It is reported together
	// with what is found here, and in its turn.
	Malformed []document.Issue

	// approve says whether a change that was proposed may be made; see Writer.Carry.
	approve func(ctx context.Context, state *State, p *plan) (trailers []string, err error)
}

// Creation is the body of a request to create a flag, a config or a segment.
type Creation struct {
	Request     `json:"-"`
	Type        document.Type
	Key         string
	ValueType   *string        // of a flag, nil is bool
	Value       *jsontree.Node // nil when the body has none; null is a value
	Description string
	Tags        []string
	Name        string
	Default     *jsontree.Node // of a segment: the rules as a document has them; nil keeps everybody out
}

// ValuePatch is the body of a request to set the fallback of a flag or a config. One of
// Enabled, Value, Rollout, RolloutPlan and Unschedule is there; of a config it is Value or
// Unschedule.
type ValuePatch struct {
	Request     `json:"-"`
	Enabled     *bool
	Value       *jsontree.Node
	Rollout     *jsontree.Node
	RolloutPlan *jsontree.Node
	Unschedule  *string // the time that something was scheduled for
	// At is when the fallback is to be so; nil for at once.
	At                *string
	ReplaceTargeting  bool
	ExpectedCommitSHA *string
}

// LogLevelPatch is the body of a request to set a level.
type LogLevelPatch struct {
	Request           `json:"-"`
	Level             *string
	Target            *string
	Environment       *string // nil is default
	ExpectedCommitSHA *string
}

// DocumentPut is the body of a request to replace a document.
type DocumentPut struct {
	Request           `json:"-"`
	Document          *jsontree.Node
	ExpectedCommitSHA *string

	// anyVersion: the token may be left out, of a schema that is there too.
	anyVersion bool
}

// Preview is what the answer to a dry run has in addition: the document as it
// would be stored, and what the feed would say. It is empty, and leaves no
// trace in JSON, when the write was a real one.
type Preview struct {
	DryRun   bool               `json:"dryRun,omitempty"`
	Document *jsontree.Node     `json:"document,omitempty"`
	Messages []activity.Message `json:"messages,omitzero"`
	Impact   Impact             `json:"impact,omitzero"` // where it was asked for
	// ReviewRequired are the environments of which the write has to be approved.
	ReviewRequired []string `json:"reviewRequired,omitempty"`
}

// CreationResult is the answer to a creation.
type CreationResult struct {
	Key       string             `json:"key"`
	ValueType string             `json:"valueType"`
	CommitSHA string             `json:"commitSha"`
	Document  *jsontree.Node     `json:"document"`
	Warnings  []document.Issue   `json:"warnings,omitempty"`
	DryRun    bool               `json:"dryRun,omitempty"`
	Messages  []activity.Message `json:"messages,omitzero"` // of a dry run
	Impact    Impact             `json:"impact,omitzero"`   // the same, where it was asked for
	// ReviewRequired is the same.
	ReviewRequired []string `json:"reviewRequired,omitempty"`
}

// Written is which commit an answer is true of, and whether that is the request's own.
type Written struct {
	Changed           bool   `json:"changed"`
	CommitSHA         string `json:"commitSha"`
	PreviousCommitSHA string `json:"previousCommitSha,omitempty"`
}

// PatchResult is the answer to a PATCH of a flag or a config. The warnings are
// what was written that may not have been meant.
type PatchResult struct {
	Key         string `json:"key"`
	Environment string `json:"environment"`
	Written
	ReplacedTargetingRuleCount  int              `json:"replacedTargetingRuleCount,omitempty"`
	PreservedTargetingRuleCount int              `json:"preservedTargetingRuleCount,omitempty"`
	Rules                       []*jsontree.Node `json:"rules"`
	Warnings                    []document.Issue `json:"warnings,omitempty"`
	Dependents                  []reference      `json:"dependents,omitempty"` // where others ask what the flag serves
	Preview
}

// LevelResult is the answer to a PATCH of a log level.
type LevelResult struct {
	Key         string  `json:"key"`
	Environment string  `json:"environment"`
	Target      *string `json:"target"` // null: the scope's fallback was set
	Level       string  `json:"level"`
	Created     bool    `json:"created"`
	Written
	Preview
}

// PutResult is the answer to a PUT. The warnings are what the document will
// hardly do as it was meant.
type PutResult struct {
	Key string `json:"key"`
	Written
	Warnings   []document.Issue `json:"warnings,omitempty"`
	Dependents []reference      `json:"dependents,omitempty"`
	Preview
}

// issues are what is wrong with a PATCH whatever the item is. A field
// that was found wrong already was sent all the same.
func (p ValuePatch) issues(t document.Type, now time.Time) []document.Issue {
	issues := slices.Concat(tokenIssues(p.ExpectedCommitSHA), p.timeIssues())
	if t == document.Config && p.Unschedule == nil {
		if p.Value == nil {
			issues = append(issues, document.Issue{Pointer: "/value", Message: "value is missing; any JSON value of the config's type"})
		}
		return issues
	}
	var named []string
	for _, operation := range []struct {
		name  string
		given bool
	}{{"enabled", p.Enabled != nil || refusal.HasIssueAt(p.Malformed, "/enabled")}, {"value", p.Value != nil}, {"rollout", p.Rollout != nil},
		{"rolloutPlan", p.RolloutPlan != nil || refusal.HasIssueAt(p.Malformed, "/rolloutPlan")}, {"unschedule", p.Unschedule != nil || refusal.HasIssueAt(p.Malformed, "/unschedule")}} {
		if operation.given {
			named = append(named, operation.name)
		}
	}
	if len(named) != 1 {
		got := "none of them is there"
		if len(named) > 1 {
			got = "got " + strings.Join(named, " and ")
		}
		issues = append(issues, document.Issue{Message: "send exactly one of enabled, value, rollout, rolloutPlan and unschedule; " + got})
	}
	if p.RolloutPlan != nil {
		issues = append(issues, edit.PlanIssues(p.RolloutPlan, now)...)
	}
	return append(issues, rolloutIssues(p.Rollout)...)
}

// timeIssues are what is wrong with the times of a PATCH.
func (p ValuePatch) timeIssues() (issues []document.Issue) {
	for _, field := range []struct {
		name string
		text *string
	}{{"/at", p.At}, {"/unschedule", p.Unschedule}} {
		if field.text == nil {
			continue
		}
		if _, problem := document.Moment(*field.text); problem != "" {
			issues = append(issues, document.Issue{Pointer: field.name, Message: problem})
		}
	}
	switch {
	case p.At != nil && p.RolloutPlan != nil:
		issues = append(issues, document.Issue{Pointer: "/at", Message: "a rollout plan has the times of its steps; leave at out"})
	case p.At != nil && p.Unschedule != nil:
		issues = append(issues, document.Issue{Pointer: "/at", Message: "unschedule has the time itself; leave at out"})
	}
	return issues
}

func tokenIssues(token *string) []document.Issue {
	if token != nil && *token == "" {
		return []document.Issue{{Pointer: "/expectedCommitSha",
			Message: "expectedCommitSha is empty; send a commit's SHA of 40 digits, or leave it out where it is optional"}}
	}
	return nil
}

// rolloutIssues are what is wrong with a rollout whatever its values are: it is
// tried with others, no two of them the same.
func rolloutIssues(rollout *jsontree.Node) []document.Issue {
	if rollout == nil {
		return nil
	}
	shape := rollout.Clone()
	for i, entry := range shape.Items {
		if entry.Get("value") != nil {
			entry.Set("value", jsontree.NewInt(int64(i)))
		}
	}
	anything := jsontree.NewObject(jsontree.Field("valueType", jsontree.NewString(string(document.IntValue))))
	_, err := edit.SetRollout(anything, edit.Place{Scope: document.DefaultScope}, shape)
	return requestIssues(err)
}

// issues are what is wrong with a level's PATCH whatever is stored.
func (p LogLevelPatch) issues() []document.Issue {
	issues := tokenIssues(p.ExpectedCommitSHA)
	if p.Level != nil || !refusal.HasIssueAt(p.Malformed, "/level") {
		_, err := edit.SetLevel(jsontree.NewObject(), document.DefaultScope, "", textOr(p.Level, ""))
		issues = append(issues, requestIssues(err)...)
	}
	for _, optional := range []struct {
		name, otherwise string
		text            *string
	}{
		{"target", "set the scope's fallback level", p.Target},
		{"environment", "write the default rules", p.Environment},
	} {
		if optional.text != nil && *optional.text == "" {
			issues = append(issues, document.Issue{Pointer: "/" + optional.name,
				Message: fmt.Sprintf("%s is empty; leave it out to %s", optional.name, optional.otherwise)})
		}
	}
	return issues
}

// issues are what is wrong with a PUT to a key whatever is stored there.
func (p DocumentPut) issues(t document.Type, key string) []document.Issue {
	issues := tokenIssues(p.ExpectedCommitSHA)
	if t != workspace.SchemaType && !p.anyVersion && p.ExpectedCommitSHA == nil && !refusal.HasIssueAt(p.Malformed, "/expectedCommitSha") {
		issues = append(issues, document.Issue{Pointer: "/expectedCommitSha",
			Message: "expectedCommitSha is missing; it is the commitSha of a fresh GET of the document"})
	}
	switch {
	case p.Document == nil && refusal.HasIssueAt(p.Malformed, "/document"):
	case p.Document == nil:
		issues = append(issues, document.Issue{Pointer: "/document", Message: "document is missing: expected an object"})
	case p.Document.Kind != jsontree.Object:
		issues = append(issues, document.Issue{Pointer: "/document", Message: "document is an object, not " + p.Document.Kind.String()})
	default:
		if t != workspace.SchemaType {
			issues = append(issues, sameMember(p.Document, "/document", "key", key)...)
			issues = append(issues, sameMember(p.Document, "/document", "type", string(t))...)
		}
		if problem := edit.StorageProblem(p.Document); problem != "" {
			issues = append(issues, document.Issue{Pointer: "/document", Message: problem})
		}
	}
	return issues
}

func sameMember(tree *jsontree.Node, pointer, name, want string) []document.Issue {
	if text, ok := tree.Get(name).Text(); ok && text == want {
		return nil
	}
	return []document.Issue{{Pointer: pointer + "/" + name,
		Message: fmt.Sprintf("the document's %s must be %s, as the address says", name, terminal.Quote(want))}}
}
