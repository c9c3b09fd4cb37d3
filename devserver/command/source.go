package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/devserver/worktree"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/terminal"
)

// sourceFlags say what a command reads: a config directory, or the workspace of an API.
type sourceFlags struct {
	remoteFlags
	datadir string
}

// Usages of --datadir and --url.
const (
	datadirUsage   = "config directory (default ./our-config, then ./.svc, then $SVC_DIR)"
	workspaceUsage = "base URL of the API of a workspace, in the place of a config directory"
)

// directoryHost stands for a directory in addresses that nothing is sent to.
const directoryHost = "directory"

// check refuses flags that name both.
func (f *sourceFlags) check() error {
	if f.datadir != "" && f.remote() {
		return cli.Usagef("--datadir is a directory, and --url and --key-file are a workspace; give one of the two")
	}
	return nil
}

// addWritable gives a command the flags that say where it writes: into a workspace, where
// nobody names a directory.
func (f *sourceFlags) addWritable(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.datadir, "datadir", "", "config directory, in the place of a workspace")
	f.add(cmd)
}

// writable is the API of what the flags name. That of a directory edits its files, as the
// console of svc serve does.
func (in Invocation) writable(f sourceFlags) (*remote.Client, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.datadir == "" {
		return in.remote(f.remoteFlags)
	}
	dir, err := in.discover(f.datadir)
	if err != nil {
		return nil, err
	}
	api, err := worktree.New(worktree.Options{Dir: dir, Who: "svc", Hosts: []string{directoryHost}})
	if err != nil {
		return nil, err
	}
	return remote.OfFiles(api, "http://"+directoryHost+"/v1", api.Token())
}

// discover finds the config directory that a flag names, else the usual one.
func (in Invocation) discover(flag string) (string, error) {
	dir, err := datadir.Discover(flag, in.Getenv, in.Workdir)
	if err != nil {
		return "", err
	}
	unfinished, err := datadir.Unfinished(context.Background(), dir)
	if len(unfinished) > 0 {
		fmt.Fprintf(in.Stderr, "warning: %s: a change of several files was cut short, of %s%s; who writes there next takes it back, such as svc verify --fix or svc serve --console\n",
			in.Display(dir), terminal.Escape(unfinished[0]), more(len(unfinished)-1))
	}
	if err != nil {
		fmt.Fprintf(in.Stderr, "warning: %s: %v\n", in.Display(dir), err)
	}
	return dir, nil
}

// locate has a refusal name files as they are easiest to open.
func (in Invocation) locate(err error) error {
	if refusal, ok := errors.AsType[*directory.Refusal](err); ok {
		refusal.Path = in.Display(refusal.Path)
	}
	return err
}

// open opens a file that a flag names; - is standard input.
func (in Invocation) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(in.Stdin), nil
	}
	f, err := os.Open(in.Absolute(name))
	return f, withoutPath(err)
}

// read reads a file that a flag names, of so many bytes at the most. The refusal of a
// larger one says what it is too large for.
func (in Invocation) read(flag, name string, most int64, tooLarge string) ([]byte, error) {
	file, err := in.open(name)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flag, name, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = errors.New(tooLarge)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flag, name, withoutPath(err))
	}
	return content, nil
}
