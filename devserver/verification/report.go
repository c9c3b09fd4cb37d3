// Package verification reports what svc verify finds, for commands and programs.
package verification

import (
	"slices"

	"svc.example/svc/devserver/importer"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// Report is what a check of all documents has found.
type Report struct {
	Files    int       `json:"files"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Problems []Problem `json:"problems"`
	// Omitted counts those of Errors and Warnings that are not among Problems: the
	// first workspace.MaxProblems of each kind are.
	Omitted struct {
		Errors   int `json:"errors"`
		Warnings int `json:"warnings"`
	} `json:"omitted"`
}

// Problem is one of them.
type Problem struct {
	Severity string       `json:"severity"` // error or warning
	Code     problem.Code `json:"code"`
	File     string       `json:"file"` // in the datadir, with forward slashes
	Line     int          `json:"line,omitempty"`
	Column   int          `json:"column,omitempty"`
	Path     string       `json:"path"` // JSON Pointer into the file
	Message  string       `json:"message"`
}

// Directory is what there is against a config directory: the answer of svc verify
// --json.
type Directory struct {
	OK      bool   `json:"ok"`
	Datadir string `json:"datadir"`
	Report
}

// OfDirectory checks every file of a directory, as it was read. The problems are those
// of the report, with those that it only counts.
func OfDirectory(dir string, state datadir.State) (Directory, []workspace.Problem) {
	ws, problems := workspace.ReadAndVerify(state.Files)
	problems = slices.Concat(state.Problems, problems, importer.Overlooked(dir))
	report := Of(ws, problems)
	return Directory{OK: report.Errors == 0, Datadir: dir, Report: report}, problems
}

// Of reports what was found of a workspace.
func Of(ws *workspace.Workspace, problems []workspace.Problem) Report {
	r := Report{Files: len(ws.Items) + len(ws.Schemas), Problems: []Problem{}}
	if ws.Declared {
		r.Files++
	}
	for _, p := range problems {
		severity, total, omitted := "error", &r.Errors, &r.Omitted.Errors
		if p.Severity == workspace.Warning {
			severity, total, omitted = "warning", &r.Warnings, &r.Omitted.Warnings
		}
		*total += max(1, p.More)
		if *omitted += p.More; p.More > 0 {
			continue
		}
		r.Problems = append(r.Problems, Problem{severity, p.Code, p.File, p.Line, p.Column, p.Pointer, p.Message})
	}
	return r
}
