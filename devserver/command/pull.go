package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// pullFlags are the flags of svc pull.
type pullFlags struct {
	remoteFlags
	datadir       string
	force, dryRun bool
}

func newPull(in Invocation) *cobra.Command {
	var f pullFlags
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Copy a workspace into a config directory, over the REST API",
		Long: `Copy a hosted workspace, or the one of svc api, into a config directory: flags,
configs, log levels, segments and JSON Schemas as they are stored, and svc.json
made from the list of environments. A later pull where nothing is new is one
request.

A file that was changed here and differs from the workspace is a local change.
Then all such files are listed and nothing is written, unless you give --force.
Files that were never pulled, and that the workspace does not have, stay.

Of archived environments the API tells only those that documents name. (svc
export has everything, if you have the data directory.)

The key comes from ` + keyVariable + ` or from a file, never from the command line.`,
		Example: `  SVC_API_KEY=$(cat ci.key) svc pull
  svc pull --url https://flags.acme.example/v1 --key-file ci.key --datadir ./our-config
  svc pull --dry-run`,
		Args: cli.Arguments("a config directory is named with --datadir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.pull(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.datadir, "datadir", "", "config directory, created if it is new (default ./our-config, then ./.svc, then $SVC_DIR)")
	f.add(cmd)
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print what would be done")
	flags.BoolVar(&f.force, "force", false, "overwrite local changes")
	return cmd
}

func (in Invocation) pull(cmd *cobra.Command, f pullFlags) error {
	dir, err := in.pullInto(f.datadir)
	if err != nil {
		return err
	}
	api, err := in.remote(f.remoteFlags)
	if err != nil {
		return err
	}
	plan, err := pull.NewPlan(cmd.Context(), api, dir, pull.Options{Force: f.force, Progress: cli.Progress(in.Stderr, "pulling", "documents")})
	if err != nil {
		return err
	}
	in.remark(plan)
	if f.dryRun {
		in.printPlan(plan, dir)
	}
	if len(plan.Changed) > 0 && !f.force {
		lines := []string{"nothing written, these files differ from the workspace; --force overwrites them:"}
		for _, c := range plan.Changed {
			lines = append(lines, in.inside(dir, c.Path)+": "+c.How)
		}
		return errors.New(strings.Join(lines, "\n"))
	}
	if f.dryRun {
		return nil
	}
	if err := plan.Apply(cmd.Context()); err != nil {
		return err
	}
	fmt.Fprintf(in.Stderr, "%s: %s written, %d removed, %d unchanged\n",
		in.Display(dir), cli.Plural(len(plan.Write), "file"), len(plan.Remove), plan.Same)
	return nil
}

// pullInto is where to: the directory that every command finds, or the one
// that is named, also when it is not there yet.
func (in Invocation) pullInto(flag string) (string, error) {
	if flag != "" {
		dir := in.Absolute(flag)
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) { // Discover explains a link to nothing
			return dir, nil
		}
	}
	dir, err := in.discover(flag)
	if errors.Is(err, datadir.ErrNone) {
		return "", fmt.Errorf("there is no ./%s and no ./.svc to pull into, and %s is not set; name one with --datadir, and it is created", defaultDatadir, datadir.Variable)
	}
	return dir, err
}

func (in Invocation) printPlan(plan *pull.Plan, dir string) {
	for _, path := range plan.Write {
		fmt.Fprintln(in.Stdout, "write ", in.inside(dir, path))
	}
	for _, path := range plan.Remove {
		fmt.Fprintln(in.Stdout, "remove", in.inside(dir, path))
	}
	if len(plan.Write)+len(plan.Remove)+len(plan.Changed) == 0 {
		fmt.Fprintln(in.Stderr, "nothing to do")
	}
}

func (in Invocation) inside(dir, path string) string {
	return terminal.Escape(filepath.Join(in.Display(dir), filepath.FromSlash(path)))
}

// more says how many there are that are not listed.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// maxRemarks is how many problems of files are listed.
const maxRemarks = 20

// remark says what is to be known of the files that are pulled, and of others.
func (in Invocation) remark(plan *pull.Plan) {
	if plan.Foreign {
		fmt.Fprintf(in.Stderr, "what %s notes of the last pull was not written by you on this machine, so every file is compared\n", pull.StateName)
	}
	for i, p := range plan.Problems {
		if i == maxRemarks {
			fmt.Fprintf(in.Stderr, "and %d more problems; svc verify lists them\n", len(plan.Problems)-i)
			break
		}
		p.Severity = workspace.Warning // of the pull
		fmt.Fprintln(in.Stderr, p)
	}
	if n := len(plan.LeftOut); n > 0 {
		fmt.Fprintf(in.Stderr, "not pulled, since Windows cannot have files of these names: %s; give the items other keys\n", terminal.Escape(strings.Join(plan.LeftOut[:min(n, maxRemarks)], ", ")+more(n-maxRemarks)))
	}
	if n := len(plan.Omitted); n > 0 {
		fmt.Fprintf(in.Stderr, "not pulled, since the workspace cannot read them: %s; mend them with git\n", terminal.Escape(strings.Join(plan.Omitted[:min(n, maxRemarks)], ", ")+more(n-maxRemarks)))
	}
	if len(plan.OnlyHere) > 0 {
		fmt.Fprintf(in.Stderr, "only here, and left alone: %s\n", terminal.Escape(strings.Join(plan.OnlyHere, ", ")))
	}
}
