package httpapi

import (
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
)

// refused is the answer to a request of the wrong shape; nil for no issues.
func refused(issues []document.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	issues = jsontree.Bounded(issues)
	return fault.New(fault.BadRequest, "%s", jsontree.InWords(issues)).With(map[string]any{"issues": issues})
}

func join(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// brief cuts a name that may be as long as its author liked.
func brief(name string) string { return terminal.Cut(name, 100) }
