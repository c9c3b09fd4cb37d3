package control

import (
	"errors"
	"fmt"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// The values of details.code.
const (
	codeValidation = "VALIDATION_FAILED"
	codeSchema     = "SCHEMA_VIOLATION"
	codeVerify     = "VERIFY_REJECTION"
	codePermission = "PERMISSION_DENIED"
	codeStale      = "STALE_COMMIT_SHA"
	codeExists     = "ALREADY_EXISTS"
	codeReferenced = "REFERENCED"
	codeOverlap    = "OVERLAP"
	codeAmbiguous  = "AMBIGUOUS_COMMIT"
	codeMismatch   = "IDEMPOTENCY_MISMATCH"
)

// malformed refuses a request for what is wrong with it by itself; no issues
// are no refusal. Issues point into the body, or name a parameter: ?limit.
func malformed(issues ...document.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	return fault.New(fault.BadRequest, "%s", jsontree.InWords(issues)).With(map[string]any{"issues": issues})
}

// invalid refuses a document with one of the codes that carry issues.
func invalid(kind fault.Kind, code, summary string, issues []document.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	issues = jsontree.Bounded(issues)
	return fault.New(kind, "%s%s", summary, located(issues)).
		With(map[string]any{"code": code, "issues": issues})
}

// located is the issues as the end of a sentence. The first one's place follows
// it without a colon of its own: what the issue says may have another.
func located(issues []document.Issue) string {
	if issues[0].Pointer == "" {
		return ": " + jsontree.InWords(issues)
	}
	return " at " + jsontree.InWords(issues)
}

// editFault turns an edit's refusal into an answer.
func editFault(err error) error {
	var request *edit.RequestError
	var stored *edit.StoredError
	switch {
	case errors.As(err, &request):
		return malformed(request.Issues...)
	case errors.As(err, &stored):
		return fault.New(fault.Unprocessable, "%s", stored.Error()).With(map[string]any{"issues": stored.Issues})
	}
	return err
}

func noSuch(t document.Type, key string) error {
	hint := ""
	if t == document.LogLevel && !strings.HasPrefix(key, document.LogLevelPrefix) {
		hint = fmt.Sprintf("; the key of a service's document begins with %s", document.LogLevelPrefix)
	}
	return fault.New(fault.NotFound, "there is no %s %s%s", t.Noun(), terminal.Quote(key), hint)
}

// noEnvironmentNamed is what is wrong with a request that must name one.
const noEnvironmentNamed = "environment is missing: expected the name of one; GET /environments lists them"

func noEnvironment(name string) error {
	return fault.New(fault.NotFound, "there is no environment %s; GET /environments lists them", terminal.Quote(name))
}

func notAnObject(t document.Type, key string, d *decoded) error {
	return fault.New(fault.Unprocessable, "what is stored as the %s %s is not a JSON object that can be read%s", t.Noun(), terminal.Quote(key), d.why())
}

// why says what is wrong with a file that holds no document.
func (d *decoded) why() string {
	if len(d.problems) == 0 {
		return ""
	}
	return ": " + inWords(d.problems)
}

// inWords is the first of problems of one file.
func inWords(problems []workspace.Problem) string {
	p := problems[0]
	if p.Line > 0 {
		return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
	}
	return p.Message
}
