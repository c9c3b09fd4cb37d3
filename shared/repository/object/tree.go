package object

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Modes of tree entries as git writes them.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeSymlink    = "120000"
	ModeFolder     = "40000"
	ModeSubmodule  = "160000"
)

// TreeEntry is one entry of a git tree.
type TreeEntry struct {
	Mode string // octal as git writes it: 100644, 40000, 120000 ...
	Name string
	ID   ID
}

// Canonical is the mode that git takes a mode of a tree for, of six digits: it looks at the
// bits that say of what kind an entry is, and at the owner's right to run a file.
func Canonical(mode uint32) string {
	const kinds, folder, file, link, run = 0o170000, 0o040000, 0o100000, 0o120000, 0o100
	switch {
	case mode&kinds == file && mode&run != 0:
		return ModeExecutable
	case mode&kinds == file:
		return ModeFile
	case mode&kinds == link:
		return ModeSymlink
	case mode&kinds == folder:
		return "0" + ModeFolder
	}
	return ModeSubmodule
}

func (e TreeEntry) is(mode string) bool {
	bits, err := strconv.ParseUint(e.Mode, 8, 32)
	return err == nil && Canonical(uint32(bits)) == mode
}

// IsFolder reports whether the entry is a tree.
func (e TreeEntry) IsFolder() bool { return e.Mode == ModeFolder || e.is("0"+ModeFolder) }

// IsFile reports whether the entry is a file of whatever permissions. A symbolic
// link is none.
func (e TreeEntry) IsFile() bool {
	return e.Mode == ModeFile || e.is(ModeFile) || e.is(ModeExecutable)
}

// IsNested reports whether the name has a slash in it. No path leads to such an
// entry: it must not be taken for the file that its name looks like.
func (e TreeEntry) IsNested() bool { return strings.Contains(e.Name, "/") }

// Less is git's order of a tree: by name, a folder as if its name ended in a
// slash.
func (e TreeEntry) Less(other TreeEntry) bool { return e.sortName() < other.sortName() }

func (e TreeEntry) sortName() string {
	if e.IsFolder() {
		return e.Name + "/"
	}
	return e.Name
}

// EncodeTree writes entries, in the order given, as the content of a tree.
func EncodeTree(entries []TreeEntry) []byte {
	size := 0
	for _, e := range entries {
		size += len(e.Mode) + len(e.Name) + 2 + sha1.Size
	}
	tree := make([]byte, 0, size)
	for _, e := range entries {
		tree = append(tree, e.Mode...)
		tree = append(tree, ' ')
		tree = append(tree, e.Name...)
		tree = append(tree, 0)
		tree = append(tree, e.ID[:]...)
	}
	return tree
}

// DecodeTree reads the content of a tree, whatever git itself reads: a name may
// have a slash in it, which git fsck objects to. Such an entry is no file of the
// layout, see TreeEntry.IsNested.
func DecodeTree(content []byte) ([]TreeEntry, error) {
	entries := make([]TreeEntry, 0, len(content)/48)
	for rest := content; len(rest) > 0; {
		e, after, err := NextEntry(rest)
		if err != nil {
			return nil, fmt.Errorf("tree, byte %d: %w", len(content)-len(rest), err)
		}
		entries, rest = append(entries, e.Decode()), after
	}
	return entries, nil
}

// RawEntry is an entry of a tree as it lies there, for readers that look at few of many.
type RawEntry struct {
	Mode, Name []byte
	ID         ID
}

// Decode is the entry by itself.
func (e RawEntry) Decode() TreeEntry {
	return TreeEntry{Mode: modeOf(e.Mode), Name: string(e.Name), ID: e.ID}
}

// NextEntry takes the first entry off the content of a tree.
func NextEntry(tree []byte) (e RawEntry, rest []byte, err error) {
	space := bytes.IndexByte(tree[:min(len(tree), 8)], ' ')
	if space < 1 || slices.ContainsFunc(tree[:space], func(b byte) bool { return b < '0' || b > '7' }) {
		return e, nil, malformed("an entry begins with an octal mode and a space")
	}
	name, rest, ended := bytes.Cut(tree[space+1:], []byte{0})
	if !ended || len(name) == 0 {
		return e, nil, malformed("the entry's name is empty or does not end")
	}
	if len(rest) < sha1.Size {
		return e, nil, malformed("the entry %q is cut off in its object id", name)
	}
	return RawEntry{tree[:space], name, ID(rest[:sha1.Size])}, rest[sha1.Size:], nil
}

// modeOf is a mode as a string, which nearly all entries share.
func modeOf(b []byte) string {
	if string(b) == ModeFile {
		return ModeFile
	}
	return string(b)
}
