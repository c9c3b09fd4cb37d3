// Package git runs the program git on repositories that somebody else may have made.
// It is the only way in which svc runs git.
//
// What must stay true:
//
//   - Nothing in a directory, an archive or a checkout decides what is run or fetched,
//     whatever .git/config, attributes or plain files in it say. The repository is the
//     nearest .git of the directory and its parents, which git is told, so that files
//     named HEAD, objects and refs beside the documents are no repository. Hooks, the
//     file-system monitor, missing objects of partial clones, every protocol and every
//     prompt are turned off.
//   - Nothing in it replaces what a commit holds: replace references, grafts and the
//     commit graph, which may name another tree, are not read.
//   - What another repository lends it (objects/info/alternates) is read: a clone that
//     shares objects, which is the user's, looks like an archive that names a path. It
//     decides nothing: an archive could hold the objects itself, and what is read is shown
//     to somebody who can read that path anyway.
//   - What it has git read ends, and is bounded: links, what a configuration names and what
//     other repositories lend are looked at before git is asked.
//   - Only commands are asked for that print what is there. None compares files, which
//     would run filters, external diffs and text conversions.
//   - Of the variables that git goes by, those are left that say where the caller's own
//     git and settings are. A repository or an index that the caller has named, as git
//     does for its hooks, is not taken for that of a directory.
package git

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"svc.example/svc/shared/terminal"
)

// Repository is the git repository that a directory lies in.
type Repository struct {
	// Prefix is the path of the directory in the repository, with a slash at its end,
	// or "".
	Prefix string
	// Path is the same as it was named, through symbolic links of the repository, without
	// the slash: "." for the top.
	Path string

	// Outer is the work tree of which the repository is a submodule, "" for none.
	Outer string

	dir, top string
	objects  string // where the repository has them
}

// ErrNone is a directory that is in no repository.
var ErrNone = errors.New("it is in no git repository")

// ErrNoProgram is the error where git is not installed.
var ErrNoProgram = errors.New("this needs the program git, which is not installed")

// Open finds the repository of a directory.
func Open(ctx context.Context, dir string) (*Repository, error) {
	r, err := find(dir)
	if err != nil {
		return nil, err
	}
	if err := r.inspect(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openPatience, fmt.Errorf("git has not answered within %s", openPatience))
	defer cancel()
	// Without being told the repository, git looks whose it is.
	objects, err := run(ctx, r.top, nil, nil, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	r.objects = strings.TrimSuffix(string(objects), "\n")
	return r, r.outermost(ctx)
}

// Inner is a repository in a directory whose files another one around it holds: it may have
// come with them, and in it nothing need differ.
type Inner struct{ Top, Outer string }

func (i *Inner) Error() string {
	return fmt.Sprintf("%s has a repository of its own, and the repository %s holds its files too: take the .git out of the one that is not meant", terminal.Escape(i.Top), terminal.Escape(i.Outer))
}

// outermost refuses a repository that lies among the files of another one.
func (r *Repository) outermost(ctx context.Context) error {
	around, err := Locate(filepath.Dir(r.top))
	if err != nil || around.Top == "" || r.top == filepath.Dir(r.top) {
		return err
	}
	below, err := filepath.Rel(around.Top, r.top)
	if err != nil {
		return err
	}
	outer := &Repository{dir: around.Top, top: around.Top}
	if err := outer.inspect(ctx); err != nil {
		return err
	}
	entries, err := outer.Run(ctx, nil, "ls-files", "-s", "-z", "--", filepath.ToSlash(below))
	if err == nil && len(entries) == 0 { // an index that is missing says nothing of what is committed
		if committed, none := outer.Run(ctx, nil, "ls-tree", "-z", "HEAD", "--", filepath.ToSlash(below)); none == nil { // else there is no commit
			entries = committed
		}
	}
	switch {
	case err != nil || len(entries) == 0:
	case strings.HasPrefix(string(entries), "160000 "):
		r.Outer = around.Top
	default:
		err = &Inner{r.top, around.Top}
	}
	return err
}

func find(dir string) (*Repository, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, ErrNoProgram
	}
	at, err := Locate(dir)
	if err != nil {
		return nil, err
	}
	if at.Top == "" {
		return nil, ErrNone
	}
	r := &Repository{dir: at.Dir, top: at.Top, Path: at.Path}
	if below, err := filepath.Rel(at.Top, at.Dir); err == nil && below != "." {
		r.Prefix = filepath.ToSlash(below) + "/"
	}
	return r, nil
}

// Run runs a git command in the directory, whose paths are relative to it. The error is
// what git says.
func (r *Repository) Run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return r.run(ctx, r.dir, nil, stdin, args...)
}

// run runs a command of the repository. Objects that it writes, such as the trees that a
// sparse index stands for, are gone with it.
func (r *Repository) run(ctx context.Context, dir string, more []string, stdin io.Reader, args ...string) ([]byte, error) {
	at := append(r.at(), more...)
	if r.objects != "" {
		aside, err := os.MkdirTemp("", "svc-objects-*")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(aside) }()
		lent := r.objects
		if strings.ContainsRune(lent, os.PathListSeparator) {
			lent = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(lent) + `"`
		}
		at = append(at, "GIT_OBJECT_DIRECTORY="+aside, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+lent)
	}
	return run(ctx, dir, at, stdin, args...)
}

// ObjectsIn lists the objects in a folder of a bare repository, such as a quarantine, and
// not what lies elsewhere: of each a line of its id, kind and size. None is inflated.
func ObjectsIn(ctx context.Context, repository, folder string) ([]byte, error) {
	at := []string{"GIT_DIR=" + repository, "GIT_OBJECT_DIRECTORY=" + folder}
	return run(ctx, repository, at, nil, "cat-file", "--batch-all-objects", "--unordered", "--batch-check")
}

// at tells git which repository it is.
func (r *Repository) at() []string {
	return []string{"GIT_DIR=" + filepath.Join(r.top, ".git"), "GIT_WORK_TREE=" + r.top}
}

// Setting is a setting of git's as it holds in the repository, "" when there is none.
func (r *Repository) Setting(ctx context.Context, name string) string {
	if r.inspect(ctx) != nil {
		return ""
	}
	return setting(ctx, r.dir, r.at(), name)
}

// Setting is a setting of git's as it holds in a directory, "" when there is none, or no git.
func Setting(ctx context.Context, dir, name string) string {
	r, err := find(dir)
	if err != nil {
		return setting(ctx, dir, []string{"GIT_DIR=" + os.DevNull}, name)
	}
	return r.Setting(ctx, name)
}

func setting(ctx context.Context, dir string, at []string, name string) string {
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	out, err := run(ctx, dir, at, nil, "config", "--get", name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// settings go before those of the repository.
var settings = []string{
	"safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.commitGraph=false",
	"core.alternateRefsCommand=", "fetch.bundleURI=", "protocol.allow=never", "core.splitIndex=false", "core.useReplaceRefs=false",
}

// variables take the place of those of the caller. Which protocols may be used is a name
// that nobody knows: git takes an empty list for one of the empty name, which may be the
// name of a helper that the repository's configuration defines.
func variables() []string {
	return []string{
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none-" + rand.Text(), "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_PAGER=cat", "LC_ALL=C", "LANGUAGE=C",
		fmt.Sprint("GIT_ALLOC_LIMIT=", mostAtOnce),
	}
}

// own are the variables that say where a caller's git is and how it is set up, as a CI
// job does that trusts a directory.
var own = []string{"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"}

func environment(all []string) []string {
	var kept []string
	for _, variable := range all {
		name, _, _ := strings.Cut(variable, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if !strings.HasPrefix(name, "GIT_") || isOwn(name) {
			kept = append(kept, variable)
		}
	}
	return append(kept, variables()...)
}

func isOwn(name string) bool {
	for _, known := range own {
		if name == known || strings.HasSuffix(known, "_") && strings.HasPrefix(name, known) {
			return true
		}
	}
	return false
}

// patience is how long git has for an answer: it waits for what is no file in a repository.
const patience = 2 * time.Minute

// openPatience is how long git has for what takes no more than its configuration, as to say
// that a directory is a repository.
const openPatience = 10 * time.Second

func run(ctx context.Context, dir string, at []string, stdin io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("git has not answered within %s", patience))
	defer cancel()
	var all []string
	for _, setting := range settings {
		all = append(all, "-c", setting)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir, cmd.Env = dir, append(environment(os.Environ()), at...)
	full := fmt.Errorf("git has more to say of the repository than %d bytes", mostAtOnce)
	stdout, stderr := &said{most: mostAtOnce, full: full}, &said{most: mostOfWords}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if stdout.cut {
		return nil, full
	}
	if said := strings.TrimSpace(stderr.text.String()); err != nil && said != "" {
		err = inWords(said)
	}
	return stdout.text.Bytes(), err
}

// said is what git says, up to so many bytes.
type said struct {
	text bytes.Buffer
	most int
	full error // nil where the rest is dropped
	cut  bool
}

func (s *said) Write(text []byte) (int, error) {
	if s.cut = s.cut || s.text.Len()+len(text) > s.most; s.cut {
		return len(text), s.full
	}
	return s.text.Write(text)
}

// trust begins the command with which git is told to read what belongs to another user.
const trust = "git config --global --add safe.directory "

// inWords is what git says when it fails: its last words, and what it advises where a
// repository belongs to somebody else.
func inWords(said string) error {
	message, advice, listing := "", "", false
	for line := range strings.SplitSeq(said, "\n") {
		line = strings.TrimSpace(line)
		if fatal, found := strings.CutPrefix(line, "fatal: "); found || message == "" {
			message, listing = fatal, strings.HasSuffix(fatal, ":") // such as of what it does not know
		} else if listing {
			message += " " + line
		}
		if strings.HasPrefix(line, trust) {
			advice = line
		}
	}
	if advice != "" {
		return fmt.Errorf("%s: another user owns it; if you trust what is in it: %s", terminal.Escape(message), terminal.Escape(advice))
	}
	return errors.New(terminal.Escape(message))
}
