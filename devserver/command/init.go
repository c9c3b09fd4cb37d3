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
	"svc.example/svc/shared/console"
)

const defaultDatadir = "our-config"

func newInit(in Invocation) *cobra.Command {
	var samples bool
	cmd := &cobra.Command{
		Use:   "init [dir]",
		Short: "Lay out a config directory",
		Long: `Lay out a config directory, ./our-config unless another is named: a svc.json
with the environments, and an example of each type of file. With --samples there
are more of them, one for each thing a flag or config can do. A file that is
already there is never touched.`,
		Example: `  svc init
  svc init ./our-config --samples`,
		Args: console.Arguments(""),
		RunE: console.Run(func(_ *cobra.Command, args []string) error {
			dir := defaultDatadir
			if len(args) == 1 {
				dir = args[0]
			}
			if dir == "" {
				return console.Usagef("the directory's name is empty")
			}
			return layOut(in, dir, samples)
		}),
	}
	cmd.Flags().BoolVar(&samples, "samples", false, "lay out more examples: rollouts, targeting, segments, schemas")
	return cmd
}

func layOut(in Invocation, dir string, samples bool) error {
	target := dir
	if !filepath.IsAbs(target) {
		target = filepath.Join(in.Workdir, dir)
	}
	files := sample.Minimal()
	if samples {
		files = sample.All()
	}
	if err := refuseToOverwrite(target, dir, files); err != nil {
		return err
	}
	for _, f := range files {
		if err := writeNew(filepath.Join(target, filepath.FromSlash(f.Path)), f.Content); err != nil {
			return err
		}
		fmt.Fprintln(in.Stderr, "wrote", filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	fmt.Fprintf(in.Stdout, "Next: %s\n", nextCommand(dir))
	return nil
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
func refuseToOverwrite(target, dir string, files []sample.File) error {
	if info, err := os.Stat(target); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file; name a directory", dir)
	}
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(target, filepath.FromSlash(f.Path))); err == nil {
			there = append(there, filepath.Join(dir, filepath.FromSlash(f.Path)))
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("nothing written, these files are already there:\n%s", strings.Join(there, "\n"))
	}
	return nil
}

func writeNew(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return plainPathError(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return plainPathError(err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// plainPathError leaves the name of the system call out.
func plainPathError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("cannot write %s: %w", path.Path, path.Err)
	}
	return err
}
