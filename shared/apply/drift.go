package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/source"
)

const (
	// maxSeen is how many commits of a directory's history are looked at.
	maxSeen = 1000
	// maxRevived is how many added files are looked for in the workspace's
	// history. So many at once are new, and no deletion that is undone.
	maxRevived = 500
	// atOnce bounds the requests that are under way at a time.
	atOnce = 16
)

// Drift lists the files of the plan that somebody else has changed: the
// workspace has them in a state that the git history of the directory, if it
// is a repository, never held, nor did an Apply of it lead there. To bring them
// to the directory's state would undo that change without a look. Where the
// history cannot be read, a note says so.
func (p *Plan) Drift(ctx context.Context) ([]string, error) {
	left := map[string][]byte{}
	for _, c := range p.Changes {
		f, _ := p.base.File(c.Path)
		left[c.Path] = f.Text // nil: not there
	}
	repository, err := dropSeen(ctx, p.dir, left)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		p.Notes = append(p.Notes, fmt.Sprintf("what others have changed since is not told apart, as git's history cannot be read here: %v", err))
		return nil, nil
	case !repository:
		return nil, nil
	}
	if err := p.dropApplied(ctx, left); err != nil {
		return nil, err
	}
	if err := p.dropNew(ctx, left); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(left)), nil
}

// dropSeen drops the states that the repository held once, if the directory is
// the root of one.
func dropSeen(ctx context.Context, dir string, left map[string][]byte) (isRepository bool, err error) {
	found, _, err := source.FindRepository(dir)
	if err != nil || found == nil || found.Empty() {
		return false, err
	}
	objects, err := found.Objects()
	if err != nil {
		return false, err
	}
	reader := objects.Reader(ctx)
	defer reader.Close()
	s := seen{trees: revwalk.NewTrees(reader), read: reader.Read, left: left, visited: map[object.ID]bool{}}
	return true, s.walk(ctx, found.Commit())
}

// seen goes back through a history, from each commit to its parents, and looks
// at what differs between the two.
type seen struct {
	trees   *revwalk.Trees
	read    object.Read
	left    map[string][]byte
	visited map[object.ID]bool
}

// step is a commit to be looked at, and the tree of the child that led there.
type step struct {
	commit object.ID
	child  object.ID
}

func (s *seen) walk(ctx context.Context, head string) error {
	for next := []step{{commit: object.ParseID(head)}}; len(next) > 0 && len(s.left) > 0 && len(s.visited) < maxSeen; next = next[1:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := next[0]
		if s.visited[at.commit] {
			continue
		}
		s.visited[at.commit] = true
		commit, err := s.trees.Commit(at.commit)
		if err != nil {
			return err
		}
		if err := s.compare(at.child, commit.Tree); err != nil {
			return err
		}
		for _, parent := range commit.Parents {
			next = append(next, step{parent, commit.Tree})
		}
	}
	return nil
}

// compare drops what has its state in a tree. Where the tree is that of its
// child, this has been looked at.
func (s *seen) compare(child, root object.ID) error {
	touches, err := s.trees.Touches(root, []object.ID{child})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, touch := range touches {
		there[touch.Path] = true
		state, asked := s.left[touch.Path]
		if !asked {
			continue
		}
		var text []byte
		if touch.Blob != "" {
			text, err = object.ReadAs(s.read, object.ParseID(touch.Blob), object.Blob)
			if errors.As(err, new(*object.TooLarge)) {
				text, err = []byte{}, nil // which no state is
			}
			if err != nil {
				return err
			}
		}
		if sameState(text, state) {
			delete(s.left, touch.Path)
		}
	}
	if child == (object.ID{}) { // the head: what it lacks is a state too
		maps.DeleteFunc(s.left, func(path string, state []byte) bool { return state == nil && !there[path] })
	}
	return nil
}

func sameState(a, b []byte) bool {
	return (a == nil) == (b == nil) && same(a, b)
}

const (
	// appliedFile names, in a repository, the commit that an Apply of the
	// directory has made, and the files that it kept as others had them, each after a
	// zero byte.
	appliedFile = ".git/svc-applied"
	maxApplied  = 1 << 20 // bytes
)

// dropApplied drops the states that the last Apply of the directory led to.
func (p *Plan) dropApplied(ctx context.Context, left map[string][]byte) error {
	applied, kept := p.applied()
	if applied == "" {
		return nil
	}
	known := slices.DeleteFunc(slices.Collect(maps.Keys(left)), func(path string) bool { return slices.Contains(kept, path) })
	return drop(ctx, left, known, func(ctx context.Context, path string) (bool, error) {
		_, text, err := p.workspace.Repository.At(ctx, p.base.Head, path, applied)
		switch {
		case errors.Is(err, repository.ErrUnknownCommit):
			return false, nil
		case errors.Is(err, repository.ErrAbsent):
			text, err = nil, nil
		}
		return sameState(text, left[path]), err
	})
}

// dropNew drops files that the workspace lacks because it never had them:
// nobody has deleted those.
func (p *Plan) dropNew(ctx context.Context, left map[string][]byte) error {
	var absent []string
	for path, state := range left {
		if state == nil {
			absent = append(absent, path)
		}
	}
	if len(absent) > maxRevived {
		p.Notes = append(p.Notes, fmt.Sprintf("%d files are new; whether somebody deleted one of them is not looked up for so many", len(absent)))
		maps.DeleteFunc(left, func(_ string, state []byte) bool { return state == nil })
		return nil
	}
	return drop(ctx, left, absent, func(ctx context.Context, path string) (bool, error) {
		touches, err := p.workspace.Repository.History(ctx, p.base.Head, repository.Page{Path: path, Limit: 1})
		return len(touches) == 0, err
	})
}

// drop drops those of the paths whose state is known, as is asked for several at a time.
func drop(ctx context.Context, left map[string][]byte, paths []string, known func(ctx context.Context, path string) (bool, error)) error {
	are := make([]bool, len(paths))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, path := range paths {
		group.Go(func() (err error) {
			are[i], err = known(within, path)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, path := range paths {
		if are[i] {
			delete(left, path)
		}
	}
	return nil
}

// applied is the commit that the last Apply of the directory made, "" when there
// was none, and what it kept. Somebody else may have made the directory, so that neither
// this nor noteApplied follows a link out of it or waits for a pipe.
func (p *Plan) applied() (commit string, kept []string) {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return "", nil
	}
	defer root.Close()
	f, err := root.OpenFile(appliedFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxApplied+1))
	if len(text) > maxApplied {
		return "", nil
	}
	all := strings.Split(string(text), "\x00")
	return strings.TrimSpace(all[0]), all[1:]
}

// noteApplied makes a later Apply know this one's states. Without it that one
// asks once more than it need.
func (p *Plan) noteApplied(commit string) {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return
	}
	defer root.Close()
	if info, err := root.Stat(".git"); err == nil && info.IsDir() {
		_ = root.Remove(appliedFile)
		if f, err := root.OpenFile(appliedFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
			_, _ = f.WriteString(strings.Join(append([]string{commit + "\n"}, p.Kept...), "\x00"))
			_ = f.Close()
		}
	}
}
