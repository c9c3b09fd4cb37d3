package datadir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/git"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Rewritten refuses a document that git itself makes another one in a checkout: a review
// shows what is committed, and what is served is what is checked out.
func Rewritten(file, attribute string) workspace.Problem {
	return hidden(file, "the attribute "+terminal.Cut(attribute, 100)+" has git write other content of it, or none, into a checkout or an archive than the commit has, so a review does not show what is served: take the attribute out (svc verify names the line)")
}

// Submodule refuses a folder whose files are in no review of the repository.
func Submodule(folder string) workspace.Problem {
	return hidden(folder, "this is a submodule, whose files are in a repository of their own, and in no review of this one: put the files themselves in its place")
}

// Submodules are those of the submodules below a directory that hold documents, or would:
// they are, lie in or hold the end of a name of the layout.
func Submodules(dir string, below []string) (holding []string) {
	var ends []string
	for _, name := range append([]workspace.Folder{workspace.File}, workspace.Folders...) {
		ends = append(ends, string(name))
		if to, err := os.Readlink(filepath.Join(dir, string(name))); err == nil { // which may be checked out or not
			ends = append(ends, path.Clean(filepath.ToSlash(to)))
		}
		links := readFolder(os.OpenFile, filepath.Join(dir, string(name)), maxFiles)
		for _, e := range links {
			if to, err := os.Readlink(filepath.Join(dir, string(name), e.Name())); err == nil {
				ends = append(ends, path.Join(string(name), filepath.ToSlash(to)))
			}
		}
	}
	for _, at := range below {
		if slices.ContainsFunc(ends, func(end string) bool {
			return at == itself || end == at || strings.HasPrefix(end, at+"/") || strings.HasPrefix(at, end+"/")
		}) {
			holding = append(holding, at)
		}
	}
	return holding
}

func hidden(file, message string) workspace.Problem {
	return workspace.Problem{Severity: workspace.Fatal, File: file, Message: message, Code: problem.HiddenByGit}
}

// askPatience is how long git is asked about a directory.
const askPatience = 10 * time.Second

// hiddenByGit refuses what no review of the directory's repository shows. Where there is
// no program git nobody has reviewed anything.
func hiddenByGit(dir string) []workspace.Problem {
	r, err := git.Open(context.Background(), dir)
	switch {
	case errors.Is(err, git.ErrNoProgram):
		return nil
	case errors.As(err, new(*git.Inner)):
		return []workspace.Problem{hidden(itself, err.Error())}
	case err != nil:
		return []workspace.Problem{hidden(itself, "git does not say what it hides: "+err.Error())}
	}
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	defer cancel()
	var problems []workspace.Problem
	submodules, unasked := r.Submodules(ctx)
	for _, at := range Submodules(dir, submodules) {
		problems = append(problems, Submodule(at))
	}
	files := Look(dir).Files
	lies := map[string]string{} // each file, from the top, and where it is at the end of links
	for file := range files {
		lies[path.Join(r.Prefix, file)] = path.Join(r.Prefix, endOf(dir, file))
	}
	type line struct {
		file      string
		number    int
		attribute string
	}
	attributes, err := r.Attributes(ctx, "", lies)
	if err = cmp.Or(unasked, err); err != nil { // what git was kept from saying may be hidden
		problems = append(problems, hidden(itself, "git does not say what it hides: "+err.Error()))
	}
	set := map[line][]string{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if attribute := attributes[path.Join(r.Prefix, file)].Rewrites(files[file]); attribute != "" {
			at, number := r.SetAt(endOf(dir, file), attribute)
			set[line{at, number, attribute}] = append(set[line{at, number, attribute}], file)
		}
	}
	for at, files := range set {
		p := Rewritten(at.file, at.attribute)
		if at.number > 0 {
			p.Line, p.Column = at.number, 1
			first := files[0]
			if more := len(files) - 1; more > 0 {
				first += fmt.Sprintf(" and %d more", more)
			}
			p.Message = fmt.Sprintf("%s has git write other content of %s, or none, into a checkout or an archive than the commit has, so a review does not show what is served: take it out", terminal.Cut(at.attribute, 100), first)
		}
		problems = append(problems, p)
	}
	return problems
}

// endOf is where a file lies in the directory, at the end of symbolic links.
func endOf(dir, file string) string {
	full := filepath.Join(dir, filepath.FromSlash(file))
	if at, ok := (inside{dir: dir}).resolve(full); ok {
		return filepath.ToSlash(at)
	}
	return file
}
