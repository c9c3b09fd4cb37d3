package worktree

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// Worktree is a config directory as the control plane sees one: its workspace, its one
// key, and its repository. It implements control.Authenticator and control.Repository.
type Worktree struct {
	dir       string
	key       access.Key
	record    access.KeyRecord
	principal access.Principal
	workspace access.Workspace
	served    func() (state datadir.State, behind bool) // see Options; may be nil

	writing  sync.Mutex // held before the lock of the directory, which is asked for again and again
	mu       sync.Mutex
	state    datadir.State
	snapshot *repository.Snapshot
	history  history

	remembered remembered
}

// Open opens a directory for the holder of the key that it draws, who may edit
// everything under that name.
func Open(dir, who string) (*Worktree, error) {
	w := &Worktree{dir: dir}
	var err error
	if w.workspace, err = access.NewWorkspace(rand.Reader, filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir)); err != nil {
		return nil, err
	}
	// The same for all servers of the user's: what they remember is told by it.
	editor := sha256.Sum256([]byte("svc serve"))
	id, err := access.NewID(bytes.NewReader(editor[:]))
	if err != nil {
		return nil, err
	}
	w.principal = access.Principal{Type: access.PrincipalUser, ID: id, Name: who, Roles: []string{"protected_engineer"}}
	if w.key, err = access.NewKey(rand.Reader, access.KindUser, access.ID(w.workspace.ID), id); err != nil {
		return nil, err
	}
	w.record = access.KeyRecord{ID: w.key.ID(), Kind: w.key.Kind(), Name: "svc serve", PrincipalID: id,
		WorkspaceID: access.ID(w.workspace.ID), Digest: w.key.Digest(), CreatedAt: time.Now()}
	return w, nil
}

// Authenticate implements control.Authenticator: it looks at the directory. Who asks
// for what has landed waits for those who write, who first write the files.
func (w *Worktree) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	if key.ID() != w.record.ID {
		return control.Entry{}, access.ErrNotFound
	}
	if once != "" {
		w.writing.Lock()
		defer w.writing.Unlock()
		if lock, err := datadir.Lock(ctx, w.dir); err == nil { // else the write says so
			defer lock.Close()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.look(); err != nil {
		return control.Entry{}, err
	}
	return control.Entry{Key: w.record, Principal: w.principal, Workspace: w.workspace, Head: w.snapshot.Head, Landed: w.remembered.find(ctx, once)}, nil
}

// Snapshot implements control.Repository.
func (w *Worktree) Snapshot(_ context.Context, head repository.Head) (*repository.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshot == nil || w.snapshot.Head.Sequence != head.Sequence {
		return nil, repository.ErrMoved
	}
	return w.snapshot, nil
}

// look takes in what is in the directory now. What is served is what was found, also
// where that was broken before anybody asked.
func (w *Worktree) look() error {
	if w.snapshot == nil && w.served != nil {
		w.state, _ = w.served()
		w.take(asFiles(w.state.Files), repository.Draft{})
	}
	state, files, err := w.find()
	if err != nil {
		return err
	}
	w.state = state
	w.take(files, repository.Draft{})
	return nil
}

// find is what is in the directory now.
func (w *Worktree) find() (state datadir.State, files map[string]repository.File, err error) {
	state = datadir.LookAgain(w.dir, w.state)
	files = asFiles(state.Files)
	for _, p := range state.Problems {
		_, known := files[p.File]
		_, _, item := workspace.SplitPath(p.File)
		switch {
		case p.Severity != workspace.Fatal || known:
		case item || p.File == workspace.File:
			files[p.File] = repository.File{Path: p.File, Err: &workspace.Unread{Why: p.Message, Lost: true}} // it is there, and holds its key
		default:
			return datadir.State{}, nil, fault.New(fault.Unavailable, "%s: %s", p.File, p.Message)
		}
	}
	return state, files, nil
}

func asFiles(texts map[string][]byte) map[string]repository.File {
	files := make(map[string]repository.File, len(texts))
	for path, text := range texts {
		files[path] = repository.File{Path: path, Text: text}
	}
	return files
}

// contentOf is what tells a file from others: its text, or why there is none.
func contentOf(f repository.File) []byte {
	if f.Err != nil {
		return []byte("\x00" + f.Err.Why)
	}
	return f.Text
}

// take makes files the latest state.
func (w *Worktree) take(files map[string]repository.File, written repository.Draft) {
	before := w.snapshot
	contents := make(map[string][]byte, len(files))
	for path, file := range files {
		contents[path] = contentOf(file)
	}
	if before != nil && len(files) == len(before.Files) && !slices.ContainsFunc(before.Files, func(f repository.File) bool {
		content, found := contents[f.Path]
		return !found || !bytes.Equal(content, contentOf(f))
	}) {
		return
	}
	now, head := time.Now(), datadir.Version(contents)
	var next []repository.File
	for _, path := range slices.Sorted(maps.Keys(files)) {
		file := files[path]
		if before != nil {
			if was, found := before.File(path); found && bytes.Equal(contentOf(was), contents[path]) {
				next = append(next, was)
				continue
			}
		}
		file.Blob = object.Hash(object.Blob, contents[path]).String()
		file.Last = &repository.Commit{SHA: file.Blob, Sequence: firstSequence, Parent: unknownCommit}
		if before != nil {
			file.Last = w.history.add(before, head, path, contents[path], file.Blob, seen(written, path, now))
		}
		next = append(next, file)
	}
	if before == nil {
		w.history.begun, w.history.sequence = now, firstSequence
	} else {
		for _, was := range before.Files {
			if _, found := files[was.Path]; !found {
				w.history.add(before, head, was.Path, nil, "", seen(written, was.Path, now))
			}
		}
	}
	w.snapshot = repository.NewSnapshot(repository.Head{Commit: head, Sequence: w.history.sequence}, next)
}

// seen is who has changed a file, and why.
func seen(written repository.Draft, path string, now time.Time) repository.Commit {
	for _, change := range written.Changes {
		if change.Path == path {
			return repository.Commit{Author: written.Author, Committer: written.Committer, Message: written.Message}
		}
	}
	by := repository.Signature{Name: "edited on disk", When: now}
	return repository.Commit{Author: by, Committer: by, Message: "edited on disk"}
}

// Commit implements control.Repository: it edits the files.
func (w *Worktree) Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	if len(draft.Changes) == 0 {
		return base, nil
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	lock, err := datadir.Lock(ctx, w.dir)
	if err != nil {
		return nil, writeError(err, draft.Changes[0].Path)
	}
	defer lock.Close()
	w.mu.Lock() // after: who only reads does not wait for other processes
	defer w.mu.Unlock()
	if err := w.look(); err != nil {
		return nil, err
	}
	if w.snapshot.Head.Sequence != base.Head.Sequence {
		return nil, repository.ErrMoved
	}
	if once := draft.Once; once != nil {
		if landed := w.remembered.find(ctx, once.ID); landed != nil && time.Now().Before(landed.Until) {
			return nil, repository.ErrMoved // the same request has just landed
		}
	}
	var edits []datadir.Edit
	for _, change := range draft.Changes {
		edit := datadir.Edit{Path: change.Path, Content: change.Content}
		if file, found := base.File(change.Path); found {
			if file.Err != nil {
				return nil, fault.New(fault.Unprocessable, "the file %s cannot be read, so it is not written", change.Path)
			}
			edit.Was = append([]byte{}, file.Text...) // not nil
			edit.Content = rewritten(file.Text, change.Content)
		}
		edits = append(edits, edit)
	}
	err = datadir.Write(ctx, w.dir, edits)
	if err == nil {
		w.written(base, edits, draft)
		w.remembered.keep(ctx, draft.Once, base, w.snapshot)
		return w.snapshot, nil
	}
	if errors.Is(err, datadir.ErrChanged) {
		w.state = datadir.State{} // so that all is read: the edit may look like none
		if err := w.look(); err != nil {
			return nil, err
		}
		for _, e := range edits {
			if _, found := w.snapshot.File(e.Path); e.Was == nil && !found {
				return nil, fmt.Errorf("%s: %w", e.Path, repository.ErrOccupied) // by what is not read
			}
		}
	}
	return nil, writeError(err, edits[0].Path)
}

// written takes in what was written just now. What cannot be read back is there all the
// same: the write has happened, and the next request reads all.
func (w *Worktree) written(base *repository.Snapshot, edits []datadir.Edit, draft repository.Draft) {
	state, files, err := w.find()
	if err != nil {
		state, files = datadir.State{}, map[string]repository.File{}
		for _, file := range base.Files {
			files[file.Path] = repository.File{Path: file.Path, Text: file.Text, Err: file.Err}
		}
	}
	for _, e := range edits {
		if err == nil && files[e.Path].Err == nil {
			continue
		}
		state = datadir.State{}
		if files[e.Path] = (repository.File{Path: e.Path, Text: e.Content}); e.Content == nil {
			delete(files, e.Path)
		}
	}
	w.state = state
	w.take(files, draft)
}

// At implements control.Repository.
func (w *Worktree) At(_ context.Context, _ repository.Head, path, revision string) (sha string, content []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshot == nil {
		return "", nil, repository.ErrUnknownCommit
	}
	return w.history.at(w.snapshot, path, revision)
}

// Recurrences implements change.Recurring.
func (w *Worktree) Recurrences(path, revision string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.history.recurrences(path, revision)
}

// Together implements change.Recurring.
func (w *Worktree) Together(commit string) (paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.history.changes {
		if c.head == commit {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// Past implements control.Repository: the whole of the directory is known as it is now
// and as it is served, and no more.
func (w *Worktree) Past(_ context.Context, _ repository.Head, revision string) (*repository.Snapshot, error) {
	if w.served != nil {
		if state, _ := w.served(); state.Version() == revision {
			var as Worktree
			as.take(asFiles(state.Files), repository.Draft{})
			return as.snapshot, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", repository.ErrUnknownCommit, revision)
}

// History implements control.Repository.
func (w *Worktree) History(_ context.Context, _ repository.Head, page repository.Page) ([]repository.Commit, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshot == nil {
		return nil, nil
	}
	return w.history.page(w.snapshot, page), nil
}
