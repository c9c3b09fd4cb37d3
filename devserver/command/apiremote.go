package command

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/gitremote"
)

// gitRemoteFlags name a repository elsewhere that svc api keeps in step.
type gitRemoteFlags struct{ address, branch, path, keyFile, knownHosts string }

func (f *gitRemoteFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "remote", "", "git repository elsewhere that every commit is pushed to, such as git@github.com:acme/flags.git")
	flags.StringVar(&f.branch, "remote-branch", "main", "branch of the remote")
	flags.StringVar(&f.path, "remote-path", "", "directory of the remote that the workspace is (default all of it)")
	flags.StringVar(&f.keyFile, "remote-key-file", "", "file with a deploy key (SSH) or a token (HTTPS) for the remote")
	flags.StringVar(&f.knownHosts, "remote-known-hosts", "", "file with the keys of the remote's host, as OpenSSH's known_hosts")
}

// follower is nil where there is no remote.
func (f *gitRemoteFlags) follower(in Invocation) (*gitremote.Follower, error) {
	if f.address == "" {
		if f.path != "" || f.keyFile != "" || f.knownHosts != "" || f.branch != "main" {
			return nil, cli.Usagef("--remote is missing: the other flags of a remote say nothing without it")
		}
		return nil, nil
	}
	address, err := gitremote.ParseAddress(f.address)
	if err != nil {
		return nil, cli.Usagef("--remote: %v", err)
	}
	path, err := gitremote.CheckPath(f.path)
	if err != nil {
		return nil, cli.Usagef("--remote-path: %v", err)
	}
	if err := gitremote.CheckBranch(f.branch); err != nil {
		return nil, cli.Usagef("--remote-branch: %v", err)
	}
	r := &gitremote.Remote{Address: address}
	for _, file := range []struct {
		flag, given string
		to          *string
		needed      bool
	}{{"--remote-key-file", f.keyFile, &r.KeyFile, address.IsSSH()}, {"--remote-known-hosts", f.knownHosts, &r.KnownHosts, address.IsSSH()}} {
		switch {
		case file.given != "":
			*file.to = in.Absolute(file.given)
		case file.needed:
			return nil, cli.Usagef("%s is missing, which %s needs", file.flag, address)
		}
	}
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("--remote: %w", err)
	}
	return &gitremote.Follower{Remote: r, Branch: f.branch, Path: path}, nil
}

// remoteLine tells of it at the start.
func remoteLine(f *gitremote.Follower) string {
	if f == nil {
		return ""
	}
	return "Remote       " + strings.TrimSuffix(fmt.Sprintf("%s, branch %s, %s", f.Remote.Address, f.Branch, f.Path), ", ") + "\n"
}
