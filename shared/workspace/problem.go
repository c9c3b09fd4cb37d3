package workspace

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/problem"
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
	// Code is the rule that is broken; "" for what no verification finds.
	Code problem.Code
	// More is how many problems of the severity were left out, where there are
	// more than MaxProblems: there is no place then.
	More int
}

// MaxProblems is how many problems of each severity are told of a workspace.
const MaxProblems = 1000

// String is the problem as one line, which begins as compilers begin theirs, so
// that editors find the place: file:line:column: message (JSON Pointer) [CODE]. Names
// and texts come from files, so the line is escaped.
func (p Problem) String() string { return p.in(p.File) }

func (p Problem) in(file string) string {
	if p.More > 0 {
		return p.Message
	}
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
	if p.Code != "" {
		what += " [" + string(p.Code) + "]"
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
		return cmp.Or(cmp.Compare(a.More, b.More), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// FatalOnly returns the problems that keep a workspace from being served.
func FatalOnly(problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Severity != Fatal })
}

// collector keeps the first MaxProblems problems of each severity, and counts the
// others: a workspace may be nothing but mistakes. Where there is each, it is told
// all of them but warnings, until it wants no more, and none is kept.
type collector struct {
	each  func(p Problem) (more bool)
	ended bool // each wants no more
	list  []Problem
	told  [Fatal + 1]int
	more  [Fatal + 1]int
}

func (c *collector) add(problems ...Problem) {
	for _, p := range problems {
		switch {
		case c.ended:
			return
		case c.each != nil:
			c.ended = p.Severity != Warning && !c.each(p)
		case p.More > 0:
			c.more[p.Severity] += p.More
		case c.told[p.Severity] == MaxProblems:
			c.more[p.Severity]++
		default:
			c.told[p.Severity]++
			c.list = append(c.list, p)
		}
	}
}

// locate adds a file's issues, with line and column.
func (c *collector) locate(severity Severity, f file, issues []document.Issue) {
	if room := MaxProblems - c.told[severity]; c.each == nil && len(issues) > room {
		c.more[severity] += len(issues) - room
		issues = issues[:room]
	}
	if len(issues) == 0 || c.ended {
		return
	}
	starts := lineStarts(bytes.TrimPrefix(f.text, byteOrderMark))
	for _, issue := range issues {
		if c.ended {
			return
		}
		issue = issue.Cut()
		p := Problem{Severity: severity, File: f.path, Pointer: issue.Pointer, Message: issue.Message, Code: issue.Code}
		if n := f.tree.Nearest(issue.Pointer); n != nil && n.Offset >= 0 {
			p.Line, p.Column = starts.position(n.Offset)
		}
		c.add(p)
	}
}

// all are the problems that were kept, and what stands for the others.
func (c *collector) all() []Problem {
	all := c.list
	for severity, n := range c.more {
		if n > 0 {
			what := [...]string{"warnings", "errors", "errors in files that cannot be served"}[severity]
			all = append(all, Problem{Severity: Severity(severity), More: n, Message: fmt.Sprintf("and %d more %s", n, what)})
		}
	}
	return all
}

// sorted is all, in order.
func (c *collector) sorted() []Problem {
	all := c.all()
	SortProblems(all)
	return all
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
