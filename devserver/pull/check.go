package pull

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/workspace"
)

// maxTold is how many problems are listed: there may be one for each document.
const maxTold = 20

// listed is an error with a line for each of the first of many problems.
func listed(what string, lines []string) error {
	if more := len(lines) - maxTold; more > 0 {
		lines = append(lines[:maxTold:maxTold], fmt.Sprintf("and %d more", more))
	}
	return errors.New(what + "\n" + strings.Join(lines, "\n"))
}

// check looks at the directory as it would be after the pull. What is wrong
// already with a file that the workspace does not have is told, and stops
// nothing.
func (p *Plan) check(files map[string]file) error {
	before := p.local.Files
	known, many := map[workspace.Problem]bool{}, false
	for _, problem := range fatal(before) {
		known[problem] = true
		many = many || problem.More > 0
	}
	after := map[string][]byte{}
	maps.Copy(after, before)
	for _, path := range p.Remove {
		delete(after, path)
	}
	maps.Copy(after, p.content)
	var refused []workspace.Problem
	for _, problem := range fatal(after) {
		if _, pulled := files[problem.File]; pulled || !known[problem] && (problem.More == 0 || !many) {
			refused = append(refused, problem)
		} else {
			p.Problems = append(p.Problems, problem)
		}
	}
	if len(refused) > 0 {
		workspace.SortProblems(refused)
		var lines []string
		for _, problem := range refused {
			lines = append(lines, problem.String())
		}
		return listed("svc serve would refuse the directory with what the workspace holds", lines)
	}
	_, problems := workspace.ReadAndVerify(after)
	for _, problem := range problems {
		_, pulled := files[problem.File]
		if pulled && problem.Severity == workspace.Error {
			p.Problems = append(p.Problems, problem)
		}
	}
	for _, problem := range workspace.FatalOnly(p.local.Problems) {
		if _, replaced := p.content[problem.File]; !replaced && !slices.Contains(p.Remove, problem.File) {
			p.Problems = append(p.Problems, problem)
		}
	}
	workspace.SortProblems(p.Problems)
	return nil
}

// fatal is what keeps files from being served.
func fatal(files map[string][]byte) []workspace.Problem {
	_, problems := workspace.ReadServable(files, nil)
	return workspace.FatalOnly(problems)
}
