package workspace

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
)

// Severity says what a problem stands in the way of.
type Severity int

const (
	// Warning is worth knowing; verification passes.
	Warning Severity = iota
	// Error fails verification and is refused in a write; what is there is
	// served all the same.
	Error
	// Fatal cannot be served at all.
	Fatal
)

// String is the severity in a word.
func (s Severity) String() string {
	return [...]string{"warning", "error", "fatal"}[s]
}

// Problem is one thing wrong with a workspace, and where. Line and Column
// count from 1; they are 0 when the problem is the file as a whole.
type Problem struct {
	Severity     Severity
	File         string // its path in the layout, with forward slashes
	Line, Column int
	Pointer      string // JSON Pointer into the file
	Message      string
}

// String is the problem as one line, which begins as compilers begin theirs, so
// that editors find the place: file:line:column: message (JSON Pointer). Names
// and texts come from files, so the line is escaped.
func (p Problem) String() string { return p.in(p.File) }

func (p Problem) in(file string) string {
	where, what := file, p.Message
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
	}
	if p.Severity == Warning {
		what = "warning: " + what
	}
	if p.Pointer != "" {
		what += " (" + p.Pointer + ")"
	}
	return terminal.Escape(where + ": " + what)
}

// In is String with the directory that the file lies in, so that a terminal or
// an editor can open it.
func (p Problem) In(dir string) string {
	return p.in(filepath.Join(dir, filepath.FromSlash(p.File)))
}

// SortProblems puts problems in the order in which a person fixes them.
func SortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// FatalOnly returns the problems that keep a workspace from being served.
func FatalOnly(problems []Problem) []Problem {
	var fatal []Problem
	for _, p := range problems {
		if p.Severity == Fatal {
			fatal = append(fatal, p)
		}
	}
	return fatal
}

// locate makes problems of a file's issues, with line and column from the
// text and the tree parsed from it.
func locate(severity Severity, file string, text []byte, tree *jsontree.Node, issues []document.Issue) []Problem {
	if len(issues) == 0 {
		return nil
	}
	starts := lineStarts(text)
	problems := make([]Problem, 0, len(issues))
	for _, issue := range issues {
		issue = issue.Cut()
		p := Problem{Severity: severity, File: file, Pointer: issue.Pointer, Message: issue.Message}
		if n := tree.Nearest(issue.Pointer); n != nil && n.Offset >= 0 {
			p.Line, p.Column = starts.position(n.Offset)
		}
		problems = append(problems, p)
	}
	return problems
}

// lines are the offsets at which lines begin. A file with thousands of issues
// is not searched from its beginning for every one.
type lines []int

func lineStarts(text []byte) lines {
	starts := lines{0}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// position is jsontree.Position.
func (l lines) position(offset int) (line, column int) {
	line = sort.Search(len(l), func(i int) bool { return l[i] > offset })
	return line, offset - l[line-1] + 1
}
