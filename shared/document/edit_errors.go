package document

import (
	"fmt"
	"strings"
)

// RequestError is a request that can not be carried out as it is written:
// what its author has to change, all of it at once. The issues' pointers lead
// into the body of the request.
type RequestError struct {
	Issues []Issue
}

func (e *RequestError) Error() string { return joinIssues(e.Issues) }

// StoredError is a stored document whose shape leaves no place for the edit:
// a rule list that is no list. The issues' pointers lead into the document.
type StoredError struct {
	Issues []Issue
}

func (e *StoredError) Error() string {
	return "the stored document can not be edited: " + joinIssues(e.Issues)
}

// maxIssues bounds an answer to a body made of nothing but mistakes.
const maxIssues = 50

func joinIssues(issues []Issue) string {
	var lines []string
	for _, issue := range issues {
		line := issue.Message
		if issue.Pointer != "" {
			line = issue.Pointer + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// refuse makes a RequestError of issues, and no error of none.
func refuse(issues ...Issue) error {
	if len(issues) == 0 {
		return nil
	}
	if more := len(issues) - maxIssues; more > 0 {
		issues = append(issues[:maxIssues:maxIssues], Issue{"", fmt.Sprintf("and %d more like these", more)})
	}
	return &RequestError{issues}
}

func unsound(pointer, message string) error {
	return &StoredError{[]Issue{{pointer, message}}}
}
