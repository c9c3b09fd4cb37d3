package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/regularfile"
	"svc.example/svc/shared/terminal"
)

// How many bytes may be in what git reads as a whole.
const (
	mostOfName  = 64 << 10  // what names a commit or a folder
	mostOfText  = 16 << 20  // settings and attributes
	mostOfNames = 512 << 20 // what names many commits or files
	mostOfWords = 1 << 20   // about what is wrong
)

// mostAtOnce is how many bytes git may ask of memory at once, and answer.
var mostAtOnce = 512 << 20 // fewer in a test

// most is how many bytes a file of a git directory may have.
func most(name string) int64 {
	folder, _, _ := strings.Cut(name, "/")
	switch {
	case folder == "refs", name == "HEAD", name == "commondir", name == "gitdir":
		return mostOfName
	case folder == "info", name == "config", name == "config.worktree", name == alternates:
		return mostOfText
	case name == "packed-refs", name == "shallow", name == "index", strings.HasPrefix(name, "sharedindex."):
		return mostOfNames
	}
	return math.MaxInt64 // which git does not read, or not as a whole
}

const alternates = "objects/info/alternates"

// RefusePipes refuses files below a path of which git, or anybody who opens them, would wait for
// what they bring.
func RefusePipes(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // git says what it cannot read
		}
		return refuse(path, math.MaxInt64)
	})
}

// refuse refuses what is no file at the end of links, or has more bytes than it may have. What
// is missing is fine, and a socket, which nobody can open, as git's monitor of files has one.
func refuse(path string, most int64) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) != 0:
		return fmt.Errorf("%s is no file, and who opens it would wait for what it brings: remove it", terminal.Escape(path))
	case info.Mode().IsRegular() && info.Size() > most:
		return fmt.Errorf("%s has %d bytes, and git would read all of them: %d are the most", terminal.Escape(path), info.Size(), most)
	}
	return nil
}

// Directory is where git has what is in a .git, which leads there if it is a file as in a
// linked work tree: "" for what does not.
func Directory(dotGit string) string {
	if info, err := os.Stat(dotGit); err != nil || info.IsDir() {
		return dotGit
	}
	target, found := strings.CutPrefix(read(dotGit), "gitdir: ")
	if !found {
		return ""
	}
	return under(filepath.Dir(dotGit), target)
}

// read is the text of a file without the end of its last line, "" for what cannot be read.
func read(file string) string {
	f, err := regularfile.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, mostOfText))
	return strings.TrimRight(string(text), "\r\n")
}

// under is a path that is relative to a folder, or not. Links lead on before ".." does.
func under(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return folder + string(filepath.Separator) + path
}

// inspectPatience is how long is looked at a repository: its links may lead anywhere.
const inspectPatience = time.Minute

// look looks at what git would read of a repository before git is asked anything. It knows
// what has been seen.
type look struct {
	ctx  context.Context
	top  string
	seen map[string]bool
}

// inspect refuses a repository of which git would read what never ends, or takes too much
// memory.
func (r *Repository) inspect(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, inspectPatience, fmt.Errorf("there is too much in the git repository %s to look at", terminal.Escape(r.top)))
	defer cancel()
	l := &look{ctx, r.top, map[string]bool{}}
	dotGit := filepath.Join(r.top, ".git")
	if err := refuse(dotGit, mostOfName); err != nil {
		return err
	}
	own := Directory(dotGit)
	if own == "" {
		return nil // git says so
	}
	common := own
	if err := refuse(filepath.Join(own, "commondir"), mostOfName); err != nil {
		return err
	}
	if shared := read(filepath.Join(own, "commondir")); shared != "" {
		common = under(own, shared)
	}
	for _, dir := range []string{own, common} {
		if _, err := os.Lstat(filepath.Join(common, "objects")); err != nil {
			return nil // git takes it for none
		}
		if err := l.folder(dir, ""); err != nil {
			return err
		}
	}
	if err := l.lent(filepath.Join(common, "objects")); err != nil {
		return err
	}
	for _, file := range []string{filepath.Join(common, "config"), filepath.Join(own, "config.worktree")} {
		if err := l.settings(file); err != nil {
			return err
		}
	}
	return nil
}

// once reports whether a file or a folder is there and has not been seen.
func (l *look) once(path string) (at string, first bool) {
	at, err := filepath.EvalSymlinks(path)
	if err != nil || l.seen[at] {
		return "", false
	}
	l.seen[at] = true
	return at, true
}

// folder looks at what lies in a folder that git knows by a name, through links.
func (l *look) folder(folder, name string) error {
	at, first := l.once(folder)
	if !first {
		return nil
	}
	return filepath.WalkDir(at, func(file string, entry fs.DirEntry, err error) error {
		if l.ctx.Err() != nil {
			return context.Cause(l.ctx)
		}
		if err != nil {
			return nil // git says what it cannot read
		}
		below, err := filepath.Rel(at, file)
		if err != nil {
			return err
		}
		known := path.Join(name, filepath.ToSlash(below))
		if entry.Type().IsRegular() && most(known) == math.MaxInt64 {
			return nil
		}
		if info, err := os.Stat(file); entry.Type()&fs.ModeSymlink != 0 && err == nil && info.IsDir() {
			if strings.HasPrefix(known, "refs/") { // a few of these lead git on for ever
				return fmt.Errorf("%s is a link to a folder, and git has none among its references: remove it", terminal.Escape(file))
			}
			return l.folder(file, known)
		}
		return refuse(file, most(known))
	})
}

// lent looks at the objects that other repositories lend to one.
func (l *look) lent(objects string) error {
	for line := range strings.SplitSeq(read(filepath.Join(objects, "info", "alternates")), "\n") {
		if unquoted, err := strconv.Unquote(line); err == nil {
			line = unquoted
		}
		if line == "" || line[0] == '#' {
			continue
		}
		other := under(objects, line)
		entries, err := os.ReadDir(other)
		if _, first := l.once(other); err != nil || !first {
			continue
		}
		for _, entry := range entries {
			if name := entry.Name(); len(name) == len("00") || name == "pack" || name == "info" { // else git does not read it
				if err := l.folder(filepath.Join(other, name), path.Join("objects", name)); err != nil {
					return err
				}
			}
		}
		if err := l.lent(other); err != nil {
			return err
		}
	}
	return nil
}

// settings looks at the files that a configuration names and git reads: those that it
// includes, on whatever condition, and attributes. Git itself says which, including none.
func (l *look) settings(file string) error {
	if err := refuse(file, mostOfText); err != nil {
		return err
	}
	if _, first := l.once(file); !first {
		return nil
	}
	said, err := run(l.ctx, l.top, []string{"GIT_DIR=" + os.DevNull}, nil, "--no-pager", "config", "--file", file, "--no-includes",
		"--type=path", "-z", "--get-regexp", `^(include|includeif\..*|core)\.(path|attributesfile)$`)
	if exit, is := errors.AsType[*exec.ExitError](err); err != nil && (!is || exit.ExitCode() != 1) { // it names none then
		return fmt.Errorf("%s: %w", terminal.Escape(file), err)
	}
	for setting := range strings.SplitSeq(string(said), "\x00") {
		key, value, _ := strings.Cut(setting, "\n")
		var refused error
		switch {
		case value == "":
		case key == "core.attributesfile":
			refused = refuse(under(l.top, value), mostOfText)
		default:
			refused = l.settings(under(filepath.Dir(file), value))
		}
		if refused != nil {
			return fmt.Errorf("%s names a file: %w", terminal.Escape(file), refused)
		}
	}
	return nil
}
