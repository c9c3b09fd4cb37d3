package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/verification"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

type verifyFlags struct {
	format              string
	strict, fix, dryRun bool
}

func newVerify(in Invocation) *cobra.Command {
	var f verifyFlags
	var datadirFlag string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [dir]",
		Short: "Check a config directory",
		Long: `Check every file of a config directory: its structure, its values against their
types and schemas, and its references to other files. Each problem is printed
as file:line:column: message (JSON Pointer) [CODE]. The exit status is 1 when there
is an error; warnings alone leave it 0, unless --strict is given.

A warning is about something that is valid but probably not what you meant: a rule
that never matches, a misspelled name, a file that is ignored.

With --fix, whatever has exactly one right answer is fixed: a byte order mark, a file in
UTF-16, a key that is not the file's name, a key or type that is missing, and what older
systems have in another way: environments in capitals, their name of the current time,
sendToClientSdk on a flag. Every other byte stays as it is, and so does a file that is no
document of svc.`,
		Example: `  svc verify
  svc verify ./our-config --json
  svc verify --strict          # in CI
  svc verify --fix --dry-run   # what would be fixed?`,
		Args: cli.Arguments("one config directory is checked"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				f.format = "json"
			}
			switch {
			case f.format != "text" && f.format != "json" && f.format != "github":
				return cli.Usagef("--format %s: the formats are text, json and github", f.format)
			case f.dryRun && !f.fix:
				return cli.Usagef("--dry-run is of --fix: without it nothing is written")
			case len(args) > 0 && datadirFlag != "":
				return cli.Usagef("the config directory is named twice: %s and --datadir %s", args[0], datadirFlag)
			case len(args) > 0:
				if datadirFlag = args[0]; datadirFlag == "" {
					return cli.Usagef("the name of the config directory is empty")
				}
			}
			dir, err := in.discover(datadirFlag)
			if err != nil {
				return err
			}
			return verify(cmd.Context(), in, dir, f)
		},
	}
	cmd.Flags().StringVar(&datadirFlag, "datadir", "", datadirUsage)
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit with 1 for warnings too")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "fix whatever has exactly one right answer")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "with --fix: show what would be fixed, and write nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON: --format json")
	cmd.Flags().StringVar(&f.format, "format", "text", "text, json or github (annotations of files, in a step of GitHub Actions)")
	return cmd
}

func verify(ctx context.Context, in Invocation, dir string, f verifyFlags) error {
	var fixed []fixReport
	var err, unfixed error
	if f.fix && !f.dryRun {
		lock, err := datadir.Lock(ctx, dir)
		if err != nil {
			return fmt.Errorf("nothing fixed: %w", err)
		}
		defer lock.Close()
	}
	state := datadir.Look(dir)
	if f.fix {
		fixed, unfixed = fixes(ctx, dir, state, !f.dryRun)
	}
	found, problems := verification.OfDirectory(dir, state)
	v := checked{Directory: found}
	if f.fix {
		v.Fixed, v.DryRun = &fixed, f.dryRun
	}
	v.OK = v.OK && (v.Warnings == 0 || !f.strict)
	switch f.format {
	case "json":
		err = cli.JSON(in.Stdout, v)
	case "github":
		err = in.commands(annotations(ctx, in.Display(dir), dir, v))
	default:
		if err = in.write(v.text(in.Display(dir), problems)); err != nil {
			return err
		}
		summary := fmt.Sprintf("%s: %s, %s, %s", in.Display(dir), cli.Plural(v.Files, "file"), cli.Plural(v.Errors, "error"), cli.Plural(v.Warnings, "warning"))
		fixable := func(p workspace.Problem) bool { rule, _ := problem.Lookup(p.Code); return rule.Fixed != "" }
		if !f.fix && slices.ContainsFunc(problems, fixable) {
			if fixed, _ = fixes(ctx, dir, state, false); len(fixed) > 0 {
				summary += fmt.Sprintf("; svc verify --fix mends %d", len(fixed))
			}
		}
		fmt.Fprintln(in.Stderr, summary)
	}
	if err = errors.Join(err, unfixed); err != nil {
		return err
	}
	if !v.OK {
		return cli.ErrSaid
	}
	return nil
}

// text is the problems, and what was mended, for people.
func (v checked) text(shown string, problems []workspace.Problem) string {
	var b strings.Builder
	if v.Fixed != nil {
		did := "fixed"
		if v.DryRun {
			did = "would fix"
		}
		for _, m := range *v.Fixed {
			fmt.Fprintln(&b, workspace.Problem{File: m.File, Severity: workspace.Error, Message: did + ": " + m.Message, Pointer: m.Path, Code: m.Code}.In(shown))
		}
	}
	for _, p := range problems {
		fmt.Fprintln(&b, p.In(shown))
	}
	return b.String()
}

// fixes are what can be mended in a directory. To mend it changes the files, and the
// state with them. The error is of those files that have to be mended by hand; the
// others are mended all the same.
func fixes(ctx context.Context, dir string, state datadir.State, mend bool) ([]fixReport, error) {
	reports := []fixReport{}
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(state.Files)) {
		text, mended := workspace.Fix(name, state.Files[name])
		if len(mended) == 0 {
			continue
		}
		if err := rewrite(ctx, dir, name, state.Files[name], text, mend); err != nil {
			failed = append(failed, fmt.Errorf("%s is not fixed: %w", name, err))
			continue
		}
		if mend {
			state.Files[name] = text
		}
		for _, m := range mended {
			reports = append(reports, fixReport{m.Code, name, m.Pointer, m.Message})
		}
	}
	return reports, errors.Join(failed...)
}

// rewrite gives a file another text, if it still has the one that was read; or only
// finds out whether it could.
func rewrite(ctx context.Context, dir, name string, was, text []byte, really bool) error {
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is a symbolic link; fix the file that it leads to")
	case !really:
		return nil
	}
	err = datadir.Write(ctx, dir, []datadir.Edit{{Path: name, Was: was, Content: text}})
	if errors.Is(err, datadir.ErrChanged) {
		return errors.New("it has just been changed; run svc verify --fix again")
	}
	return err
}

// annotations are the problems as workflow commands of GitHub Actions, with paths from
// the root of the repository, where there is one.
func annotations(ctx context.Context, shown, dir string, v checked) string {
	if git, err := openGit(ctx, dir); err == nil {
		shown = git.Prefix
	}
	at := func(file string) string { return "file=" + commandProperty(path.Join(filepath.ToSlash(shown), file)) }
	var b strings.Builder
	if v.Fixed != nil && !v.DryRun {
		for _, m := range *v.Fixed {
			fmt.Fprintf(&b, "::notice %s,title=%s::fixed: %s\n", at(m.File), m.Code, commandData(m.Message))
		}
	}
	for _, p := range v.Problems {
		place := at(p.File)
		if p.Line > 0 {
			place += fmt.Sprintf(",line=%d,col=%d", p.Line, p.Column)
		}
		message := p.Message
		if p.Path != "" {
			message += " (" + p.Path + ")"
		}
		fmt.Fprintf(&b, "::%s %s,title=%s::%s\n", p.Severity, place, p.Code, commandData(message))
	}
	if omitted := v.Omitted.Errors + v.Omitted.Warnings; omitted > 0 {
		fmt.Fprintf(&b, "::notice::%d more problems are not annotated\n", omitted)
	}
	return b.String()
}

// checked is the answer of svc verify --json.
type checked struct {
	verification.Directory
	// Fixed is what --fix has mended, and Problems what it has left; with DryRun it is
	// what it would mend, of Problems. Without --fix there is neither.
	Fixed  *[]fixReport `json:"fixed,omitempty"`
	DryRun bool         `json:"dryRun,omitempty"`
}

type fixReport struct {
	Code    problem.Code `json:"code"`
	File    string       `json:"file"`
	Path    string       `json:"path"`
	Message string       `json:"message"`
}
