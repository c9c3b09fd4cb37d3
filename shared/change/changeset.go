package change

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/terminal"
)

// ChangeSet is a request to carry out operations in their order, as one commit
// or not at all.
type ChangeSet struct {
	Request
	Message    string // that the commit begins with; "" is what changes
	Operations []Operation
	// Canonical is what the operations are made of, for a Digest.
	Canonical string
}

// MaxOperations is how many operations a change set may have, and how many items
// it may change.
const MaxOperations = 2000

// Operation is one of a change set. What the reader of the request has found wrong
// with it already is told by the Malformed of what it is made of.
type Operation struct {
	write func(s *Service) write
	// inBody: the fields of the single write stand in the operation's body, but
	// for those that are named beside it.
	inBody bool
	beside []string
	// document: what is wrong with the document is wrong with that of the
	// operation.
	document bool
}

// NoOperation is what cannot be read as any, for these reasons.
func NoOperation(issues []document.Issue) Operation {
	return Operation{write: func(*Service) write { return write{issues: issues} }}
}

// Create creates a flag, a config or a segment.
func Create(c Creation) Operation { return Operation{write: c.write, inBody: true} }

// Patch sets the fallback of a flag or a config in a scope.
func Patch(t document.Type, key, environment string, p ValuePatch) Operation {
	return Operation{write: func(s *Service) write { return p.write(s, t, key, environment) }, inBody: true, beside: []string{"/expectedCommitSha"}}
}

// PatchLevel sets a level of a service.
func PatchLevel(service string, p LogLevelPatch) Operation {
	return Operation{write: func(s *Service) write { return p.write(s, service) }, inBody: true, beside: []string{"/expectedCommitSha", "/environment"}}
}

// Put replaces a document, whatever it is without a token, and creates a schema
// where there is none.
func Put(t document.Type, key string, p DocumentPut) Operation {
	p.anyVersion = true
	return Operation{write: func(s *Service) write { return p.write(s, t, key) }, document: true}
}

// Delete deletes an item.
func Delete(t document.Type, key string, d Deletion) Operation {
	return Operation{write: func(*Service) write { return deletion(t, key, d) }}
}

// Revert reverts an item.
func Revert(t document.Type, key string, r Reversion) Operation {
	return Operation{write: func(*Service) write { return revert(t, key, r) }}
}

// pointer is where a field of the single write stands in the operation.
func (o Operation) pointer(field string) string {
	field = strings.Replace(field, "?", "/", 1)
	if !o.inBody || slices.Contains(o.beside, field) {
		return field
	}
	return "/body" + field
}

// ChangeSetResult is the answer to a change set. A warning's pointer leads to its
// operation.
type ChangeSetResult struct {
	Written
	Results  []OperationResult `json:"results"`
	Warnings []document.Issue  `json:"warnings,omitempty"`
	DryRun   bool              `json:"dryRun,omitempty"`
	Impact   Impact            `json:"impact,omitzero"` // of a dry run that was asked for it
	// ReviewRequired are the environments of which a dry run has to be approved.
	ReviewRequired []string `json:"reviewRequired,omitempty"`
}

// OperationResult is what came of an operation, for each of its items.
type OperationResult struct {
	Index    int                `json:"index"`
	Type     document.Type      `json:"type"`
	Key      string             `json:"key"`
	Changed  bool               `json:"changed"`
	Messages []activity.Message `json:"messages"`
	// Dependents are where others ask what the flag serves.
	Dependents []reference `json:"dependents,omitempty"`
	// Before and After are the document, of a dry run's first changes; see tellDocuments.
	Before *jsontree.Node `json:"before,omitempty"`
	After  *jsontree.Node `json:"after,omitempty"`
}

// Change carries a change set out. Each operation is allowed, and refused, as the
// single write would be on the result of those before it; a token is compared with
// the item as it was before the change set. A refusal is that of the first
// operation that is refused, and lists what is wrong with all of them.
func (w *Writer) Change(ctx context.Context, c ChangeSet) (*ChangeSetResult, error) {
	if err := refusal.Malformed(c.with(c.issues())...); err != nil {
		return nil, err
	}
	done, err := w.carryOut(ctx, c.Request, strings.TrimSpace(c.Message), c.writes(w.service), func(done *result) any { return c.answer(done) })
	if err != nil || done == nil {
		return nil, err
	}
	if len(done.plan.refusals) > 0 {
		return nil, c.refusal(ctx, done.plan)
	}
	return c.answer(done), nil
}

func (c ChangeSet) answer(done *result) *ChangeSetResult {
	result := &ChangeSetResult{Written: Written{Changed: len(done.plan.final) > 0, CommitSHA: done.commit}, Results: []OperationResult{}, DryRun: c.DryRun, Impact: done.impact}
	if result.Changed {
		result.PreviousCommitSHA = done.previous
	}
	if c.DryRun {
		result.ReviewRequired = done.plan.reviewed
	}
	var warnings []document.Issue
	hidden := done.plan.indistinct()
	for _, a := range done.plan.attempts {
		if !c.DryRun && hidden[a.path] {
			changed := slices.ContainsFunc(done.plan.final, func(last *attempt) bool { return last.path == a.path })
			result.Results = append(result.Results, OperationResult{Index: a.index, Type: a.write.t, Key: a.write.key, Changed: changed, Messages: []activity.Message{{Message: indistinct}}, Dependents: a.dependents})
			continue
		}
		messages := a.messages
		if a.write.missing != nil && a.creates() {
			messages = slices.Concat(messages, a.write.missing())
		}
		result.Results = append(result.Results, OperationResult{Index: a.index, Type: a.write.t, Key: a.write.key, Changed: a.changed(), Messages: messages, Dependents: a.dependents})
		warnings = append(warnings, c.located(a.index, "", a.warnings)...)
	}
	result.Warnings = jsontree.Bounded(warnings)
	if c.DryRun {
		done.plan.tellDocuments(result.Results)
	}
	return result
}

// How many changes a dry run tells the documents of, and how many bytes of them.
const (
	maxDocuments     = 20
	maxDocumentBytes = 256 << 10
)

// tellDocuments tells the documents before and after the first operations of a dry run that
// change something, without what is confidential.
func (p *plan) tellDocuments(results []OperationResult) {
	told, size := 0, 0
	for i, a := range p.attempts {
		if !results[i].Changed {
			continue
		}
		found := a.original()
		if a.previous != nil {
			found = a.previous.tree()
		}
		before, after := withoutSecrets(found), withoutSecrets(a.tree())
		for _, tree := range []*jsontree.Node{before, after} {
			if tree != nil {
				size += tree.EncodedSize()
			}
		}
		if told++; told > maxDocuments || size > maxDocumentBytes {
			return
		}
		results[i].Before, results[i].After = before, after
	}
}

const indistinct = "several operations write this item, which has confidential values: whether they change it together is told, and not what each of them does"

// indistinct are the items with confidential values that several writes of a batch are
// about. What each of them changes would tell whether a guess is right that the next one
// takes back.
func (p *plan) indistinct() map[string]bool {
	writes, hidden := map[string]int{}, map[string]bool{}
	for _, a := range p.attempts {
		writes[a.path]++
	}
	for _, a := range p.attempts {
		if writes[a.path] == 1 || hidden[a.path] {
			continue
		}
		for _, tree := range []*jsontree.Node{a.original(), a.before(), a.tree()} {
			if tree != nil {
				document.EachSecret(tree, func(*jsontree.Node, string) { hidden[a.path] = true })
			}
		}
	}
	return hidden
}

// maxText is how many characters the message of a change set may have.
const maxText = 2000

func (c ChangeSet) issues() []document.Issue {
	var issues []document.Issue
	if n := len(c.Operations); (n == 0 || n > MaxOperations) && !refusal.HasIssueAt(c.Malformed, "/operations") {
		issues = append(issues, document.Issue{Pointer: "/operations", Message: fmt.Sprintf("operations has 1 to %d entries, not %d", MaxOperations, n)})
	}
	unprintable := func(r rune) bool {
		return r == unicode.ReplacementChar || r != '\n' && r != '\t' && !unicode.IsGraphic(r)
	}
	if utf8.RuneCountInString(c.Message) > maxText || strings.ContainsFunc(c.Message, unprintable) {
		issues = append(issues, document.Issue{Pointer: "/message", Message: fmt.Sprintf("message is text of at most %d characters, in lines", maxText)})
	}
	return issues
}

// maxRefused is how many issues a refusal lists of all operations.
const maxRefused = 1000

// refusal is that of the first operation, with what is wrong with all of them.
func (c ChangeSet) refusal(ctx context.Context, p *plan) error {
	refusals := p.refusals
	var first *fault.Fault
	var issues []document.Issue
	operations := map[int]bool{}
	for i, r := range refusals {
		err := r.err
		if i == 0 {
			err = explain(ctx, err)
		}
		f := fault.Of(writeFault(err))
		if f.Kind == fault.Internal || f.Kind == fault.Unavailable {
			return f
		}
		if first == nil {
			first = f
		}
		operations[r.index] = true
		issues = append(issues, c.issuesOf(r.index, f)...)
	}
	if more := len(issues) - maxRefused; more > 0 {
		issues = append(issues[:maxRefused:maxRefused], jsontree.More(more))
	}
	others := ""
	switch n := len(operations) - 1; {
	case n == 1:
		others = ", and so is 1 other"
	case n > 1:
		others = fmt.Sprintf(", and so are %d others", n)
	}
	details := maps.Clone(first.Details)
	if details == nil {
		details = map[string]any{}
	}
	details["issues"] = issues
	if refused, others := p.divided(); len(c.Operations) == 1 && len(others) > 0 {
		details["refused"], details["others"] = refused, others
	}
	at := refusals[0].index
	return fault.New(first.Kind, "nothing was written: operations/%d is refused%s: %s", at, others, first.Message).With(details)
}

// item is one of those that an operation is about.
type item struct {
	Type document.Type `json:"type"`
	Key  string        `json:"key"`
	// Why it is refused.
	Code    any    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// divided are the items of a plan that are refused, and the others: none where more is
// refused than some of its items.
func (p *plan) divided() (refused, others []item) {
	why := map[*attempt]error{}
	for _, r := range p.refusals {
		if r.item == nil {
			return nil, nil
		}
		why[r.item] = r.err
	}
	for _, a := range p.attempts {
		one := item{Type: a.write.t, Key: a.write.key}
		if err := why[a]; err != nil {
			f := fault.Of(writeFault(err))
			one.Code, one.Message = f.Details["code"], f.Message
			refused = append(refused, one)
		} else {
			others = append(others, one)
		}
	}
	return refused, others
}

// issuesOf are what is wrong with an operation.
func (c ChangeSet) issuesOf(index int, f *fault.Fault) []document.Issue {
	_, coded := f.Details["code"]
	issues, listed := f.Details["issues"].([]document.Issue)
	if violations, ok := f.Details["violations"].([]document.Issue); ok {
		issues, listed = violations, true
	}
	switch {
	case !listed:
		return []document.Issue{{Pointer: c.at(index), Message: f.Message}}
	case !coded && f.Kind == fault.BadRequest:
		var located []document.Issue
		for _, issue := range issues {
			issue.Pointer = c.at(index) + c.Operations[index].pointer(issue.Pointer)
			located = append(located, issue.Cut())
		}
		return located
	}
	summary, _, _ := strings.Cut(f.Message, ":")
	if at := strings.LastIndex(summary, " at /"); at > 0 {
		summary = summary[:at]
	}
	return c.located(index, summary, issues)
}

func (c ChangeSet) at(index int) string { return fmt.Sprintf("/operations/%d", index) }

// located are issues of the document that an operation makes: in the document that
// it brings or, where it brings none, in words.
func (c ChangeSet) located(index int, summary string, issues []document.Issue) []document.Issue {
	var located []document.Issue
	for _, issue := range issues {
		if c.Operations[index].document {
			issue.Pointer = c.at(index) + "/document" + issue.Pointer
		} else {
			if issue.Pointer != "" {
				issue.Message = "at " + terminal.Quote(issue.Pointer) + ": " + issue.Message
			}
			if summary != "" {
				issue.Message = summary + ": " + issue.Message
			}
			issue.Pointer = c.at(index)
		}
		located = append(located, issue.Cut())
	}
	return located
}
