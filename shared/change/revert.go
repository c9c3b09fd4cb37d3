package change

import (
	"context"
	"errors"
	"slices"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// Deletion is a request to delete an item.
type Deletion struct {
	Request           `json:"-"`
	ExpectedCommitSHA *string
}

// Delete deletes an item that no other refers to. Its history stays.
func (s *Writer) Delete(ctx context.Context, t document.Type, key string, d Deletion) (*PutResult, error) {
	return s.put(ctx, d.Request, deletion(t, key, d))
}

func deletion(t document.Type, key string, d Deletion) write {
	asked, issues := key, []document.Issue(nil)
	for _, issue := range tokenIssues(d.ExpectedCommitSHA) {
		issues = append(issues, document.Issue{Pointer: "?expectedCommitSha", Message: issue.Message})
	}
	if t == document.LogLevel {
		key = document.LogLevelKey(key)
	}
	return write{
		t: t, key: key,
		sent:           sendable(sent{Type: t, Key: asked, Deletion: &d}),
		issues:         d.with(issues),
		token:          d.ExpectedCommitSHA,
		edit:           func(*attempt) (*edit.Edited, error) { return &edit.Edited{Changed: true}, nil },
		acceptsInvalid: true,
		restores:       true,
	}
}

// maxReferences is how many references a refusal tells of.
const maxReferences = 100

// reference is where another item refers to the one that is to be deleted.
type reference struct {
	Type    document.Type `json:"type"`
	Key     string        `json:"key"`
	Pointer string        `json:"pointer"`
}

// unreferenced answers 409 for an item that is to be deleted and that others
// refer to.
func (a *attempt) unreferenced(found []workspace.Reference) error {
	found = slices.DeleteFunc(found, func(r workspace.Reference) bool {
		later := a.batch.byPath[workspace.Path(r.Type, r.Key)]
		return later != nil && later.index > a.index // whose own fault it is
	})
	if len(found) == 0 {
		return nil
	}
	var references []reference
	for _, r := range found[:min(len(found), maxReferences)] {
		references = append(references, reference(r))
	}
	details := map[string]any{"code": refusal.CodeReferenced, "references": references}
	if len(found) > maxReferences {
		details["referencesTruncated"] = true
	}
	first := found[0]
	return fault.New(fault.Conflict, "the %s %s cannot be deleted while others refer to it: the %s %s does at %s",
		a.write.t.Noun(), terminal.Quote(a.write.key), first.Type.Noun(), terminal.Quote(first.Key), terminal.Quote(first.Pointer)).With(details)
}

// Reversion is the body of a request to revert an item.
type Reversion struct {
	Request
	CommitSHA         string // its first digits will do
	Mode              string // undo or restore
	ExpectedCommitSHA *string
}

// The modes of a reversion.
const (
	modeUndo    = "undo"
	modeRestore = "restore"
)

// Revert takes back what a commit did to an item, on top of the document as it
// stands, or brings back the document of a commit.
func (s *Writer) Revert(ctx context.Context, t document.Type, key string, r Reversion) (*PutResult, error) {
	return s.put(ctx, r.Request, revert(t, key, r))
}

func revert(t document.Type, key string, r Reversion) write {
	if t == document.LogLevel {
		key = document.LogLevelKey(key)
	}
	issues := tokenIssues(r.ExpectedCommitSHA)
	if !object.IsRevision(r.CommitSHA) {
		issues = append(issues, document.Issue{Pointer: "/commitSha",
			Message: "commitSha " + refusal.IsRevision})
	}
	if r.Mode != modeUndo && r.Mode != modeRestore {
		issues = append(issues, document.Issue{Pointer: "/mode",
			Message: "mode is undo, to take back what the commit did to the item, or restore, to bring back the item as it was at the commit"})
	}
	v := &reversion{Reversion: r}
	w := write{
		t: t, key: key,
		issues:         r.with(issues),
		token:          r.ExpectedCommitSHA,
		prepare:        v.prepare,
		acceptsInvalid: true,
		restores:       true,
	}
	w.edit, w.undoes = v.undo, v
	if r.Mode == modeRestore {
		w.undoes = nil
		w.edit, w.checkAll = func(a *attempt) (*edit.Edited, error) { return edit.Restore(a.version(), v.after), nil }, true
	}
	return w
}

// RevertCommit takes back what a commit did to each item that it touched.
func RevertCommit(r Reversion) Operation {
	return Operation{write: func(*Service) write {
		issues := tokenIssues(r.ExpectedCommitSHA)
		if !object.IsID(r.CommitSHA) {
			issues = append(issues, document.Issue{Pointer: "/commitSha", Message: "commitSha is the SHA of a commit in full, or type and key name the item"})
		}
		if r.Mode != modeUndo {
			issues = append(issues, document.Issue{Pointer: "/mode", Message: "mode is undo where a whole commit is taken back; to restore, type and key name the item"})
		}
		return write{issues: r.with(issues), parts: r.parts}
	}}
}

// parts are the reversions of the items that the commit touched.
func (r Reversion) parts(ctx context.Context, b *batch) ([]write, error) {
	touched, err := b.touchedBy(ctx, r.CommitSHA)
	if err != nil {
		return nil, err
	}
	var parts []write
	for _, path := range touched {
		folder, key, found := workspace.SplitPath(path)
		switch {
		case found:
			parts = append(parts, revert(folder.ItemType(), key, r))
		case path == workspace.File:
			return nil, fault.New(fault.Unprocessable, "the commit %s also changed %s, which is not taken back with the items; undo them one by one", r.CommitSHA, terminal.Quote(path))
		}
	}
	if len(parts) == 0 {
		return nil, fault.New(fault.Unprocessable, "the commit %s did not touch any item: there is nothing to undo", r.CommitSHA)
	}
	return parts, nil
}

// touchedBy are the paths of the files that a commit changed, one of the latest.
func (b *batch) touchedBy(ctx context.Context, sha string) (paths []string, err error) {
	if repo, may := b.state.Repository.(Recurring); may {
		if paths = repo.Together(sha); len(paths) > 0 {
			return paths, nil
		}
	}
	history := func(ctx context.Context, page repository.Page) ([]repository.Commit, error) {
		return b.state.Repository.History(ctx, b.head.Snapshot.Head, page)
	}
	commit, err := feed.Find(ctx, history, sha, repository.Page{Limit: maxLookedThrough})
	if err != nil {
		return nil, err
	}
	if commit == nil {
		return nil, fault.New(fault.NotFound, "the latest commits do not have %s; GET /activity lists them", sha)
	}
	for _, touch := range commit.Touched {
		paths = append(paths, touch.Path)
	}
	return paths, nil
}

// reversion is what one try to revert has read.
type reversion struct {
	Reversion
	commit        string       // in full
	before, after edit.Version // the item before the commit, and at it
	guarded       feed.Guarded // what the commit says
	undone        bool         // since then, by a commit that says so
}

func (v *reversion) prepare(ctx context.Context, a *attempt) error {
	if err := v.read(ctx, a); err != nil || !a.batch.dryRun {
		return err
	}
	was := v.after.Tree
	if v.commit == a.last && a.existed {
		file, _ := a.batch.head.Snapshot.File(a.path)
		was = file.Decode().Tree
	} else {
		version := currentVersion
		if v.Mode == modeRestore {
			version = func(string, *jsontree.Node) string { return v.commit }
		}
		v.after = a.batch.mask(a.path, v.after, version)
	}
	v.before = a.batch.mask(a.path, v.before, func(pointer string, content *jsontree.Node) string {
		if document.Masked(v.after.Tree.At(pointer+"/value")) && jsontree.Equal(was.At(pointer+"/value"), content) {
			return currentVersion("", nil)
		}
		return "before " + v.commit
	})
	return nil
}

func (v *reversion) read(ctx context.Context, a *attempt) error {
	if err := a.batch.lookUp(); err != nil {
		return err
	}
	if err := v.unambiguous(a); err != nil {
		return err
	}
	sha, after, err := v.CommitSHA, edit.Version{Text: a.file.Text}, error(nil)
	if after.Tree = a.original(); sha != a.last || !a.existed { // else it is what stood
		sha, after, err = a.versionAt(ctx, v.CommitSHA)
	}
	if err != nil {
		return refusal.Revision("/commitSha", v.CommitSHA, err)
	}
	v.commit, v.after = sha, after
	var commit *repository.Commit
	if a.last == sha && a.file.Last.Parent != "" {
		commit = a.file.Last
	} else if v.Mode == modeUndo || !a.existed {
		if commit, v.undone, err = a.touching(ctx, sha); err != nil {
			return err
		}
	}
	what := a.write.t.Noun() + " " + terminal.Quote(a.write.key)
	switch {
	case v.Mode == modeRestore && after.Tree == nil:
		return fault.New(fault.Unprocessable, "the commit %s does not have the %s: there is nothing to restore", sha, what)
	case v.Mode == modeRestore:
		return a.isDocument(sha, after)
	case commit == nil:
		return fault.New(fault.Unprocessable, "the commit %s did not touch the %s: there is nothing to undo; its history lists those that did", sha, what)
	}
	if v.guarded = feed.GuardedBy(*commit); commit.Parent == "" {
		v.before = edit.Version{}
		return nil
	}
	_, v.before, err = a.versionAt(ctx, commit.Parent)
	if errors.Is(err, repository.ErrUnknownCommit) {
		return fault.New(fault.Unprocessable, "what the %s was before the commit %s is not in the history, which begins there", what, sha)
	}
	if err != nil || v.before.Tree == nil {
		return err
	}
	return a.isDocument(commit.Parent, v.before)
}

// unambiguous answers 409 for an undo of an id that several commits of the item have.
func (v *reversion) unambiguous(a *attempt) error {
	repo, may := a.batch.state.Repository.(Recurring)
	if !may || v.Mode != modeUndo {
		return nil
	}
	times := repo.Recurrences(a.path, v.CommitSHA)
	if len(times) == 0 {
		return nil
	}
	var dates []string
	for _, at := range times {
		dates = append(dates, at.UTC().Format(time.RFC3339))
	}
	return fault.New(fault.Conflict, "%d changes of the %s %s have the commitSha %s, the last one at %s; its history lists each with an id of its own: undo one of these",
		len(times), a.write.t.Noun(), terminal.Quote(a.write.key), v.CommitSHA, dates[len(dates)-1]).With(map[string]any{"code": refusal.CodeAmbiguous, "dates": dates})
}

// versionAt is the item at a commit: none, where that does not have it.
func (a *attempt) versionAt(ctx context.Context, revision string) (sha string, v edit.Version, err error) {
	sha, text, err := a.batch.state.Repository.At(ctx, a.batch.head.Snapshot.Head, a.path, revision)
	if errors.Is(err, repository.ErrAbsent) {
		return sha, v, nil
	}
	if err == nil {
		v = edit.Version{Text: text, Tree: workspace.Decode(a.path, text).Tree}
		err = a.batch.charge(v.Tree)
	}
	return sha, v, err
}

// isDocument answers 422 for a version that nobody could read.
func (a *attempt) isDocument(commit string, v edit.Version) error {
	if v.Tree.Kind == jsontree.Object {
		return nil
	}
	return refusal.NotAnObjectAt(commit, a.write.t, a.write.key, workspace.Decode(a.path, v.Text))
}

// touching looks for a commit among those that touched the item, nil for none. It
// notes which one did last where there is no item, and answers 404 where there
// never was one. It reports whether a later one says that it takes that one back.
func (a *attempt) touching(ctx context.Context, sha string) (found *repository.Commit, undone bool, err error) {
	newest := ""
	history := func(ctx context.Context, page repository.Page) ([]repository.Commit, error) {
		commits, err := a.batch.state.Repository.History(ctx, a.batch.head.Snapshot.Head, page)
		if newest == "" && len(commits) > 0 {
			newest = commits[0].SHA
		}
		for _, c := range commits {
			undone = undone || slices.Contains(feed.GuardedBy(c).Undoes, sha)
		}
		return commits, err
	}
	found, err = feed.Find(ctx, history, sha, repository.Page{Path: a.path, Limit: maxLookedThrough})
	switch {
	case err != nil || a.existed:
		return found, undone, err
	case newest == "":
		return nil, false, refusal.NoSuch(a.write.t, a.write.key)
	}
	a.last = newest
	return found, undone, nil
}

// version is the item as the edit finds it.
func (a *attempt) version() edit.Version {
	if !a.exists {
		return edit.Version{}
	}
	if a.previous != nil {
		return edit.Version{Text: a.previous.text(), Tree: a.base}
	}
	return edit.Version{Text: a.file.Text, Tree: a.base}
}

func (v *reversion) undo(a *attempt) (*edit.Edited, error) {
	if now := a.version(); v.undone && v.isGuard(a.batch.state.Principal) { // it comes late
		return &edit.Edited{Tree: now.Tree, Text: now.Text}, nil
	}
	edited, pointers := edit.Undo(a.version(), v.before, v.after)
	if len(pointers) == 0 {
		return edited, nil
	}
	where := "the whole of it"
	if first := pointers[0]; first != "" {
		where = terminal.Quote(first)
	}
	return edited, &conflict{attempt: a, since: v.commit, content: v.after.Text, fault: fault.New(fault.Conflict,
		"what the commit %s did to the %s %s has been changed again since, at %s; undo the later changes first, or write what it should be",
		v.commit, a.write.t.Noun(), terminal.Quote(a.write.key), where).
		With(map[string]any{"code": refusal.CodeOverlap, "currentCommitSha": a.last, "pointers": pointers[:min(len(pointers), maxReferences)]})}
}
