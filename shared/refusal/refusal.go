// Package refusal makes the faults of requests that are about items.
//
// That is what is wrong with a request by itself, with a document, and what does not
// exist. Where one status has several causes, the details have a code.
package refusal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// The values of details.code.
const (
	CodeValidation = "VALIDATION_FAILED"
	CodeSchema     = "SCHEMA_VIOLATION"
	CodeVerify     = "VERIFY_REJECTION"
	CodePermission = "PERMISSION_DENIED"
	CodeStale      = "STALE_COMMIT_SHA"
	CodeExists     = "ALREADY_EXISTS"
	CodeReferenced = "REFERENCED"
	CodeOverlap    = "OVERLAP"
	CodeAmbiguous  = "AMBIGUOUS_COMMIT"
	CodeMismatch   = "IDEMPOTENCY_MISMATCH"
)

// Malformed refuses a request for what is wrong with it by itself; no issues
// are no refusal. Issues point into the body, or name a parameter: ?limit.
func Malformed(issues ...document.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	issues = jsontree.Bounded(issues)
	return fault.New(fault.BadRequest, "%s", jsontree.InWords(issues)).With(map[string]any{"issues": issues})
}

// Invalid refuses a document with one of the codes that carry issues.
func Invalid(kind fault.Kind, code, summary string, issues []document.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	issues = jsontree.Bounded(issues)
	return fault.New(kind, "%s%s", summary, Located(issues)).
		With(map[string]any{"code": code, "issues": issues})
}

// Located is the issues as the end of a sentence. The first one's place follows
// it without a colon of its own: what the issue says may have another.
func Located(issues []document.Issue) string {
	if issues[0].Pointer == "" {
		return ": " + jsontree.InWords(issues)
	}
	return " at " + jsontree.InWords(issues)
}

// NoSuch refuses a request about an item that is not there.
func NoSuch(t document.Type, key string) error {
	hint := ""
	if t == document.LogLevel && !strings.HasPrefix(key, document.LogLevelPrefix) {
		hint = fmt.Sprintf("; the key of a service's document begins with %s", document.LogLevelPrefix)
	}
	return fault.New(fault.NotFound, "there is no %s %s%s", t.Noun(), terminal.Quote(key), hint)
}

// NoEnvironmentNamed is what is wrong with a request that must name one.
const NoEnvironmentNamed = "environment is missing: expected the name of one; GET /environments lists them"

// NoEnvironment refuses the name of an environment that is not there.
func NoEnvironment(name string) error {
	return fault.New(fault.NotFound, "there is no environment %s; GET /environments lists them", terminal.Quote(name))
}

// NotAnObject refuses what needs a document, of a file that holds none.
func NotAnObject(t document.Type, key string, d *workspace.Decoded) error {
	return fault.New(fault.Unprocessable, "what is stored as the %s %s is not a JSON object that can be read%s", t.Noun(), terminal.Quote(key), d.Why())
}

// NotAnObjectAt refuses the same of a file as it was in a commit.
func NotAnObjectAt(commit string, t document.Type, key string, d *workspace.Decoded) error {
	return fault.New(fault.Unprocessable, "what the commit %s holds as the %s %s is not a JSON object that can be read%s", commit, t.Noun(), terminal.Quote(key), d.Why())
}

// IsRevision is what a revision of a request is.
const IsRevision = "is a commit's SHA, or its first digits: 4 to 40 of 0-9 and a-f"

// IsState is what a state of a request is: a revision or a time.
const IsState = IsRevision + `; or a time with its zone, such as 2026-03-04T10:15:00Z or 2026-03-04T11:15:00+01:00 (in an address a plus is %2B)`

// Before is why there is no commit before a time, or why it cannot be found.
func Before(at string, err error) error {
	early := (*repository.BeforeFirst)(nil)
	switch {
	case !errors.As(err, &early):
		return repository.Fault(err)
	case early.First.IsZero():
		return fault.New(fault.NotFound, "there was no commit before %s: there is none yet", at)
	}
	return fault.New(fault.NotFound, "there was no commit before %s: the first one is of %s", at, early.First.UTC().Format(time.RFC3339))
}

// Revision is why a revision that a request has at a place names no commit, or
// cannot be looked up.
func Revision(pointer, revision string, err error) error {
	switch {
	case errors.Is(err, repository.ErrAmbiguous):
		return Malformed(document.Issue{Pointer: pointer, Message: "several commits begin with " + revision + "; send more digits"})
	case errors.Is(err, repository.ErrUnknownCommit):
		return fault.New(fault.NotFound, "the workspace's history has no commit %s", revision)
	}
	return repository.Fault(err)
}

// Forbidden refuses a write that a principal's roles do not allow. What comes
// before the sentence that says so is given.
func Forbidden(by access.Principal, before string, write access.Write) error {
	denial := access.Authorize(by.EffectiveRoles(), write)
	if denial == nil {
		return nil
	}
	return fault.New(fault.Forbidden, "%s%s", before, denial.Message()).
		With(map[string]any{"code": CodePermission, "required": string(denial.Required)})
}

// HasIssueAt reports whether a place has been found wrong already.
func HasIssueAt(issues []document.Issue, pointer string) bool {
	return slices.ContainsFunc(issues, func(issue document.Issue) bool { return issue.Pointer == pointer })
}
