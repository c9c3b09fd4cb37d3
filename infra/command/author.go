package command

import (
	"context"
	"os/exec"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/repository"
)

// byAuthor adds the flag that says whose change it is.
func (s *session) byAuthor(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.author, "author", "", `whose change it is, as "Ada <ada@acme.example>" (default $`+authorVariable+`, or what git is told)`)
}

var authorForm = regexp.MustCompile(`^\s*([^<>]*[^<>\s])\s*<\s*([^<>\s]+)\s*>\s*$`)

// signature is whose change it is: what was said, else what git would say.
func (s *session) signature(ctx context.Context) (repository.Signature, error) {
	for _, text := range []string{s.author, s.Getenv(authorVariable)} {
		if text == "" {
			continue
		}
		parts := authorForm.FindStringSubmatch(text)
		if parts == nil {
			return repository.Signature{}, cli.Usagef(`the author %q is not written like "Ada <ada@acme.example>"`, text)
		}
		return s.checked(repository.Signature{Name: parts[1], Email: parts[2], When: s.Now()})
	}
	name, email := s.Getenv("GIT_AUTHOR_NAME"), s.Getenv("GIT_AUTHOR_EMAIL")
	if name == "" {
		name = s.git(ctx, "user.name")
	}
	if email == "" {
		email = s.git(ctx, "user.email")
	}
	if name == "" || email == "" {
		return repository.Signature{}, cli.Usagef(`say whose change it is: --author "Ada <ada@acme.example>", or %s, or git config --global user.name and user.email`, authorVariable)
	}
	return s.checked(repository.Signature{Name: name, Email: email, When: s.Now()})
}

// actor is whose change it is where no commit needs an author.
func (s *session) actor(ctx context.Context) string {
	if by, err := s.signature(ctx); err == nil {
		return by.Name + " <" + by.Email + ">"
	}
	return cli.Actor(s.Getenv)
}

func (s *session) checked(by repository.Signature) (repository.Signature, error) {
	if err := by.Check(); err != nil {
		return by, cli.Usagef("the author: %v", err)
	}
	return by, nil
}

// git is a setting of git's, "" when there is none, or no git.
func (s *session) git(ctx context.Context, setting string) string {
	cmd := exec.CommandContext(ctx, "git", "config", "--get", setting)
	cmd.Dir = s.Workdir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
