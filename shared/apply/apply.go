// Package apply brings a whole workspace to the state of a directory, in one commit.
//
// What must stay true: what others have changed in the meantime is not undone without a word,
// and what is committed is a workspace without errors, with their changes too.
package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/workspace"
)

// Change is what apply does to one file.
type Change struct {
	Path     string
	Action   string // added, changed, deleted
	Messages []string
	content  []byte // nil: deleted
}

// The actions.
const (
	Added   = "added"
	Changed = "changed"
	Deleted = "deleted"
)

// Plan is a commit that would bring a workspace to a directory's state.
type Plan struct {
	Changes  []Change
	Warnings []string // about the directory
	Notes    []string
	// Wanted is what the workspace will hold, by path.
	Wanted map[string][]byte
	// Kept are the files that others have changed between the plan and its commit, once that
	// is made: they are as the others have them, whatever is wanted.
	Kept      []string
	dir       string
	base      *repository.Snapshot
	workspace *provision.Workspace
}

// ErrHeadMoved: somebody changed between the plan and its commit what the plan changes too.
var ErrHeadMoved = errors.New("the workspace was changed meanwhile, and nothing was written; run it again to see the new difference")

// New verifies a directory and compares it with the workspace. A workspace
// file that the directory lacks stays as it is. Paths are told as display has
// them.
func New(ctx context.Context, w *provision.Workspace, dir string, display func(string) string) (*Plan, error) {
	base, err := w.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := source.Exists(dir, display); err != nil {
		return nil, err
	}
	state := datadir.Look(dir)
	if len(state.Files) == 0 && len(workspace.FatalOnly(state.Problems)) == 0 {
		return nil, source.NoDirectory(dir, display)
	}
	p := &Plan{dir: dir, base: base, workspace: w}
	wanted := source.Stored(state.Files)
	if file, there := base.File(workspace.File); there && wanted[workspace.File] == nil {
		wanted[workspace.File] = file.Text
		p.Notes = append(p.Notes, display(dir)+" has no "+workspace.File+"; the workspace keeps its own")
	}
	if err := p.verify(wanted, state, display(dir)); err != nil {
		return nil, err
	}
	p.Wanted = wanted
	p.compare(wanted)
	return p, nil
}

// verify refuses a directory with errors. The files are those on disk, so that
// lines are those that a person sees.
func (p *Plan) verify(wanted map[string][]byte, state datadir.State, shown string) error {
	asOnDisk := maps.Clone(wanted)
	maps.Copy(asOnDisk, state.Files)
	_, found := workspace.ReadAndVerify(asOnDisk)
	found = append(source.InTheWay(p.dir, state), found...)
	for _, problem := range found {
		if problem.Severity == workspace.Warning {
			p.Warnings = append(p.Warnings, problem.In(shown))
		}
	}
	return source.Refused(found, shown)
}

// compare finds the changes, and what of them is worth a second look.
func (p *Plan) compare(wanted map[string][]byte) {
	for _, f := range p.base.Files {
		text, stays := wanted[f.Path]
		if !stays {
			p.Changes = append(p.Changes, Change{Path: f.Path, Action: Deleted, Messages: differences(f.Path, f.Text, nil)})
		} else if !same(f.Text, text) {
			p.Changes = append(p.Changes, Change{Path: f.Path, Action: Changed, Messages: differences(f.Path, f.Text, text), content: text})
		}
	}
	for path, text := range wanted {
		if _, there := p.base.File(path); !there && repository.IsFile(path) {
			p.Changes = append(p.Changes, Change{Path: path, Action: Added, Messages: differences(path, nil, text), content: text})
		}
	}
	slices.SortStableFunc(p.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	guarded := func(text []byte) bool {
		ws, _ := workspace.Read(map[string][]byte{workspace.File: text})
		return ws.GuardedReferences()
	}
	if file, there := p.base.File(workspace.File); there && guarded(file.Text) && !guarded(wanted[workspace.File]) {
		p.Notes = append(p.Notes, workspace.File+" now lets anybody who edits a document have it read the environment of applications (secretReferences is left out)")
	}
	for _, c := range p.Changes {
		p.noteUses(c)
	}
}

// maxUses bounds the notes of one document.
const maxUses = 20

// noteUses notes what a directory newly has applications use, as somebody else may
// have edited it: the REST API would check a permission.
func (p *Plan) noteUses(c Change) {
	folder, _, _ := workspace.SplitPath(c.Path)
	tree := parsed(c.content)
	if _, isDocument := folder.Type(); !isDocument || tree == nil {
		return
	}
	var before *document.Document
	if stored, there := p.base.File(c.Path); there {
		if tree := parsed(stored.Text); tree != nil {
			before = document.View(tree)
		}
	}
	uses := document.NewUses(before, document.View(tree))
	for i, use := range uses {
		what := "reads the environment of applications"
		if use.Key != "" {
			what = fmt.Sprintf("decrypts with the config %q", use.Key)
		}
		if i == maxUses {
			p.Notes = append(p.Notes, fmt.Sprintf("%q: and %d more such values", c.Path, len(uses)-i))
			return
		}
		p.Notes = append(p.Notes, fmt.Sprintf("%q: %s now %s", c.Path, use.Pointer, what))
	}
}

// same reports whether two files say the same: a document that is only written in
// another way is not written again.
func same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	first, errA := document.Parse(a)
	second, errB := document.Parse(b)
	return errA == nil && errB == nil && jsontree.Equal(first, second)
}

// differences say in words what becomes of a file. They show no secret.
func differences(path string, before, after []byte) []string {
	folder, _, _ := workspace.SplitPath(path)
	if _, isDocument := folder.Type(); !isDocument {
		return nil // a schema or the workspace file: there are no words for them
	}
	var words []string
	for _, m := range activity.Diff(parsed(before), parsed(after)) {
		words = append(words, m.Message)
	}
	return words
}

// parsed is nil for what is not there, and for what cannot be read.
func parsed(text []byte) *jsontree.Node {
	tree, err := document.Parse(text)
	if err != nil {
		return nil
	}
	return tree
}

// subject is the first line of the commit's message, unless another is given.
func (p *Plan) subject() string {
	if len(p.Changes) == 1 && len(p.Changes[0].Messages) > 0 {
		return activity.Subject([]activity.Message{{Message: p.Changes[0].Messages[0]}})
	}
	counts := map[string]int{}
	for _, c := range p.Changes {
		counts[c.Action]++
	}
	var parts []string
	for _, action := range []string{Added, Changed, Deleted} {
		if counts[action] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[action], action))
		}
	}
	return "Apply " + filepath.Base(p.dir) + ": " + strings.Join(parts, ", ")
}

// Apply makes the commit, onto what others have committed since the plan: see keep. After the
// first time it waits for its turn. The author's principal, if any, is not asked whether it
// may: who runs this holds the keys to the stores.
func (p *Plan) Apply(ctx context.Context, by repository.Signature, message string) (commit string, err error) {
	if len(p.Changes) == 0 {
		return "", provision.ErrUnchanged
	}
	if message == "" {
		message = p.subject()
	}
	turn := &repository.Turn{Now: time.Now()} // how long a row of the queue is kept, and no more
	defer turn.Leave(ctx)
	draft := repository.Draft{Author: by, Committer: repository.Committer(by.When), Message: message + "\n", Versions: p.workspace.Versions, Briefs: p.workspace.Briefs, Turn: turn}
	for _, c := range p.Changes {
		draft.Changes = append(draft.Changes, repository.Change{Path: c.Path, Content: c.content})
	}
	onto := p.base
	for range provision.MaxTries {
		landed, err := p.workspace.Commit(ctx, onto, draft)
		if err == nil {
			p.noteApplied(landed.Head.Commit)
			return landed.Head.Commit, nil
		}
		if !errors.Is(err, repository.ErrMoved) {
			return "", err
		}
		if onto, err = p.workspace.Snapshot(ctx); err != nil {
			return "", err
		}
		if err := p.keep(onto); err != nil {
			return "", err
		}
	}
	return "", repository.ErrBusy
}

// keep has the plan leave what others have changed since. It is ErrHeadMoved where the plan
// changes one of those files, and both together have to be a workspace without errors.
func (p *Plan) keep(now *repository.Snapshot) error {
	p.Kept = changed(p.base, now)
	if len(p.Kept) == 0 {
		return nil // it was verified so
	}
	together := maps.Clone(p.Wanted)
	for _, path := range p.Kept {
		if slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Path == path }) {
			return ErrHeadMoved
		}
		if file, there := now.File(path); there {
			together[path] = file.Text
		} else {
			delete(together, path)
		}
	}
	_, found := workspace.ReadAndVerify(together)
	found = slices.DeleteFunc(found, func(problem workspace.Problem) bool { return problem.Severity == workspace.Warning })
	if len(found) == 0 {
		return nil
	}
	workspace.SortProblems(found)
	words := "the workspace was changed meanwhile, and with this it would have errors; nothing was written:"
	for _, problem := range found {
		words += "\n" + problem.String()
	}
	return errors.New(words)
}

// changed are the paths that two snapshots hold different files of.
func changed(a, b *repository.Snapshot) (paths []string) {
	for _, one := range [][]repository.File{a.Files, b.Files} {
		for _, f := range one {
			before, _ := a.File(f.Path)
			after, _ := b.File(f.Path)
			if before.Blob != after.Blob {
				paths = append(paths, f.Path)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
