package jsontree

import (
	"fmt"
	"strings"

	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// Issue is one thing wrong with a JSON text and where: Pointer is a JSON
// Pointer into it, or "" for the text as a whole.
type Issue struct {
	Pointer string `json:"path"`
	Message string `json:"message"`
	// Code is the rule that is broken, where verification has one for it.
	Code problem.Code `json:"-"`
	// Kind says what a warning is about, where programs go by it.
	Kind string `json:"code,omitempty"`
}

// How many characters of an issue are told. Both parts quote names that may be as
// long as the text they stand in. A message also names a circle of a thousand
// segments in full.
const (
	maxPointer = 1000
	maxMessage = 10_000
)

// Cut is the issue with what is too long to be read cut. A pointer that is cut
// still leads to the part of the text that the issue lies in.
func (i Issue) Cut() Issue {
	return Issue{Pointer: terminal.Cut(i.Pointer, maxPointer), Message: terminal.Cut(i.Message, maxMessage), Code: i.Code, Kind: i.Kind}
}

// MaxIssues are told of one text. One of nothing but mistakes gets a short
// answer all the same.
const MaxIssues = 50

// Bounded cuts the issues, leaves those after the first MaxIssues out, and says
// so.
func Bounded(issues []Issue) []Issue {
	var bounded []Issue
	for i, issue := range issues {
		if i == MaxIssues {
			more := More(len(issues) - i)
			more.Code = issue.Code
			return append(bounded, more)
		}
		bounded = append(bounded, issue.Cut())
	}
	return bounded
}

// More stands for issues that were left out.
func More(n int) Issue {
	return Issue{Message: fmt.Sprintf("and %d more like these", n)}
}

// maxInWords is how many issues a sentence tells.
const maxInWords = 5

// InWords is issues as one sentence.
func InWords(issues []Issue) string {
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
