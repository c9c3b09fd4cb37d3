package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

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

// check refuses flags that name both, or that are empty.
func (f *sourceFlags) check(cmd *cobra.Command) error {
	if err := cli.RefuseEmpty(cmd, "datadir", "url", "key-file"); err != nil {
		return err
	}
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
	restored, err := datadir.Restore(context.Background(), dir)
	if len(restored) > 0 {
		fmt.Fprintf(in.Stderr, "a change that was cut short is taken back, of %s%s\n", terminal.Escape(restored[0]), more(len(restored)-1))
	}
	if err != nil {
		fmt.Fprintf(in.Stderr, "warning: %s: %v\n", in.display(dir), err)
	}
	return dir, nil
}

// open opens a file that a flag names; - is standard input.
func (in Invocation) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(in.Stdin), nil
	}
	f, err := os.Open(in.Absolute(name))
	return f, withoutPath(err)
}

// encode is a value as JSON, as the API writes it.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return text.Bytes(), err
}
