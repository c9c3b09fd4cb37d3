package command

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/workspace"
)

func newVerify(in Invocation) *cobra.Command {
	var path string
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check a config directory",
		Long: `Check every file of a config directory: its structure, its values against their
types and schemas, and what files say of one another. Each problem is printed
as file:line:column: message (JSON Pointer). The exit status is 1 when there is
an error; warnings alone leave it 0, unless --strict is given.

A warning is about something that is valid but probably not what was meant: a rule
that never matches, a misspelt name, a file that is left out.`,
		Example: `  svc verify
  svc verify --datadir ./our-config --json
  svc verify --strict     # in CI`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: cli.Run(func(cmd *cobra.Command, _ []string) error {
			if err := cli.RefuseEmpty(cmd, "datadir"); err != nil {
				return err
			}
			dir, err := datadir.Discover(path, in.Getenv, in.Workdir)
			if err != nil {
				return err
			}
			return verify(in, dir, asJSON, strict)
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&path, "datadir", "", "config directory (default ./our-config, then ./.svc, then $SVC_DIR)")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 for warnings too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func verify(in Invocation, dir string, asJSON, strict bool) error {
	state := datadir.Look(dir)
	ws, problems := workspace.ReadAndVerify(state.Files)
	problems = slices.Concat(state.Problems, problems, datadir.Overlooked(dir))
	v := verification{Datadir: dir, Files: len(ws.Items) + len(ws.Schemas), Problems: []problemReport{}}
	if ws.Declared {
		v.Files++
	}
	for _, p := range problems {
		severity, total, omitted := "error", &v.Errors, &v.Omitted.Errors
		if p.Severity == workspace.Warning {
			severity, total, omitted = "warning", &v.Warnings, &v.Omitted.Warnings
		}
		*total += max(1, p.More)
		if *omitted += p.More; p.More > 0 {
			continue
		}
		v.Problems = append(v.Problems, problemReport{severity, p.File, p.Line, p.Column, p.Pointer, p.Message})
	}
	v.OK = v.Errors == 0 && (v.Warnings == 0 || !strict)
	if asJSON {
		enc := json.NewEncoder(in.Stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			fmt.Fprintln(in.Stdout, p.In(in.display(dir)))
		}
		fmt.Fprintf(in.Stderr, "%s: %s, %s, %s\n", in.display(dir), cli.Plural(v.Files, "file"), cli.Plural(v.Errors, "error"), cli.Plural(v.Warnings, "warning"))
	}
	if !v.OK {
		return cli.ErrSaid
	}
	return nil
}

// verification is the answer of svc verify --json.
type verification struct {
	OK       bool            `json:"ok"`
	Datadir  string          `json:"datadir"`
	Files    int             `json:"files"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Problems []problemReport `json:"problems"`
	// Omitted counts those of Errors and Warnings that are not among Problems: the
	// first workspace.MaxProblems of each kind are.
	Omitted struct {
		Errors   int `json:"errors"`
		Warnings int `json:"warnings"`
	} `json:"omitted"`
}

type problemReport struct {
	Severity string `json:"severity"` // error or warning
	File     string `json:"file"`     // in the datadir, with forward slashes
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path"` // JSON Pointer into the file
	Message  string `json:"message"`
}
