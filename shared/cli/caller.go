package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/git"
	"svc.example/svc/shared/repository"
)

// Program runs the command line of this process until it ends or is told to, and exits
// with the status that it returns.
func Program(main func(ctx context.Context, args []string, c Caller) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends it at once
	workdir, err := os.Getwd()
	if err != nil {
		workdir = "."
	}
	os.Exit(main(ctx, os.Args[1:], Caller{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Workdir: workdir,
		Now: time.Now}))
}

// Caller is who runs a program, and where.
type Caller struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Workdir string
	Now     func() time.Time
	// Person reports whether somebody sits at a stream; nil is Terminal.
	Person func(stream any) bool
	// Author is what --author says, where a command has it.
	Author string
	// Explain puts a failure into words that its user can act on; nil leaves it as it is.
	Explain func(error) error
}

// ByAuthor adds the flag that says whose change it is.
func (c *Caller) ByAuthor(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.Author, "author", "", `whose change it is, as "Ada <ada@acme.example>" (default $`+AuthorVariable+`, or what git is told)`)
}

var authorForm = regexp.MustCompile(`^\s*([^<>]*[^<>\s])\s*<\s*([^<>\s]+)\s*>\s*$`)

// Signature is whose change it is: what was said, else what git would say.
func (c *Caller) Signature(ctx context.Context) (repository.Signature, error) {
	for _, text := range []string{c.Author, c.Getenv(AuthorVariable)} {
		if text == "" {
			continue
		}
		parts := authorForm.FindStringSubmatch(text)
		if parts == nil {
			return repository.Signature{}, Usagef(`the author %q is not written like "Ada <ada@acme.example>"`, text)
		}
		return c.checked(repository.Signature{Name: parts[1], Email: parts[2], When: c.Now()})
	}
	name, email := c.Getenv("GIT_AUTHOR_NAME"), c.Getenv("GIT_AUTHOR_EMAIL")
	if name == "" {
		name = git.Setting(ctx, c.Workdir, "user.name")
	}
	if email == "" {
		email = git.Setting(ctx, c.Workdir, "user.email")
	}
	if name == "" || email == "" {
		return repository.Signature{}, Usagef(`say whose change it is: --author "Ada <ada@acme.example>", or %s, or git config --global user.name and user.email`, AuthorVariable)
	}
	return c.checked(repository.Signature{Name: name, Email: email, When: c.Now()})
}

// Actor is whose change it is where no commit needs an author.
func (c *Caller) Actor(ctx context.Context) string {
	if by, err := c.Signature(ctx); err == nil {
		return by.Name + " <" + by.Email + ">"
	}
	return Actor(c.Getenv)
}

func (c *Caller) checked(by repository.Signature) (repository.Signature, error) {
	if err := by.Check(); err != nil {
		return by, Usagef("the author: %v", err)
	}
	return by, nil
}

// Absolute is a path from the working directory.
func (c *Caller) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Workdir, path)
}

// Display is a path as the caller of the command reads it best; see Display.
func (c *Caller) Display(path string) string { return Display(c.Workdir, path) }

// Display is a path as it is easiest to read and click: relative to the working
// directory when it lies inside. Everything lies inside of a root, where services
// start: there it stays as it is.
func Display(workdir, path string) string {
	relative, err := filepath.Rel(workdir, path)
	if err != nil || !filepath.IsLocal(relative) || filepath.Dir(workdir) == workdir {
		return path
	}
	return relative
}

// ErrNo: a person was asked and said no.
var ErrNo = errors.New("nothing was changed")

// Ask is nil when a person at a terminal says yes.
func (c *Caller) Ask(question string) error {
	nobody := Usagef("there is no terminal to ask on: add --yes to write this, or --dry-run to only see it")
	if !c.Person(c.Stdin) {
		return nobody
	}
	fmt.Fprint(c.Stderr, question)
	answer, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) { // /dev/null looks like a terminal
		fmt.Fprintln(c.Stderr)
		return nobody
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return ErrNo
}
