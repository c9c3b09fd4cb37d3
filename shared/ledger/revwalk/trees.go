package revwalk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// Reader reads git objects by their ids.
type Reader interface {
	Read(id object.ID) (object.Kind, []byte, error)
}

// Trees finds the layout's files in git's trees. It is used by one goroutine.
type Trees struct {
	objects Reader
	// kept are the trees read last, by id: a commit's trees are needed again
	// for its children, and most stay the same from commit to commit.
	kept *lru.Cache[object.ID, []byte]
}

// maxKept bounds the bytes of kept trees. Two trees of 10,000 documents have
// about 1 MB.
const maxKept = 16 << 20

// NewTrees looks into trees that a reader reads.
func NewTrees(objects Reader) *Trees {
	return &Trees{objects: objects, kept: lru.New[object.ID, []byte](maxKept)}
}

// Commit reads a commit object.
func (t *Trees) Commit(id object.ID) (object.Commit, error) {
	return object.ReadCommit(t.objects.Read, id)
}

// tree returns the content of a tree; that of the zero id is empty.
func (t *Trees) tree(id object.ID) ([]byte, error) {
	if id == (object.ID{}) {
		return nil, nil
	}
	if content, ok := t.kept.Get(id); ok {
		return content, nil
	}
	content, err := object.ReadAs(t.objects.Read, id, object.TreeKind)
	if err != nil {
		return nil, err
	}
	t.kept.Put(id, content, int64(len(content)))
	return content, nil
}

type entry = object.RawEntry

// skipCommon drops the entries that two trees begin with alike.
func skipCommon(a, b []byte) ([]byte, []byte, error) {
	for len(a) > 0 && len(b) > 0 {
		_, rest, err := object.NextEntry(a)
		if err != nil {
			return nil, nil, err
		}
		n := len(a) - len(rest)
		if len(b) < n || !bytes.Equal(a[:n], b[:n]) {
			break
		}
		a, b = rest, b[n:]
	}
	return a, b, nil
}

// compare walks through two trees side by side and calls for every entry that
// is not in both of them alike. Git's order makes that quick; in a tree that is
// out of order, entries that are the same may be called for on both sides.
func compare(a, b []byte, inA, inB func(entry)) error {
	for {
		var err error
		if a, b, err = skipCommon(a, b); err != nil || len(a)+len(b) == 0 {
			return err
		}
		first, restA, errA := nextOrLast(a)
		second, restB, errB := nextOrLast(b)
		if errA != nil || errB != nil {
			return errors.Join(errA, errB)
		}
		switch by := first.Compare(second); {
		case len(b) == 0 || len(a) > 0 && by < 0:
			inA(first)
			a = restA
		case len(a) == 0 || by > 0:
			inB(second)
			b = restB
		default:
			inA(first)
			inB(second)
			a, b = restA, restB
		}
	}
}

func nextOrLast(tree []byte) (entry, []byte, error) {
	if len(tree) == 0 {
		return entry{}, nil, nil
	}
	return object.NextEntry(tree)
}

// side is what one of two trees holds where they differ.
type side struct {
	files   map[string]object.ID // of the layout, path to blob
	folders map[string]object.ID // the layout's
}

func newSide() side { return side{files: map[string]object.ID{}, folders: map[string]object.ID{}} }

func (s side) add(prefix string, e entry) {
	switch kind := e.Decode(); {
	case kind.IsNested():
	case kind.IsFile() && repository.IsFile(prefix+kind.Name):
		s.files[prefix+kind.Name] = e.ID
	case kind.IsFolder() && prefix == "" && workspace.KnownFolder(kind.Name):
		s.folders[kind.Name] = e.ID
	}
}

// differences compares the layout's files in two root trees. A file that is
// alike in both may be in both sides or in none.
func (t *Trees) differences(before, after object.ID) (then, now side, err error) {
	then, now = newSide(), newSide()
	if err = t.compare("", before, after, then, now); err != nil {
		return then, now, err
	}
	for _, folder := range workspace.Folders {
		name := string(folder)
		if err = t.compare(name+"/", then.folders[name], now.folders[name], then, now); err != nil {
			break
		}
	}
	return then, now, err
}

func (t *Trees) compare(prefix string, before, after object.ID, then, now side) error {
	if before == after {
		return nil
	}
	old, err := t.tree(before)
	if err != nil {
		return err
	}
	changed, err := t.tree(after)
	if err != nil {
		return err
	}
	err = compare(old, changed,
		func(e entry) { then.add(prefix, e) },
		func(e entry) { now.add(prefix, e) })
	if err != nil {
		return fmt.Errorf("comparing trees %s and %s: %w", before, after, err)
	}
	return nil
}

// Touches returns what a commit with a root tree did, by path, given the root
// trees of its parents: for each file that differs from all of them.
func (t *Trees) Touches(root object.ID, parents []object.ID) ([]repository.Touch, error) {
	if len(parents) == 0 {
		parents = []object.ID{{}}
	}
	var found map[string]repository.Touch
	for _, parent := range parents {
		then, now, err := t.differences(parent, root)
		if err != nil {
			return nil, err
		}
		found = both(found, changes(then.files, now.files))
	}
	touches := make([]repository.Touch, 0, len(found))
	for _, path := range slices.Sorted(maps.Keys(found)) {
		touches = append(touches, found[path])
	}
	return touches, nil
}

func changes(then, now map[string]object.ID) map[string]repository.Touch {
	changed := map[string]repository.Touch{}
	for path, blob := range now {
		old, was := then[path]
		if old != blob {
			changed[path] = repository.Touch{Path: path, Blob: blob.String(), Created: !was}
		}
	}
	for path := range then {
		if _, is := now[path]; !is {
			changed[path] = repository.Touch{Path: path}
		}
	}
	return changed
}

// both keeps what a commit changed against every parent. A file was created
// when none of them had it.
func both(found, more map[string]repository.Touch) map[string]repository.Touch {
	if found == nil {
		return more
	}
	kept := map[string]repository.Touch{}
	for path, touch := range found {
		if other, ok := more[path]; ok {
			touch.Created = touch.Created && other.Created
			kept[path] = touch
		}
	}
	return kept
}

// Find returns the blob of a file of the layout in a root tree.
func (t *Trees) Find(root object.ID, path string) (object.ID, bool, error) {
	if !repository.IsFile(path) {
		return object.ID{}, false, nil
	}
	name := path
	if folder, file, below := strings.Cut(path, "/"); below {
		e, err := t.entry(root, folder)
		if err != nil || !e.Decode().IsFolder() {
			return object.ID{}, false, err
		}
		root, name = e.ID, file
	}
	e, err := t.entry(root, name)
	return e.ID, err == nil && e.Decode().IsFile(), err
}

// entry returns a tree's entry of a name, the zero entry when there is none.
func (t *Trees) entry(id object.ID, name string) (entry, error) {
	tree, err := t.tree(id)
	if err != nil {
		return entry{}, err
	}
	for len(tree) > 0 {
		var e entry
		if e, tree, err = object.NextEntry(tree); err != nil {
			return entry{}, fmt.Errorf("tree %s: %w", id, err)
		}
		if string(e.Name) == name {
			return e, nil
		}
	}
	return entry{}, nil
}

// All returns the blobs of all the layout's files in a root tree.
func (t *Trees) All(root object.ID) (map[string]object.ID, error) {
	_, now, err := t.differences(object.ID{}, root)
	return now.files, err
}
