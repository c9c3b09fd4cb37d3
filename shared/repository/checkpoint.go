package repository

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// A stored snapshot is
//
//	a line that says what it is
//	the length of the header (4 bytes, big-endian), the header (JSON)
//	the git trees: the root's, then the layout's folders' in the header's order
//	the commits that touched the files last (see AppendCommit)
//	the files' contents, by path
//	the briefs (see Draft), in a snapshot of the second format
//
// and that line, in the second format, is followed by how many bytes the briefs
// have (4, big-endian). Snapshots of the first format are still read.
//
// The header has only numbers and the folders' names: what the trees hold may
// be no UTF-8. The fence is in it so that the name, which is the content's
// hash, is another one after each sweep: see pack.NameAt.
const (
	snapshotMagic = "svc snapshot 1\n"
	briefedMagic  = "svc snapshot 2\n"
)

// briefsShare bounds the briefs of a snapshot: to half of all that is in it beside
// them.
const briefsShare = 2

// BriefsIn is how many bytes of a stored snapshot are briefs, as far as that can be
// told without decoding it.
func BriefsIn(content []byte) int64 {
	rest, briefed := bytes.CutPrefix(content, []byte(briefedMagic))
	if !briefed || len(rest) < 4 {
		return 0
	}
	return int64(binary.BigEndian.Uint32(rest))
}

// MaxContent is how many bytes a snapshot has at most of which all but the briefs
// has so many.
func MaxContent(others int64) int64 { return others + others/briefsShare }

type snapshotHeader struct {
	Commit   string `json:"commit"`
	Sequence int64  `json:"sequence"`
	Fence    int64  `json:"fence,omitempty"`
	Root     int    `json:"root"` // the tree's length
	Folders  []struct {
		Name   string `json:"name"`
		Length int    `json:"length"`
	} `json:"folders"`
	Commits int `json:"commits"` // how many
	// Files are pairs: the content's length, and the number of the last commit.
	Files [][2]int `json:"files"`
	// Unread is why some of the files, by their numbers, have no content.
	Unread map[int]*workspace.Unread `json:"unread,omitempty"`
}

// EncodeSnapshot makes the stored form of a snapshot whose tree is known, and
// its name. The same snapshot, with the same briefs, makes the same bytes. Briefs
// that are large beside what they are of are left out.
func EncodeSnapshot(s *Snapshot, briefs []byte) (name string, content []byte, err error) {
	tree, known := s.knownTree()
	if !known {
		return "", nil, errors.New("the git tree of the snapshot has not been read")
	}
	h := snapshotHeader{Commit: s.Head.Commit, Sequence: s.Head.Sequence, Fence: s.Head.Fence}
	var front bytes.Buffer // all of the body but the texts, which are most of it
	h.putTrees(&front, tree)
	texts := h.putFiles(&front, s.Files)
	header, err := json.Marshal(h)
	if err != nil {
		return "", nil, err
	}
	rest := 4 + len(header) + front.Len() + texts
	if len(briefs) > rest/briefsShare {
		briefs = nil
	}
	content = make([]byte, 0, len(briefedMagic)+4+rest+len(briefs))
	if len(briefs) > 0 {
		content = binary.BigEndian.AppendUint32(append(content, briefedMagic...), uint32(len(briefs)))
	} else {
		content = append(content, snapshotMagic...)
	}
	content = binary.BigEndian.AppendUint32(content, uint32(len(header)))
	content = append(append(content, header...), front.Bytes()...)
	for _, f := range s.Files {
		content = append(content, f.Text...)
	}
	content = append(content, briefs...)
	return snapshotName(content), content, nil
}

func snapshotName(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (h *snapshotHeader) putTrees(body *bytes.Buffer, tree Tree) {
	put := func(entries []TreeEntry) int {
		n, _ := body.Write(object.EncodeTree(entries))
		return n
	}
	h.Root = put(tree.Root)
	for _, folder := range slices.Sorted(maps.Keys(tree.Folders)) {
		h.Folders = append(h.Folders, struct {
			Name   string `json:"name"`
			Length int    `json:"length"`
		}{folder, put(tree.Folders[folder])})
	}
}

// putFiles writes the commits that touched files last, and returns how long the
// files' contents are together.
func (h *snapshotHeader) putFiles(body *bytes.Buffer, files []File) (texts int) {
	numbers := map[string]int{}
	for i, f := range files {
		if f.Err != nil && h.Unread == nil {
			h.Unread = map[int]*workspace.Unread{}
		}
		if f.Err != nil {
			h.Unread[i] = f.Err
		}
		n, known := numbers[f.Last.SHA]
		if !known {
			n = len(numbers)
			numbers[f.Last.SHA] = n
			last := *f.Last
			last.Touched, last.Tree, last.Pack = nil, "", ""
			body.Write(AppendCommit(nil, last))
		}
		h.Files = append(h.Files, [2]int{len(f.Text), n})
		texts += len(f.Text)
	}
	h.Commits = len(numbers)
	return texts
}

var errSnapshot = errors.New("the stored snapshot is damaged")

// DecodeSnapshot reads what EncodeSnapshot made. The snapshot's head has no
// more than commit and sequence.
func DecodeSnapshot(name string, content []byte) (*Snapshot, error) {
	if snapshotName(content) != name {
		return nil, fmt.Errorf("%w: its content is not what it is named after", errSnapshot)
	}
	return decodeSnapshot(content)
}

func decodeSnapshot(content []byte) (*Snapshot, error) {
	r := newDecoder(nil)
	var briefs int
	if plain, first := bytes.CutPrefix(content, []byte(snapshotMagic)); first {
		r.Bytes = plain
	} else if plain, second := bytes.CutPrefix(content, []byte(briefedMagic)); second {
		r.Bytes = plain
		if length := r.Take(4); length != nil {
			briefs = int(binary.BigEndian.Uint32(length))
		}
	} else {
		return nil, fmt.Errorf("%w: it does not begin with %q or %q", errSnapshot, snapshotMagic, briefedMagic)
	}
	var h snapshotHeader
	if length := r.Take(4); length != nil {
		if err := json.Unmarshal(r.Take(uint64(binary.BigEndian.Uint32(length))), &h); err != nil {
			return nil, fmt.Errorf("%w: its header: %w", errSnapshot, err)
		}
	}
	s := &Snapshot{Head: Head{Commit: h.Commit, Sequence: h.Sequence}, treeKnown: true}
	var err error
	if s.tree, err = h.trees(r); err != nil {
		return nil, err
	}
	if s.Files, err = h.files(r, s.tree); err != nil {
		return nil, err
	}
	s.briefs = newBriefs(s.Files, r.part(briefs))
	if r.Bad || len(r.Bytes) > 0 || !object.IsID(h.Commit) || h.Sequence < 0 {
		return nil, errSnapshot
	}
	return s.weigh(0), nil
}

// part takes what a header says is there.
func (r *decoder) part(length int) []byte {
	if length < 0 {
		r.Fail()
		return nil
	}
	return r.Take(uint64(length))
}

func (h *snapshotHeader) trees(r *decoder) (Tree, error) {
	tree := Tree{Folders: map[string][]TreeEntry{}}
	var err error
	if tree.Root, err = object.DecodeTree(r.part(h.Root)); err != nil {
		return tree, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	for _, f := range h.Folders {
		if tree.Folders[f.Name], err = object.DecodeTree(r.part(f.Length)); err != nil {
			return tree, fmt.Errorf("%w: in %s: %w", errSnapshot, f.Name, err)
		}
	}
	return tree, nil
}

// files puts the layout's files of the trees together with their contents and
// the commits that touched them last.
func (h *snapshotHeader) files(r *decoder, tree Tree) ([]File, error) {
	files := LayoutFiles(tree)
	if len(files) != len(h.Files) || h.Commits < 0 || h.Commits > len(h.Files) {
		return nil, fmt.Errorf("%w: %d files are in its trees and %d in its header", errSnapshot, len(files), len(h.Files))
	}
	commits := make([]Commit, h.Commits)
	for i := range commits {
		var err error
		if commits[i], r.Bytes, err = ReadCommit(r.Bytes); err != nil {
			return nil, fmt.Errorf("%w: %w", errSnapshot, err)
		}
		commits[i].Touched = nil
	}
	for i, f := range h.Files {
		if f[1] < 0 || f[1] >= len(commits) {
			return nil, errSnapshot
		}
		files[i].Text, files[i].Err, files[i].Last = r.part(f[0]), h.Unread[i], &commits[f[1]]
		switch {
		case files[i].Err != nil:
			files[i].Text = nil
		case files[i].Text == nil:
			files[i].Text = []byte{}
		}
	}
	return files, nil
}

// LayoutFiles lists the files of the layout in a tree, by path, without texts. Of
// entries of one name, which git does not write, the last counts.
func LayoutFiles(tree Tree) []File {
	var files []File
	add := func(path string, e TreeEntry) {
		if e.IsFile() && !e.IsNested() && IsFile(path) {
			files = append(files, File{Path: path, Blob: e.ID.String()})
		}
	}
	for _, e := range tree.Root {
		add(e.Name, e)
	}
	for folder, entries := range tree.Folders {
		for _, e := range entries {
			add(folder+"/"+e.Name, e)
		}
	}
	slices.Reverse(files)
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path })
}
