package datadir

import (
	"errors"
	"fmt"
	"path/filepath"

	"svc.example/svc/shared/git"
	"svc.example/svc/shared/terminal"
)

// ErrNone is the error of Discover where there is none, and nobody has named one.
var ErrNone = errors.New("no config directory")

// Variable is the environment variable that names a datadir.
const Variable = "SVC_DIR"

// conventional are the places in the working directory where a datadir is
// looked for, in this order.
var conventional = []string{"our-config", ".svc"}

// Discover returns the absolute path of the datadir: the one given by
// --datadir, else ./our-config, else ./.svc, else the one SVC_DIR names.
func Discover(flag string, getenv func(string) string, workdir string) (string, error) {
	if flag != "" {
		return given("--datadir", flag, workdir)
	}
	for _, name := range conventional {
		path, err := absolute(name, workdir)
		if err != nil {
			return "", err
		}
		there, problem := directory(path)
		if problem != "" {
			return "", fmt.Errorf("./%s: %s; rename it, or name the config directory with --datadir", name, problem)
		}
		if there {
			return path, ledOut(name, path, workdir)
		}
	}
	if dir := getenv(Variable); dir != "" {
		return given(Variable, dir, workdir)
	}
	return "", fmt.Errorf("%w: there is no ./our-config and no ./.svc in %s, and %s is not set; name one with --datadir, or create one with `svc init`", ErrNone, workdir, Variable)
}

// ledOut refuses a symbolic link to elsewhere in a working directory that is in no
// repository: it may have come with an archive. In a repository git.Locate does.
func ledOut(name, path, workdir string) error {
	at, err := git.Locate(workdir)
	if err != nil || at.Top != "" {
		return err
	}
	dir, err := filepath.EvalSymlinks(path)
	if below, away := filepath.Rel(at.Dir, dir); err == nil && (away != nil || !filepath.IsLocal(below)) {
		err = fmt.Errorf("./%s: a symbolic link leads from it to %s; if you mean that directory, name it itself with --datadir", name, dir)
	}
	return err
}

// given is a datadir that somebody named: it has to be there.
func given(by, dir, workdir string) (string, error) {
	path, err := absolute(dir, workdir)
	if err != nil {
		return "", err
	}
	there, problem := directory(path)
	switch {
	case problem != "":
		return "", fmt.Errorf("%s %s: %s", by, dir, problem)
	case !there:
		return "", fmt.Errorf("%s %s: there is no directory %s; `svc init %s` creates one", by, dir, path, dir)
	}
	return path, nil
}

// directory reports whether there is a directory at path, and what is wrong with
// what is there instead.
func directory(path string) (there bool, problem string) {
	info, problem := follow(path)
	if info != nil && !info.IsDir() {
		return false, "this is a file, and a config directory is expected"
	}
	if err := RefuseGits(path); err != nil {
		return false, err.Error()
	}
	return info != nil, problem
}

func absolute(path, workdir string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(workdir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", errors.New("the working directory cannot be found: " + plain(err))
	}
	return path, nil
}

// RefuseGits refuses a path that leads, through links perhaps, into a .git.
func RefuseGits(path string) error {
	if end, err := filepath.EvalSymlinks(path); err == nil && isGits(end) {
		return errors.New("this lies in a .git, which is git's own: " + terminal.Escape(end))
	}
	return nil
}
