package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/sample"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/git"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

const defaultDatadir = "our-config"

func newInit(in Invocation) *cobra.Command {
	var samples bool
	cmd := &cobra.Command{
		Use:   "init [dir]",
		Short: "Create a config directory with examples",
		Long: `Create a config directory, ./our-config unless you name another: a svc.json with
the environments, an example of each type of file, and a JSON Schema that lets
editors complete and check them. --samples adds an example of everything that a flag
or config can do. If any of the files already exists, nothing is written.`,
		Example: `  svc init
  svc init ./our-config --samples`,
		Args: cli.Arguments(""),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := defaultDatadir
			if len(args) == 1 {
				dir = args[0]
			}
			if dir == "" {
				return cli.Usagef("the directory's name is empty")
			}
			return layOut(in, dir, samples)
		},
	}
	cmd.Flags().BoolVar(&samples, "samples", false, "add more examples: rollouts, targeting, segments, schemas")
	return cmd
}

func layOut(in Invocation, dir string, samples bool) error {
	target := in.Absolute(dir)
	files := sample.Minimal()
	if samples {
		files = sample.All()
	}
	files, err := withSchema(files)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	leads, _ := os.Readlink(target)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file; name a directory", dir)
	case leads != "" && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is a symbolic link to %s, which does not exist; name a directory that is new", dir, leads)
	}
	if err := datadir.RefuseGits(target); err != nil {
		return fmt.Errorf("nothing written: %s: %w", dir, err)
	}
	if _, err := git.Locate(target); err != nil {
		return fmt.Errorf("nothing written: %w", err)
	}
	if err := os.MkdirAll(target, 0o777); err != nil {
		return plainPathError(err)
	}
	root, err := os.OpenRoot(target) // nothing is written outside it, whatever links lie in it
	if err != nil {
		return plainPathError(err)
	}
	defer root.Close()
	if err := refuseToOverwrite(root, dir, files); err != nil {
		return err
	}
	for _, f := range files {
		if err := writeNew(root, filepath.FromSlash(f.Path), f.Content); err != nil {
			return err
		}
		fmt.Fprintln(in.Stderr, "wrote", filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	fmt.Fprintf(in.Stdout, "Next: %s\n", nextCommand(dir))
	return nil
}

// schemaFile is where editors find the JSON Schema of a directory's documents. It
// begins with a dot, so nobody reads it as a document.
const schemaFile = ".stored-config.json"

// withSchema adds the JSON Schema of documents, and has each document name it.
func withSchema(files []sample.File) ([]sample.File, error) {
	withSchema := []sample.File{{Path: schemaFile, Content: document.SchemaJSON()}}
	for _, f := range files {
		if folder, _, ok := workspace.SplitPath(f.Path); ok && folder != workspace.Schemas {
			tree, err := jsontree.Parse(f.Content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
			f.Content = edit.StampSchema(tree, "../"+schemaFile).Encode()
		}
		withSchema = append(withSchema, f)
	}
	return withSchema, nil
}

func nextCommand(dir string) string {
	if filepath.Clean(dir) == defaultDatadir {
		return "svc serve"
	}
	if strings.ContainsAny(dir, " '\"$&") {
		dir = `"` + dir + `"`
	}
	return "svc serve --datadir " + dir
}

// refuseToOverwrite lists everything in the way before anything is written.
func refuseToOverwrite(root *os.Root, dir string, files []sample.File) error {
	var there []string
	for _, f := range files {
		path := filepath.FromSlash(f.Path)
		if folder := filepath.Dir(path); leadsOut(root, folder) {
			return fmt.Errorf("nothing written: %s is a symbolic link that leads out of the directory, or nowhere; put a folder in its place", filepath.Join(dir, folder))
		}
		if _, err := root.Lstat(path); err == nil {
			there = append(there, filepath.Join(dir, path))
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("nothing written, these files are already there:\n%s", strings.Join(there, "\n"))
	}
	return nil
}

// leadsOut reports whether a folder is a link that a root does not follow.
func leadsOut(root *os.Root, folder string) bool {
	info, err := root.Lstat(folder)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	_, err = root.Stat(folder)
	return err != nil
}

func writeNew(root *os.Root, path string, content []byte) error {
	if err := root.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return plainPathError(err)
	}
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return plainPathError(err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// plainPathError leaves the name of the system call out.
func plainPathError(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot write %s: %w", path.Path, path.Err)
	}
	return err
}
