package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
)

// The environment variables of the commands that use the REST API.
const (
	keyVariable = "SVC_API_KEY"
	urlVariable = "SVC_API_URL"
)

// remoteFlags say which API a command asks, and with which key. There is no
// flag for the key itself: it would stand in the shell's history and in the
// list of processes.
type remoteFlags struct {
	url, keyFile string
}

// remote reports whether a workspace is named.
func (f *remoteFlags) remote() bool { return f.url != "" || f.keyFile != "" }

func (f *remoteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "base URL of the API (default $"+urlVariable+", then "+remote.DefaultURL+")")
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", "file that holds a user or service-account key, - for standard input (default $"+keyVariable+")")
}

func (in Invocation) remote(f remoteFlags) (*remote.Client, error) {
	key, err := in.apiKey(f.keyFile)
	if err != nil {
		return nil, err
	}
	client, err := remote.New(cmp.Or(f.url, in.Getenv(urlVariable), remote.DefaultURL), key)
	if err != nil {
		return nil, cli.Usagef("--url: %v", err)
	}
	client.Waiting = func(line string) {
		if cli.Terminal(in.Stderr) { // in the place of the progress
			cli.Line(in.Stderr)(line, true)
			return
		}
		fmt.Fprintln(in.Stderr, line)
	}
	if client.Exposed() {
		fmt.Fprintln(in.Stderr, "warning: the key crosses the network unencrypted; use https")
	}
	return client, nil
}

// apiKey reads the key from where it was put.
func (in Invocation) apiKey(file string) (string, error) {
	text, from := in.Getenv(keyVariable), keyVariable
	if file != "" {
		content, err := in.readKeyFile(file)
		if err != nil {
			return "", err
		}
		text, from = content, "--key-file "+file
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return "", cli.Usagef("there is no key: put one into %s or into a file that --key-file names; svc key create creates one", keyVariable)
	}
	key, err := access.ParseKey(text)
	if err != nil {
		return "", cli.Usagef("%v (it was read from %s)", err, from)
	}
	if !key.Kind().Manages() {
		return "", cli.Usagef("%s holds a %s key; the REST API takes a user key (svc_uk_...) or a service-account key (svc_sa_...)", from, key.Kind())
	}
	return text, nil
}

// maxKeyFile is more than any key has.
const maxKeyFile = 4096

func (in Invocation) readKeyFile(name string) (string, error) {
	content, err := in.read("key-file", name, maxKeyFile, "it is too large to be a key")
	const others = 0o004
	if info, gone := os.Stat(in.Absolute(name)); name != "-" && gone == nil && info.Mode()&others != 0 && runtime.GOOS != "windows" {
		fmt.Fprintf(in.Stderr, "warning: other users of this machine can read %s, which holds a key: chmod 600 %[1]s\n", terminal.Escape(name))
	}
	return strings.TrimPrefix(string(content), byteOrderMark), err
}

// byteOrderMark is what some editors put before a text.
const byteOrderMark = "\uFEFF"

// withoutPath is why a file cannot be read, where its name has been said.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
