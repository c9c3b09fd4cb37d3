package document

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// distinct puts issues in the order of their pointers and drops repetitions:
// two branches of a schema can find the same thing.
func distinct(issues []Issue) []Issue {
	slices.SortStableFunc(issues, func(a, b Issue) int {
		return cmp.Or(comparePointers(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(issues)
}

// comparePointers orders JSON Pointers part by part, indexes by their number.
func comparePointers(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), func(x, y string) int {
		i, errX := strconv.Atoi(x)
		j, errY := strconv.Atoi(y)
		if errX == nil && errY == nil {
			return cmp.Compare(i, j)
		}
		return cmp.Compare(x, y)
	})
}

// NewIssues returns the issues that a change of a document brings in, given
// all of them before and after it: what the author of the change is told. A
// document that was already imperfect can still be switched off.
//
// Issues are the same when their messages are and they stand in the same kind
// of place. The place leaves the indexes of arrays out, since a rule that is
// added or removed moves the others, and does not tell one scope from another,
// since an environment that gets rules of its own gets copies of the default
// rules. What counts is how often: an issue is new when a scope has more of
// its kind than any scope had before. So a change that repairs one rule and
// breaks another of the same list in the very same way passes; nothing that
// adds an issue does.
func NewIssues(before, after []Issue) []Issue {
	known := map[Issue]bool{}
	allowed := map[issueKind]int{}
	for t, n := range tally(before, func(issue Issue) bool { known[issue] = true; return true }) {
		t.scope = ""
		allowed[t] = max(allowed[t], n)
	}
	// Those at their old place are old, whichever stands first in the list.
	used := tally(after, func(issue Issue) bool { return known[issue] })
	var fresh []Issue
	for _, issue := range after {
		if known[issue] {
			continue
		}
		t := kindOf(issue)
		kind := t
		kind.scope = ""
		if used[t]++; used[t] > allowed[kind] {
			fresh = append(fresh, issue)
		}
	}
	return fresh
}

// issueKind is what issues of the same kind have in common, and their scope.
type issueKind struct {
	scope, place, message string
}

func tally(issues []Issue, counts func(Issue) bool) map[issueKind]int {
	n := map[issueKind]int{}
	for _, issue := range issues {
		if counts(issue) {
			n[kindOf(issue)]++
		}
	}
	return n
}

func kindOf(issue Issue) issueKind {
	parts := strings.Split(issue.Pointer, "/")
	t := issueKind{message: issue.Message}
	switch {
	case len(parts) > 1 && parts[1] == DefaultScope:
		t.scope, parts = DefaultScope, parts[2:]
	case len(parts) > 2 && parts[1] == "environments":
		t.scope, parts = parts[2], parts[3:]
	}
	for i, part := range parts {
		if _, err := strconv.Atoi(part); err == nil {
			parts[i] = "*"
		}
	}
	t.place = strings.Join(parts, "/")
	return t
}
