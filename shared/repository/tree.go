package repository

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/workspace"
)

// grown is a tree with updates, and the git trees that are new in it.
type grown struct {
	tree Tree // without Files
	root object.ID
	made []pack.Object
}

// grow applies updates to a tree and leaves everything else as it is.
func (t Tree) grow(updates []update) (grown, error) {
	g := grown{tree: Tree{Folders: maps.Clone(t.Folders)}}
	if g.tree.Folders == nil {
		g.tree.Folders = map[string][]TreeEntry{}
	}
	changed := entriesOf(updates)
	root := changed[""]
	if root == nil {
		root = map[string]TreeEntry{}
	}
	for _, folder := range slices.Sorted(maps.Keys(changed)) {
		if folder == "" {
			continue
		}
		entry, err := g.growFolder(folder, changed[folder])
		if err != nil {
			return g, err
		}
		root[folder] = entry
	}
	var err error
	if g.tree.Root, err = replace(t.Root, root); err != nil {
		return g, err
	}
	g.root = g.add(g.tree.Root)
	return g, nil
}

// entriesOf turns updates into entries, by folder ("" for the root) and name.
// One without an id is to go.
func entriesOf(updates []update) map[string]map[string]TreeEntry {
	folders := map[string]map[string]TreeEntry{}
	for _, u := range updates {
		folder, name, inside := strings.Cut(u.path, "/")
		if !inside {
			folder, name = "", u.path
		}
		if folders[folder] == nil {
			folders[folder] = map[string]TreeEntry{}
		}
		e := TreeEntry{Mode: object.ModeFile, Name: name}
		if u.file != nil {
			e.ID = object.ParseID(u.file.Blob)
		}
		folders[folder][name] = e
	}
	return folders
}

// growFolder changes one folder and returns the root's entry for it. A folder
// in which nothing is left goes: git has no empty ones.
func (g *grown) growFolder(folder string, changed map[string]TreeEntry) (TreeEntry, error) {
	entry := TreeEntry{Mode: object.ModeFolder, Name: folder}
	entries, err := replace(g.tree.Folders[folder], changed)
	if err != nil {
		return entry, fmt.Errorf("in %s: %w", folder, err)
	}
	if len(entries) == 0 {
		delete(g.tree.Folders, folder)
		return entry, nil
	}
	g.tree.Folders[folder] = entries
	entry.ID = g.add(entries)
	return entry, nil
}

// WrongKinds are the entries that stand where the layout has something else, or
// that another program would obey, and the files without content: nothing else tells of
// what is not read.
func (t Tree) WrongKinds() []workspace.Problem {
	var found []workspace.Problem
	add := func(path string, e TreeEntry, must string) {
		found = append(found, workspace.Problem{Severity: workspace.Fatal, File: path,
			Message: "is " + kindOf(e) + "; it must be " + must, Code: problem.UnreadableFile})
	}
	for _, e := range t.Root {
		if code, why := workspace.Obeyed(e.Name, e.IsFolder()); code != "" {
			found = append(found, workspace.Problem{Severity: workspace.Fatal, File: e.Name, Message: why, Code: code})
		}
		switch {
		case workspace.KnownFolder(e.Name) && !e.IsFolder():
			add(e.Name, e, "a folder, or not be there at all")
		case e.Name == workspace.File && !e.IsFile():
			add(e.Name, e, "a file with the workspace's environments")
		}
	}
	for folder, entries := range t.Folders {
		for _, e := range entries {
			if code, why := workspace.Obeyed(e.Name, e.IsFolder()); code != "" {
				found = append(found, workspace.Problem{Severity: workspace.Fatal, File: folder + "/" + e.Name, Message: why, Code: code})
			}
			if workspace.KnownName(e.Name) && !e.IsFile() {
				add(folder+"/"+e.Name, e, "a file, since its name ends in .json")
			}
		}
	}
	for path, unread := range t.Unread {
		found = append(found, workspace.Problem{Severity: workspace.Fatal, File: path, Message: unread.Why, Code: problem.UnreadableFile})
	}
	workspace.SortProblems(found)
	return found
}

func kindOf(e TreeEntry) string {
	switch {
	case e.IsFolder():
		return "a folder"
	case e.IsFile():
		return "a file"
	case e.Mode == object.ModeSymlink:
		return "a symbolic link"
	case e.Mode == object.ModeSubmodule:
		return "a submodule"
	}
	return "an entry of the unknown mode " + e.Mode
}

// add encodes a git tree and returns its id.
func (g *grown) add(entries []TreeEntry) object.ID {
	content := object.EncodeTree(entries)
	id := object.Hash(object.TreeKind, content)
	g.made = append(g.made, pack.Object{ID: id, Kind: object.TreeKind, Content: content})
	return id
}

// replace returns entries with those of the names given replaced, removed or,
// in git's order, added. A file that was there keeps its permissions.
func replace(entries []TreeEntry, changed map[string]TreeEntry) ([]TreeEntry, error) {
	left := maps.Clone(changed)
	kept := make([]TreeEntry, 0, len(entries)+len(changed))
	for _, e := range entries {
		c, ok := changed[e.Name]
		delete(left, e.Name)
		switch {
		case !ok:
			kept = append(kept, e)
		case c.IsFolder() != e.IsFolder(), !e.IsFolder() && !e.IsFile():
			return nil, fmt.Errorf("%w: %s has mode %s", ErrOccupied, e.Name, e.Mode)
		case !c.ID.IsZero():
			c.Mode = e.Mode
			kept = append(kept, c)
		}
	}
	maps.DeleteFunc(left, func(_ string, e TreeEntry) bool { return e.ID.IsZero() })
	added := slices.SortedStableFunc(maps.Values(left), func(a, b TreeEntry) int {
		if a.Less(b) {
			return -1
		}
		return 1 // no two have one name
	})
	return interleave(kept, added), nil
}

// interleave adds sorted entries to others, whose own order stays even if it
// is not git's.
func interleave(entries, added []TreeEntry) []TreeEntry {
	if len(added) == 0 {
		return entries
	}
	all := make([]TreeEntry, 0, len(entries)+len(added))
	for len(entries) > 0 && len(added) > 0 {
		if added[0].Less(entries[0]) {
			all, added = append(all, added[0]), added[1:]
		} else {
			all, entries = append(all, entries[0]), entries[1:]
		}
	}
	return append(append(all, entries...), added...)
}
