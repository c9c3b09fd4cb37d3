package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"svc.example/svc/devserver/directory"
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

// check refuses flags that name both.
func (f *sourceFlags) check() error {
	if f.datadir != "" && f.remote() {
		return cli.Usagef("--datadir is a directory, and --url and --key-file are a workspace; give one of the two")
	}
	return nil
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
