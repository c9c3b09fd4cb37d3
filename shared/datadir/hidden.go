package datadir

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"svc.example/svc/shared/git"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// Rewritten refuses a document that git itself makes another one in a checkout: a review
// shows what is committed, and what is served is what is checked out.
func Rewritten(file, how string) workspace.Problem {
	return hidden(file, "git "+how+", as .gitattributes says, so what is checked out is not what a review shows: take the attribute out")
}

// Submodule refuses a folder whose files are in no review of the repository.
func Submodule(folder string) workspace.Problem {
	return hidden(folder, "this is a submodule, whose files are in a repository of their own, and in no review of this one: put the files themselves in its place")
}

func hidden(file, message string) workspace.Problem {
	return workspace.Problem{Severity: workspace.Fatal, File: file, Message: message, Code: problem.HiddenByGit}
}

// LayoutPaths are the names of the layout in a config directory.
func LayoutPaths() []string {
	paths := []string{workspace.File}
	for _, folder := range workspace.Folders {
		paths = append(paths, string(folder))
	}
	return paths
}

// askPatience is how long git is asked about a directory.
const askPatience = 10 * time.Second

// hiddenByGit refuses what no review of the directory's repository shows. Where there is
// no program git nobody has reviewed anything.
func hiddenByGit(dir string) []workspace.Problem {
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	defer cancel()
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil
	}
	var problems []workspace.Problem
	submodules, _ := r.Submodules(ctx, LayoutPaths()...)
	for _, at := range submodules {
		problems = append(problems, Submodule(at))
	}
	files := Look(dir).Files
	lies := map[string]string{} // each file, at the end of links
	for file := range files {
		lies[file] = endOf(dir, file)
	}
	attributes, _ := r.Attributes(ctx, "", slices.Sorted(maps.Values(lies)))
	for file, at := range lies {
		if how := attributes[at].Rewrites(files[file]); how != "" {
			problems = append(problems, Rewritten(file, how))
		}
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
