package jsontree_test

import (
	"slices"
	"testing"

	"svc.example/svc/shared/jsontree"
)

func TestIssuesInWords(t *testing.T) {
	some := []jsontree.Issue{{Pointer: "/a", Message: "is missing"}, {Message: "is odd"}}
	for want, issues := range map[string][]jsontree.Issue{
		"":                          nil,
		"/a: is missing; is odd":    some,
		"x; x; x; x; x; and 2 more": slices.Repeat([]jsontree.Issue{{Message: "x"}}, 7),
	} {
		if got := jsontree.InWords(issues); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBounded(t *testing.T) {
	all := slices.Repeat([]jsontree.Issue{{Message: "x"}}, jsontree.MaxIssues+2)
	if got := jsontree.Bounded(all[:jsontree.MaxIssues]); len(got) != jsontree.MaxIssues {
		t.Errorf("%d issues became %d", jsontree.MaxIssues, len(got))
	}
	got := jsontree.Bounded(all)
	if last := got[len(got)-1]; len(got) != jsontree.MaxIssues+1 || last != jsontree.More(2) {
		t.Errorf("%d issues became %d, the last %v", len(all), len(got), last)
	}
	if all[jsontree.MaxIssues].Message != "x" {
		t.Error("the caller's issues were written over")
	}
}
