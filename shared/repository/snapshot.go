package repository

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"svc.example/svc/shared/workspace"
)

// Snapshot is everything at one head.
type Snapshot struct {
	Head  Head
	Files []File // of the layout, by path

	// The git tree, without Files. The rows that a reader follows tell it in
	// all but rare cases; else it is read when a write needs it.
	treeLock  sync.Mutex
	tree      Tree
	treeKnown bool

	briefs *briefs // of the stored snapshot that this one was read from; nil: none

	texts int64 // bytes of all files' texts
	fresh int64 // bytes of those that no earlier snapshot has

	lost   []string  // the files whose texts are lost
	seekAt time.Time // when they are looked for again

	// Parent is the commit that the head named before, in a snapshot that Commit has
	// just made.
	Parent string
}

// NewSnapshot is a snapshot of files that lie elsewhere than in git, by path.
func NewSnapshot(head Head, files []File) *Snapshot {
	return (&Snapshot{Head: head, Files: files}).weigh(0)
}

// File returns the file at a path.
func (s *Snapshot) File(path string) (File, bool) {
	i := sort.Search(len(s.Files), func(i int) bool { return s.Files[i].Path >= path })
	if i == len(s.Files) || s.Files[i].Path != path {
		return File{}, false
	}
	return s.Files[i], true
}

// copy returns the same snapshot for a head that differs at most in its
// access version.
func (s *Snapshot) copy(head Head) *Snapshot {
	s.treeLock.Lock()
	defer s.treeLock.Unlock()
	return &Snapshot{Head: head, Files: s.Files, tree: s.tree, treeKnown: s.treeKnown, briefs: s.briefs, texts: s.texts, fresh: s.fresh, lost: s.lost, seekAt: s.seekAt}
}

// briefs are what a stored snapshot has beside its files.
type briefs struct {
	bytes int64
	once  sync.Once
	files []File
	text  []byte
}

func newBriefs(files []File, text []byte) *briefs {
	if len(text) == 0 {
		return nil
	}
	return &briefs{bytes: int64(len(text)), files: files, text: text}
}

func (b *briefs) size() int64 {
	if b == nil {
		return 0
	}
	return b.bytes
}

// TakeBriefs returns the briefs (see Draft) of the stored snapshot that was read, and
// the files that they are of, which need not be those of this snapshot: commits may
// have come since. They are given once, as nobody needs them twice: after that, and
// where there are none, they are nil.
func (s *Snapshot) TakeBriefs() (files []File, text []byte) {
	if b := s.briefs; b != nil {
		b.once.Do(func() {
			files, text = b.files, b.text
			b.files, b.text = nil, nil
		})
	}
	return files, text
}

// Decode decodes the file.
func (f *File) Decode() *workspace.Decoded {
	if f.Err != nil {
		return workspace.DecodeUnread(f.Path, f.Blob, f.Err)
	}
	return workspace.Decode(f.Path, f.Text)
}

// isLost reports whether the file's text may come back.
func (f *File) isLost() bool { return f.Err != nil && f.Err.Lost }

// Size is how many bytes the texts of all files have.
func (s *Snapshot) Size() int64 { return s.texts }

// Lost are the paths of the files whose texts are lost; of two snapshots of the same commit the later one may lack fewer.
func (s *Snapshot) Lost() []string { return s.lost }

const (
	seekEvery = time.Second
	// seekShare bounds the share of the time that looking for lost files takes.
	seekShare = 10
)

// isDue reports whether lost files may be back by now.
func (s *Snapshot) isDue() bool { return len(s.lost) > 0 && !time.Now().Before(s.seekAt) }

// seek looks for the lost files.
func (s *Snapshot) seek(ctx context.Context, objects Objects) *Snapshot {
	begun := time.Now()
	found := s.copy(s.Head)
	found.Files, found.lost, found.texts = slices.Clone(s.Files), nil, 0
	for i := range found.Files {
		f := &found.Files[i]
		if !f.isLost() {
			continue
		}
		if text, unread, err := textOf(objects.Blob(ctx, Touch{Path: f.Path, Blob: f.Blob})); err == nil {
			f.Text, f.Err = text, unread
		}
	}
	now := time.Now()
	found.seekAt = now.Add(max(seekEvery, seekShare*now.Sub(begun)))
	return found.weigh(s.fresh)
}

// wholeTree returns the git tree, read from objects if need be. The lock is
// not held meanwhile: readers take it too.
func (s *Snapshot) wholeTree(ctx context.Context, objects Objects) (Tree, error) {
	if tree, known := s.knownTree(); known {
		return tree, nil
	}
	tree, err := objects.Tree(ctx, s.Head)
	if err != nil {
		return Tree{}, fmt.Errorf("reading the tree of %s: %w", s.Head.Commit, err)
	}
	tree.Files, tree.Unread = nil, nil
	s.treeLock.Lock()
	defer s.treeLock.Unlock()
	s.tree, s.treeKnown = tree, true
	return tree, nil
}

// knownTree returns the git tree if it is known.
func (s *Snapshot) knownTree() (Tree, bool) {
	s.treeLock.Lock()
	defer s.treeLock.Unlock()
	return s.tree, s.treeKnown || s.Head.Commit == ""
}

// update is what becomes of one file.
type update struct {
	path string
	file *File // nil: deleted
}

// merge returns files with updates, both by path.
func merge(files []File, updates []update) []File {
	merged := make([]File, 0, len(files)+len(updates))
	for _, u := range updates {
		n := sort.Search(len(files), func(i int) bool { return files[i].Path >= u.path })
		merged, files = append(merged, files[:n]...), files[n:]
		if len(files) > 0 && files[0].Path == u.path {
			files = files[1:]
		}
		if u.file != nil {
			merged = append(merged, *u.file)
		}
	}
	return append(merged, files...)
}
