package document

import (
	"slices"
	"strings"
	"testing"
)

func issuesOf(all ...string) []Issue {
	var issues []Issue
	for _, line := range all {
		pointer, message, _ := strings.Cut(line, ": ")
		issues = append(issues, Issue{Pointer: pointer, Message: message})
	}
	return issues
}

func TestNewIssues(t *testing.T) {
	for _, tt := range []struct {
		name                string
		before, after, want []string
	}{
		{"nothing", nil, nil, nil},
		{"all new", nil, []string{"/key: bad"}, []string{"/key: bad"}},
		{"unchanged", []string{"/key: bad", "/default/rules/0/criteria: empty"}, []string{"/key: bad", "/default/rules/0/criteria: empty"}, nil},
		{"mended", []string{"/key: bad", "/access: bad"}, []string{"/key: bad"}, nil},
		{"another message at the same place", []string{"/key: bad"}, []string{"/key: worse"}, []string{"/key: worse"}},
		{"a rule came before it", []string{"/default/rules/0/criteria: empty"}, []string{"/default/rules/1/criteria: empty"}, nil},
		{"a rule before it went", []string{"/default/rules/3/criteria: empty"}, []string{"/default/rules/2/criteria: empty"}, nil},
		{"one more of the kind", []string{"/default/rules/1/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/default/rules/1/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty"}},
		{"an environment seeded from the default rules",
			[]string{"/default/rules/0/criteria: empty", "/default/rules/4/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/default/rules/4/criteria: empty", "/environments/2/rules/0/criteria: empty", "/environments/2/rules/4/criteria: empty"},
			nil},
		{"seeded, and one more",
			[]string{"/default/rules/0/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/environments/0/rules/0/criteria: empty", "/environments/0/rules/1/criteria: empty"},
			[]string{"/environments/0/rules/1/criteria: empty"}},
		{"no scope gets what two had together",
			[]string{"/default/rules/0/criteria: empty", "/environments/0/rules/0/criteria: empty"},
			[]string{"/default/rules/0/criteria: empty", "/environments/0/rules/0/criteria: empty", "/environments/0/rules/1/criteria: empty"},
			[]string{"/environments/0/rules/1/criteria: empty"}},
		{"another part of the rule", []string{"/default/rules/0/value/type: bad"}, []string{"/default/rules/0/criteria/0/valueToMatch/type: bad"},
			[]string{"/default/rules/0/criteria/0/valueToMatch/type: bad"}},
		{"outside the scopes no place is like another", []string{"/default/rules/0/value/type: bad"}, []string{"/variants/0/value/type: bad"}, []string{"/variants/0/value/type: bad"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewIssues(issuesOf(tt.before...), issuesOf(tt.after...)); !slices.Equal(got, issuesOf(tt.want...)) {
				t.Errorf("got %q, want %q", lines(got), tt.want)
			}
		})
	}
}

func TestComparePointers(t *testing.T) {
	sorted := []string{"", "/a", "/a/2", "/a/10", "/a/10/b", "/a/x", "/b"}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, comparePointers)
	if !slices.Equal(shuffled, sorted) {
		t.Errorf("%q", shuffled)
	}
}
