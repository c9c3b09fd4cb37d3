package gitremote

import (
	"slices"
	"strings"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// trailer names svc's commit in one that was made of it for a directory of a repository.
const trailer = "Svc-Commit"

// graft puts a tree in the place of a directory of a spine, and gathers the trees that lead
// there.
func (g *gathering) graft(s spine, at object.ID, names []string, depth int, below object.ID) (object.ID, error) {
	if depth == len(names) {
		return below, nil
	}
	var entries []object.TreeEntry
	if at != (object.ID{}) {
		var err error
		if entries, err = object.ReadTree(s.read, at); err != nil {
			return at, err
		}
	}
	inner, err := folderIn(entries, names[:depth+1], names[depth])
	if err != nil {
		return at, err
	}
	made, err := g.graft(s, inner, names, depth+1, below)
	if err != nil {
		return at, err
	}
	entries = slices.DeleteFunc(entries, func(e object.TreeEntry) bool { return e.Name == names[depth] })
	entries = append(entries, object.TreeEntry{Mode: object.ModeFolder, Name: names[depth], ID: made})
	id, content := g.addTree(entries)
	s.trees[id] = content
	return id, nil
}

// addTree adds a tree of entries in any order.
func (g *gathering) addTree(entries []object.TreeEntry) (id object.ID, content []byte) {
	slices.SortFunc(entries, func(a, b object.TreeEntry) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	content = object.EncodeTree(entries)
	id = object.Hash(object.TreeKind, content)
	g.add(object.TreeKind, id, content)
	return id, content
}

// export adds a commit as it is below a directory of a remote, on top of a spine's. What of its
// tree an earlier one has brought is before; zero for nothing.
func (g *gathering) export(s spine, names []string, id, before object.ID) (spine, error) {
	c, err := object.ReadCommit(g.read, id)
	if err != nil {
		return s, err
	}
	if err := g.tree(c.Tree, before, 0); err != nil {
		return s, err
	}
	grown := spine{trees: s.trees}
	if grown.root, err = g.graft(s, s.root, names, 0, c.Tree); err != nil {
		return s, err
	}
	made := object.Commit{Tree: grown.root, Author: c.Author, Committer: c.Committer, Message: withTrailer(c.Message, trailer+": "+id.String())}
	if s.commit != (object.ID{}) {
		made.Parents = []object.ID{s.commit}
	}
	content := object.EncodeCommit(made)
	grown.commit = object.Hash(object.CommitKind, content)
	g.add(object.CommitKind, grown.commit, content)
	return grown, nil
}

func withTrailer(message, line string) string {
	message = strings.TrimRight(message, "\n")
	if !repository.EndsInTrailers(message) {
		message += "\n"
	}
	return message + "\n" + line + "\n"
}

// prune keeps the trees that lead to the directory alone, of all that were made on the way.
func (s spine) prune(names []string) (spine, error) {
	return readSpine(func(id object.ID) (object.Kind, []byte, error) {
		if id == s.commit {
			return object.CommitKind, object.EncodeCommit(object.Commit{Tree: s.root}), nil
		}
		return s.read(id)
	}, s.commit, names)
}
