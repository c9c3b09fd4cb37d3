package jsontree

import (
	"fmt"
	"strings"
)

// Issue is one thing wrong with a JSON text and where: Pointer is a JSON
// Pointer into it, or "" for the text as a whole.
type Issue struct {
	Pointer string `json:"path"`
	Message string `json:"message"`
}

// MaxIssues are told of one text. One of nothing but mistakes gets a short
// answer all the same.
const MaxIssues = 50

// Bounded leaves the issues after the first MaxIssues out, and says so.
func Bounded(issues []Issue) []Issue {
	more := len(issues) - MaxIssues
	if more <= 0 {
		return issues
	}
	return append(issues[:MaxIssues:MaxIssues], More(more))
}

// More stands for issues that were left out.
func More(n int) Issue {
	return Issue{Message: fmt.Sprintf("and %d more like these", n)}
}

// maxInWords is how many issues a sentence tells. Whoever needs all of them
// reads them one by one.
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
