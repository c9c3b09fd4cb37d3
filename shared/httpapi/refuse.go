package httpapi

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
)

const (
	maxIssues  = 50 // told in one answer
	maxInWords = 5  // of them in its message
	maxName    = 100
	maxMessage = 500
)

// refused is the answer to a request of the wrong shape; nil for no issues.
func refused(issues []document.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	issues = bounded(issues)
	return fault.New(fault.BadRequest, "%s", inWords(issues)).With(map[string]any{"issues": issues})
}

// bounded keeps an answer to a body made of nothing but mistakes small.
func bounded(issues []document.Issue) []document.Issue {
	more := len(issues) - maxIssues
	if more <= 0 {
		return issues
	}
	return append(issues[:maxIssues:maxIssues], document.Issue{Message: fmt.Sprintf("and %d more like these", more)})
}

func inWords(issues []document.Issue) string {
	var parts []string
	for i, issue := range issues {
		if i == maxInWords {
			parts = append(parts, fmt.Sprintf("and %d more", len(issues)-i))
			break
		}
		where := ""
		if issue.Pointer != "" {
			where = issue.Pointer + ": "
		}
		parts = append(parts, where+issue.Message)
	}
	return strings.Join(parts, "; ")
}

func join(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// brief cuts a name that may be as long as its author liked.
func brief(name string) string { return cut(name, maxName) }

func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
