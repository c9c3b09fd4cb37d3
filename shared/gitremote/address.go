package gitremote

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/baseurl"
)

// Address is where a repository is.
type Address struct {
	scheme string // https, http or ssh
	user   string
	host   string // with its port
	path   string
}

// ParseAddress reads an address as git has it: https://host/path, ssh://git@host/path or
// git@host:path. No password is taken, and http only at this machine.
func ParseAddress(text string) (Address, error) {
	if host, rest, ok := strings.Cut(text, ":"); ok && !strings.Contains(text, "://") && !strings.Contains(host, "/") && !strings.HasPrefix(rest, ":") { // git takes helper::address for a program
		user, name, named := strings.Cut(host, "@")
		if !named {
			user, name = "git", host
		}
		if !strings.HasPrefix(rest, "/") {
			rest = "/" + rest
		}
		if strings.Contains(rest, "@") { // user:password@host
			return Address{}, errPassword
		}
		text = (&url.URL{Scheme: "ssh", User: url.User(user), Host: name, Path: rest}).String()
	}
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, fmt.Errorf("%s is no address of a git repository; write https://host/path or git@host:path", baseurl.Redacted(text))
	}
	if _, has := u.User.Password(); has {
		return Address{}, errPassword
	}
	a := Address{scheme: u.Scheme, user: u.User.Username(), host: u.Host, path: strings.TrimRight(u.Path, "/")}
	switch {
	case !slices.Contains([]string{"https", "http", "ssh"}, a.scheme) || u.Hostname() == "" || a.path == "" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Address{}, fmt.Errorf("%s is no address of a git repository; write https://host/path or git@host:path", baseurl.Redacted(text))
	case baseurl.Exposed(u):
		return Address{}, errors.New("a token would cross the network unencrypted: the address has to begin with https")
	case a.IsSSH() && u.Port() == "":
		a.host = net.JoinHostPort(u.Hostname(), "22")
	}
	if a.IsSSH() && a.user == "" {
		a.user = "git"
	}
	return a, nil
}

var errPassword = errors.New("the address has a password in it, which would stand in lists of processes and in histories: leave it out, and put it into the key file")

// IsSSH reports whether it is reached over SSH.
func (a Address) IsSSH() bool { return a.scheme == "ssh" }

// String is the address without its user, who may be a token.
func (a Address) String() string {
	return (&url.URL{Scheme: a.scheme, Host: a.host, Path: a.path}).String()
}

// CheckPath is a directory in a repository as it is written in it, "" for its top.
func CheckPath(text string) (string, error) {
	clean := strings.Trim(path.Clean("/"+text), "/")
	if clean == "" {
		return "", nil
	}
	for name := range strings.SplitSeq(strings.Trim(text, "/"), "/") {
		if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
			return "", fmt.Errorf("%q is no directory in a repository; write its names with slashes, such as services/our-config", text)
		}
	}
	return clean, nil
}

// CheckBranch refuses what is no name of a branch.
func CheckBranch(name string) error {
	if err := plumbing.NewBranchReferenceName(name).Validate(); err != nil || strings.HasPrefix(name, "refs/") || strings.HasPrefix(name, "-") {
		return fmt.Errorf("%q is no name of a branch", name)
	}
	return nil
}
