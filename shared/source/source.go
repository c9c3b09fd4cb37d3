package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Source is what a workspace is made from: a directory's files, or a git
// repository with its history.
type Source struct {
	Name  string // for the commit's message
	Files map[string][]byte
	Git   *Repository // nil: Files alone, as one commit
	Notes []string    // what a person should know
	// Verify is why the files should not be taken as they are, all errors that
	// svc verify tells of in a *Refusal; nil when there are none.
	Verify error
}

// Refusal is why a directory is not taken: all problems of its files.
type Refusal struct {
	Path     string
	Problems []workspace.Problem
}

func (r *Refusal) Error() string {
	lines := []string{r.Path + " cannot be taken as it is:"}
	for _, p := range r.Problems {
		lines = append(lines, p.In(r.Path))
	}
	return strings.Join(lines, "\n")
}

// Read reads what a directory holds. The root of a git repository comes with
// its history. Paths are told as display has them.
func Read(ctx context.Context, path string, display func(string) string) (Source, error) {
	if err := Exists(path, display); err != nil {
		return Source{}, err
	}
	git, nestedIn, err := FindRepository(path)
	if err != nil {
		return Source{}, err
	}
	s := Source{Name: filepath.Base(path)}
	if git != nil && !git.Empty() {
		s.Git = git
		return s, s.readGit(ctx, path, display)
	}
	if nestedIn != "" {
		s.note("%s lies inside the repository %s: its files are imported as one commit, without their history", display(path), nestedIn)
	}
	state := datadir.Look(path)
	s.Files = Stored(state.Files)
	err = s.check(path, state.Files, InTheWay(path, state), display)
	return s, err
}

// Refused is a *Refusal of the errors among problems, or nil.
func Refused(problems []workspace.Problem, shown string) error {
	errors := slices.DeleteFunc(slices.Clone(problems), func(p workspace.Problem) bool { return p.Severity == workspace.Warning })
	if len(errors) == 0 {
		return nil
	}
	workspace.SortProblems(errors)
	return &Refusal{shown, errors}
}

// InTheWay are the problems of a directory that is to become the whole of a
// workspace: what is left out, such as what a link leads out of it to, would be missing from
// that, so it is in the way, and so is what another program would obey.
func InTheWay(path string, state datadir.State) []workspace.Problem {
	problems := slices.Clone(state.Problems)
	for i := range problems {
		if problems[i].Code == problem.LeftOut {
			problems[i].Severity = workspace.Fatal
		}
	}
	for _, p := range datadir.Overlooked(path) {
		if p.Severity != workspace.Warning {
			p.Severity = workspace.Fatal
			problems = append(problems, p)
		}
	}
	return problems
}

func (s *Source) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

func (s *Source) readGit(ctx context.Context, path string, display func(string) string) error {
	s.note("importing %s with its history", display(path))
	if err := s.Git.whole(); err != nil {
		return err
	}
	tree, err := s.Git.Tree(ctx)
	if err != nil {
		return err
	}
	s.Files = tree.Files
	if found := datadir.Look(path); len(found.Files) > 0 && found.Version() != datadir.Version(s.Files) {
		s.note("%s has changes that are not committed; they are not imported", display(path))
	}
	return s.check(path, s.Files, tree.WrongKinds(), display)
}

// check refuses what is no config directory, and files that cannot be read. The
// files are as they were found, so that lines are those that a person sees.
func (s *Source) check(path string, files map[string][]byte, problems []workspace.Problem, display func(string) string) error {
	ws, found := workspace.ReadAndVerify(files)
	found = append(found, problems...)
	if s.Verify = Refused(found, display(path)); len(workspace.FatalOnly(found)) > 0 {
		return s.Verify
	}
	if len(s.Files) == 0 {
		return NoDirectory(path, display)
	}
	for _, e := range ws.Environments {
		if strings.ToLower(e.Name) != e.Name {
			s.note("the environment %s is taken as one of the type %s; names of new environments are in lower case", terminal.Quote(e.Name), e.Type)
		}
	}
	if ws.Declared && !ws.GuardedReferences() {
		s.note("anybody who may edit a document can have it read any environment variable of the applications; \"secretReferences\": \"protected\" in %s guards that", workspace.File)
	}
	return nil
}

// Exists says when there is no directory at all.
func Exists(path string, display func(string) string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory %s", display(path))
	}
	return nil // what else is wrong comes out when it is read
}

// NoDirectory says that a directory is no config directory; often it is the one
// above.
func NoDirectory(path string, display func(string) string) error {
	hint := ""
	for _, sign := range []string{string(workspace.Flags), workspace.File} {
		// Without a hint where the directory cannot be read: that comes out elsewhere.
		if inside, _ := fs.Glob(os.DirFS(path), "*/"+sign); len(inside) > 0 {
			hint = "; did you mean " + display(filepath.Join(path, filepath.Dir(inside[0]))) + "?"
		}
	}
	return fmt.Errorf("%s holds no config directory: neither a %s nor folders such as %s%s", display(path), workspace.File, workspace.Flags, hint)
}

// Stored puts files into the form in which the API writes them, so that the
// first edit of one shows in a git diff as that edit alone. One that would be too
// large so stays as it is.
func Stored(files map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for path, text := range files {
		out[path] = text
		if tree, err := document.Parse(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))); err == nil && tree.EncodedSize() <= document.MaxSize {
			out[path] = tree.Encode()
		}
	}
	return out
}
