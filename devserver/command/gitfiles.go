package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/git"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// gitDirectory is a config directory in a git repository. The program git reads it,
// so that whatever git takes for a commit is one, in whatever kind of clone.
type gitDirectory struct{ *git.Repository }

func openGit(ctx context.Context, dir string) (gitDirectory, error) {
	opened, err := git.Open(ctx, dir)
	if errors.Is(err, git.ErrNone) {
		err = fmt.Errorf("%s is in no git repository, and this reads what git has committed: git init and git commit come first", dir)
	}
	return gitDirectory{opened}, err
}

// gitState is a config directory at a commit.
type gitState struct {
	commit string
	// files are the layout's, through the symbolic links that git holds.
	files map[string][]byte
	// problems are those of files that are not read, and unread are the objects of those that
	// are too large.
	problems []workspace.Problem
	unread   map[string]string
	// sources are where each file lies in the directory, and links the texts of
	// symbolic links, by their paths.
	sources, links map[string]string
	// encoded are files that a filter of git's writes in a form of its own, such as
	// Git LFS and git-crypt, and that cannot be read without running it.
	encoded map[string]stored
}

// stored is what git holds of a file, and the filter that it goes through in a checkout.
type stored struct {
	content []byte
	filter  string
}

// content is what git holds of a file.
func (s *gitState) content(file string) (content []byte, found bool) {
	if content, found = s.files[file]; !found {
		content, found = s.encoded[file].content, s.encoded[file].filter != ""
	}
	return content, found
}

// link is the text of the symbolic link that a file of the layout is, "" for others.
func (s *gitState) link(file string) string {
	folder, _ := followed(s.links, path.Dir(file))
	return s.links[path.Join(folder, path.Base(file))]
}

// at is the directory at the commit that a revision names.
func (g gitDirectory) at(ctx context.Context, revision string) (*gitState, error) {
	if at, ok := repository.Time(revision); ok {
		var err error
		if revision, err = g.before(ctx, revision, at); err != nil {
			return nil, err
		}
	}
	exact, err := g.exactly(ctx, revision)
	if err != nil {
		return nil, err
	}
	id, err := g.Run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", exact+"^{commit}")
	if err != nil && revision == "HEAD" {
		return nil, errNoCommit
	}
	if err != nil || strings.HasPrefix(revision, "^") { // which git takes for all but that one
		return nil, fmt.Errorf("the repository has no commit %s: a branch, a tag or a commit is expected, such as main or HEAD~1", terminal.Quote(revision))
	}
	s := &gitState{commit: strings.TrimSpace(string(id))}
	place, folder, err := g.folder(ctx, s.commit)
	if err != nil {
		return nil, err
	}
	tree, err := g.tree(ctx, s.commit, folder)
	if err != nil {
		return nil, err
	}
	return s, g.read(ctx, s, place, tree)
}

var errNoCommit = errors.New("the repository has no commit yet: git commit comes first")

// before is the last commit before a time, as repository.CommitBefore has it, of those that
// HEAD was.
func (g gitDirectory) before(ctx context.Context, text string, at time.Time) (id string, err error) {
	list, err := g.Run(ctx, nil, "rev-list", "--first-parent", "--timestamp", "HEAD", "--")
	if err != nil {
		return "", errNoCommit
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	var when time.Time
	for _, line := range slices.Backward(lines) {
		seconds, commit, _ := strings.Cut(line, " ")
		n, _ := strconv.ParseInt(seconds, 10, 64)
		if when = time.Unix(n, 0); !when.Before(at) {
			break
		}
		id = commit
	}
	if id == "" {
		return "", fmt.Errorf("there was no commit before %s: the first one is of %s", text, when.UTC().Format(time.RFC3339))
	}
	return id, nil
}

// exactly is a revision with the full name of its ref. Git takes the first of several that
// are called so, of tags before branches, and a ref before a commit's abbreviated id: a tag
// that came with a clone would decide what a branch is.
func (g gitDirectory) exactly(ctx context.Context, revision string) (string, error) {
	name, rest := revision, ""
	if i := strings.IndexAny(revision, "~^@:"); i >= 0 {
		name, rest = revision[:i], revision[i:]
	}
	if isID := len(name) == 40 || len(name) == 64; g.Outer != "" && revision != "HEAD" && !isID {
		return "", fmt.Errorf("the directory is in a submodule of %s, where %s is not what that repository calls so: give the whole id of a commit, or compare in a clone of the submodule's repository", terminal.Escape(g.Outer), terminal.Quote(revision))
	}
	if name == "" || name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, "*?[\\ ") {
		return revision, nil
	}
	list := []string{"for-each-ref", "--format=%(refname)"}
	for _, form := range []string{"refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"} {
		list = append(list, fmt.Sprintf(form, name))
	}
	out, err := g.Run(ctx, nil, list...)
	var refs []string
	for ref := range strings.Lines(string(out)) {
		if ref = strings.TrimSpace(ref); slices.ContainsFunc(list[2:], func(one string) bool { return one == ref }) { // else it lies below
			refs = append(refs, ref)
		}
	}
	if at, failed := g.Run(ctx, nil, "rev-parse", "--path-format=absolute", "--git-path", name); failed == nil {
		if info, none := os.Stat(strings.TrimSuffix(string(at), "\n")); none == nil && !info.IsDir() {
			refs = append(refs, name) // as ORIG_HEAD is
		}
	}
	objects := ""
	id := name
	if i := strings.LastIndex(name, "-g"); i >= 0 { // as git describe writes one
		id = name[i+len("-g"):]
	}
	if isID := strings.Trim(id, "0123456789abcdefABCDEF") == ""; err == nil && len(refs) > 0 && isID && len(id) >= 4 {
		var found []byte
		found, err = g.Run(ctx, nil, "rev-parse", "--disambiguate="+id)
		objects = string(found)
	}
	switch {
	case err != nil:
		return "", err
	case objects != "" && (len(name) == 40 || len(name) == 64): // git takes these for ids
	case len(refs) > 1, objects != "":
		refs = append(refs, strings.Fields(objects)...)
		return "", fmt.Errorf("%s is the name of several: %s; give the whole name of the one that you mean", terminal.Quote(revision), terminal.Escape(strings.Join(refs[:min(len(refs), maxRemarks)], ", ")))
	case len(refs) == 1:
		return refs[0] + rest, nil
	}
	return revision, nil
}

// read reads the files of the layout, through symbolic links as they are followed on
// disk: within the directory, which lies at a place of the repository.
func (g gitDirectory) read(ctx context.Context, s *gitState, place string, t gitTree) error {
	var err error
	if s.links, err = g.linksOf(ctx, t); err != nil {
		return err
	}
	s.sources = map[string]string{}
	add := func(file string) {
		if at, ok := followed(s.links, file); ok && t.entries[at].is(gitFile) {
			s.sources[file] = at
		}
	}
	add(workspace.File)
	for _, folder := range workspace.Folders {
		at, ok := followed(s.links, string(folder))
		for _, name := range t.folders[at] {
			if ok && workspace.KnownName(name) {
				add(path.Join(string(folder), name))
			}
		}
	}
	for at, e := range t.entries {
		if e.is(gitSubmodule) && s.leadsInto(at) {
			s.problems = append(s.problems, datadir.Submodule(at))
		}
	}
	s.files, s.unread = map[string][]byte{}, map[string]string{}
	wanted := map[string]string{}
	for file, at := range s.sources {
		if e := t.entries[at]; e.size > document.MaxSize {
			s.problems = append(s.problems, workspace.Problem{Severity: workspace.Fatal, File: file, Message: workspace.TooLarge(e.size).Error(), Code: problem.UnreadableFile})
			s.unread[file] = e.id
		} else {
			wanted[file] = e.id
		}
	}
	if err := g.contents(ctx, s.commit, wanted, s.files); err != nil {
		return err
	}
	return g.setEncodedAside(ctx, s, place)
}

// leadsInto reports whether a name of the layout is a submodule, holds it, or ends in it.
func (s *gitState) leadsInto(submodule string) bool {
	names := slices.Collect(maps.Keys(s.links))
	for _, folder := range workspace.Folders {
		names = append(names, string(folder))
	}
	for _, name := range append(names, workspace.File) {
		folder, _, _ := strings.Cut(name, "/")
		if name != workspace.File && !workspace.KnownFolder(folder) {
			continue
		}
		end, ok := followed(s.links, name)
		if ok && (end == submodule || strings.HasPrefix(end, submodule+"/") || strings.HasPrefix(submodule, name+"/")) {
			return true
		}
	}
	return false
}

// linksOf are the texts of the symbolic links of a tree.
func (g gitDirectory) linksOf(ctx context.Context, t gitTree) (map[string]string, error) {
	const longest = 4096 // bytes that a path may have
	wanted, texts, links := map[string]string{}, map[string][]byte{}, map[string]string{}
	for file, e := range t.entries {
		if e.is(gitLink) && e.size <= longest {
			wanted[file] = e.id
		}
	}
	err := g.contents(ctx, "", wanted, texts)
	for file, text := range texts {
		links[file] = linkTarget(text)
	}
	return links, err
}

// linkTarget is where a link leads that git has: a checkout ends the path at a zero.
func linkTarget(text []byte) string {
	target, _, _ := strings.Cut(string(text), "\x00")
	return target
}

// followed is follow by the texts of links.
func followed(links map[string]string, file string) (at string, ok bool) {
	return follow(file, func(path string) (string, bool) {
		target, isLink := links[path]
		return target, isLink
	})
}

// follow is where a path ends that goes through links, and whether it ends within
// the directory.
func follow(file string, link func(path string) (target string, isLink bool)) (at string, ok bool) {
	const most = 40 // links that Linux follows on one path
	rest := strings.Split(file, "/")
	for followed := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		target, isLink := link(next)
		if !isLink {
			at = next
			if at == ".." || strings.HasPrefix(at, "../") {
				return "", false
			}
			continue
		}
		if followed++; followed > most || path.IsAbs(target) {
			return "", false
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, true
}

func isJSON(text []byte) bool { return json.Valid(workspace.WithoutMark(text)) }

// setEncodedAside takes out of the files those that are no JSON as git holds them, and
// go through a filter on their way to a checkout. What git itself rewrites is a problem.
func (g gitDirectory) setEncodedAside(ctx context.Context, s *gitState, place string) error {
	attributes, err := g.attributes(ctx, s.commit, place, s.sources, s.files)
	if err != nil {
		return err
	}
	s.encoded = map[string]stored{}
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		text := s.files[file]
		if how := attributes[file].Rewrites(text); how != "" {
			s.problems = append(s.problems, datadir.Rewritten(file, how))
		}
		if filter := attributes[file].Filter(); filter != "" && !isJSON(text) {
			s.encoded[file] = stored{text, filter}
			delete(s.files, file)
		}
	}
	return nil
}
