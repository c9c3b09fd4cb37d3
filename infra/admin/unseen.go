package admin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc.example/svc/shared/clone"
	"svc.example/svc/shared/ledger/walk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// mostSeen is how many commits of a directory's history are looked at.
const mostSeen = 1000

// unseen lists the files of a plan that somebody else has changed: the
// workspace has them in a state that the git history of the directory, if it
// is a repository, never held, nor did an Apply of it lead there. To bring them
// to the directory's state would undo that change unseen.
func (p *Plan) unseen(ctx context.Context, dir string) ([]string, error) {
	source, _, err := clone.Find(dir)
	if err != nil || source == nil || source.Empty() {
		return nil, err
	}
	left := map[string][]byte{}
	for _, c := range p.Changes {
		f, _ := p.base.File(c.Path)
		left[c.Path] = f.Text // nil: not there
	}
	if err := dropSeen(ctx, source, left); err != nil {
		return nil, err
	}
	if err := p.dropApplied(ctx, dir, left); err != nil {
		return nil, err
	}
	var paths []string
	for path := range left {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, nil
}

// dropSeen drops the states that the repository held once.
func dropSeen(ctx context.Context, source *clone.Source, left map[string][]byte) error {
	objects, err := source.Objects()
	if err != nil {
		return err
	}
	reader := objects.Reader()
	defer reader.Close()
	trees := walk.NewTrees(reader)
	looked := map[string]map[walk.ID]bool{}
	for path := range left {
		looked[path] = map[walk.ID]bool{}
	}
	at := source.Commit()
	for n := 0; n < mostSeen && at != "" && len(left) > 0; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		commit, err := trees.Commit(walk.ParseID(at))
		if err != nil {
			return err
		}
		for path, state := range left {
			blob, _, err := trees.Find(walk.ParseID(commit.Tree), path)
			if err != nil {
				return err
			}
			if looked[path][blob] {
				continue
			}
			looked[path][blob] = true
			var text []byte
			if blob != (walk.ID{}) {
				if text, err = object.ReadAs(reader.Read, blob.String(), object.Blob); err != nil {
					return err
				}
			}
			if sameState(text, state) {
				delete(left, path)
			}
		}
		if at = ""; len(commit.Parents) > 0 {
			at = commit.Parents[0]
		}
	}
	return nil
}

func sameState(a, b []byte) bool {
	return (a == nil) == (b == nil) && same(a, b)
}

// appliedFile names, in a repository's .git, the commit that an Apply of the
// directory has made.
const appliedFile = "svc-applied"

// dropApplied drops the states that the last Apply of the directory led to.
func (p *Plan) dropApplied(ctx context.Context, dir string, left map[string][]byte) error {
	text, err := os.ReadFile(filepath.Join(dir, ".git", appliedFile))
	if err != nil {
		return nil // there was none
	}
	for path, state := range left {
		_, text, err := p.workspace.repo.At(ctx, p.base.Head, path, strings.TrimSpace(string(text)))
		switch {
		case errors.Is(err, repository.ErrUnknownCommit):
			return nil
		case errors.Is(err, repository.ErrAbsent):
			text = nil
		case err != nil:
			return err
		}
		if sameState(text, state) {
			delete(left, path)
		}
	}
	return nil
}

// noteApplied makes a later Apply know this one's states. Without it that one
// asks once more than it need.
func (p *Plan) noteApplied(commit string) {
	if info, err := os.Stat(filepath.Join(p.dir, ".git")); err == nil && info.IsDir() {
		_ = os.WriteFile(filepath.Join(p.dir, ".git", appliedFile), []byte(commit+"\n"), 0o666)
	}
}
