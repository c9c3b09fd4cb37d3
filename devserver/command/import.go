package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/importer"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

type importFlags struct {
	from, into, report        string
	json, dryRun, skipRefused bool
}

func newImport(in Invocation) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import <file-or-directory>...",
		Short: "Import the flags of another system",
		Long: `Make a config directory of the flags of another system, or add them to one.
Which system a file is from is recognised; --from says it where it is not. Of a
directory, all files of JSON and YAML in it are read.

What became of each flag is told: imported, which serves what it did; approximated, with
where it may serve something else and why; refused, with what is in the way. Where
a flag is refused nothing is written, unless --skip-refused leaves it out. --report
writes all of it as a page of Markdown.`,
		Example: `  svc import flags.flagd.json --dry-run
  svc import flags.flagd.json --into our-config --report import.md`,
		Args: cli.Arguments("name what was exported"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.into == "" {
				return cli.Usagef("--into: the name of the config directory is empty")
			}
			return in.importFlags(cmd.Context(), args, f)
		},
	}
	cmd.Flags().StringVar(&f.from, "from", "", "the system that the files are from: "+strings.Join(importer.Systems(), ", "))
	cmd.Flags().StringVar(&f.into, "into", defaultDatadir, "the config directory to write or to add to")
	cmd.Flags().StringVar(&f.report, "report", "", "write what became of each flag into this file, as Markdown")
	cmd.Flags().BoolVar(&f.json, "json", false, "print what became of each flag as JSON")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "write no config directory")
	cmd.Flags().BoolVar(&f.skipRefused, "skip-refused", false, "leave out what is refused, and write the rest")
	return cmd
}

func (in Invocation) importFlags(ctx context.Context, args []string, f importFlags) error {
	files, err := in.exported(args)
	if err != nil {
		return err
	}
	dir := in.Absolute(f.into)
	there, err := in.importTarget(dir)
	if err != nil {
		return fmt.Errorf("nothing written: %w", err)
	}
	ws, _ := workspace.Read(there)
	taken := map[string]bool{}
	for _, item := range ws.Items {
		taken[strings.ToLower(item.Key)] = true
	}
	result, err := importer.Import(f.from, files, taken)
	if err != nil {
		return err
	}
	for _, name := range result.Environments {
		if _, known := ws.Environment(name); len(there) > 0 && !known {
			return fmt.Errorf("nothing written: %s has no environment %q; add it to the environments in its svc.json first", in.Display(dir), name)
		}
	}
	if f.report != "" {
		if err := os.WriteFile(in.Absolute(f.report), []byte(result.Markdown()), 0o666); err != nil {
			return plainPathError(err)
		}
	}
	if f.json {
		err = cli.JSON(in.Stdout, result)
	} else {
		err = in.write(importText(result))
	}
	refused := result.Count(importer.Refused)
	fmt.Fprintf(in.Stderr, "%s: %d imported, %d approximated, %d refused\n", result.System, result.Count(importer.Imported), result.Count(importer.Approximated), refused)
	switch {
	case err != nil:
		return err
	case refused > 0 && !f.skipRefused:
		fmt.Fprintln(in.Stderr, "nothing written; --skip-refused leaves out what is refused")
		return cli.ErrSaid
	case f.dryRun:
		return nil
	}
	if err := writeImport(ctx, dir, additions(there, result)); err != nil {
		return fmt.Errorf("nothing written: %w", plainPathError(err))
	}
	fmt.Fprintf(in.Stderr, "wrote %s into %s\n", cli.Plural(len(result.Files), "document"), in.Display(dir))
	return nil
}

// importTarget is what the files of the directory hold that is written to; none where there
// is no directory yet.
func (in Invocation) importTarget(dir string) (map[string][]byte, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := datadir.RefuseGits(dir); err != nil {
		return nil, err
	}
	state := datadir.Look(dir)
	for _, p := range state.Problems {
		if p.Severity == workspace.Error {
			return nil, errors.New(p.In(in.Display(dir)))
		}
	}
	return state.Files, nil
}

func writeImport(ctx context.Context, dir string, edits []datadir.Edit) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	lock, err := datadir.Lock(ctx, dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	return datadir.Write(ctx, dir, edits)
}

// importText is what became of the flags that are not simply imported, for people.
func importText(r *importer.Result) string {
	var b strings.Builder
	for _, item := range r.Items {
		for _, reason := range item.Reasons {
			fmt.Fprintf(&b, "%s: %s %s: %s (%s)\n", terminal.Escape(item.File), terminal.Escape(item.Key), item.Outcome, terminal.Escape(reason.Message), terminal.Escape(reason.Pointer))
		}
	}
	return b.String()
}

// additions are the edits that add documents to a directory, and what a new one has beside
// them.
func additions(there map[string][]byte, result *importer.Result) (edits []datadir.Edit) {
	fresh := len(there) == 0
	for path, text := range result.Files {
		if tree, err := jsontree.Parse(text); err == nil && fresh {
			text = edit.StampSchema(tree, "../"+schemaFile).Encode()
		}
		edits = append(edits, datadir.Edit{Path: path, Content: text})
	}
	if fresh {
		environments := result.Environments
		if len(environments) == 0 {
			environments = []string{"development", "production"}
		}
		settings, _ := json.MarshalIndent(map[string][]string{"environments": environments}, "", "  ")
		edits = append(edits, datadir.Edit{Path: workspace.File, Content: append(settings, '\n')},
			datadir.Edit{Path: schemaFile, Content: document.SchemaJSON()})
	}
	return edits
}

// maxExported is how many files are imported at a time.
const maxExported = 10_000

// exported reads the files that are to be imported, and those in directories.
func (in Invocation) exported(args []string) (files []importer.File, err error) {
	left := int64(importer.MaxFile)
	add := func(path string) error {
		file, err := in.exportedFile(path, left)
		if left -= int64(len(file.Text)); err == nil {
			files = append(files, file)
		}
		return err
	}
	for _, arg := range args {
		info, err := os.Stat(in.Absolute(arg))
		if err != nil {
			return nil, plainPathError(err)
		}
		if !info.IsDir() {
			if err := add(arg); err != nil {
				return nil, err
			}
			continue
		}
		entries, err := os.ReadDir(in.Absolute(arg))
		if err != nil {
			return nil, plainPathError(err)
		}
		if len(entries) > maxExported {
			return nil, fmt.Errorf("%s: there are more than %d files; import them in parts", arg, maxExported)
		}
		for _, e := range entries {
			if e.Type().IsRegular() && importer.IsExport(e.Name()) {
				if err := add(filepath.Join(arg, e.Name())); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(files) == 0 {
		return nil, errors.New("there is no file of JSON or YAML to import")
	}
	return files, nil
}

func (in Invocation) exportedFile(path string, most int64) (f importer.File, err error) {
	if info, err := os.Stat(in.Absolute(path)); err == nil && !info.Mode().IsRegular() { // before it is opened: a pipe would wait
		return f, fmt.Errorf("%s: this is no regular file", terminal.Escape(path))
	}
	opened, err := os.Open(in.Absolute(path))
	if err != nil {
		return f, plainPathError(err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, most+1))
	switch {
	case err != nil:
		return f, plainPathError(err)
	case int64(len(text)) > most:
		return f, fmt.Errorf("%s: more than %d MiB together; export in parts, such as by project", path, importer.MaxFile>>20)
	}
	return importer.File{Name: terminal.Escape(filepath.ToSlash(path)), YAML: importer.IsYAML(path), Text: text}, nil
}
