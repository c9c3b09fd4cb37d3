package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
)

// Rewrite is the loss of commits: the branch was moved to a commit that does
// not descend from the one before.
type Rewrite struct {
	Old, New string
	Lost     int // how many commits the new history does not hold
}

// String tells it in one line.
func (w Rewrite) String() string {
	return fmt.Sprintf("the branch main was forced from %s to %s, and its history has lost commits: %d. Until git gc removes them, they can be brought back with: git branch lost %s",
		w.Old, w.New, w.Lost, w.Old)
}

// catchUp brings the history to where the branch is now. The caller holds
// l.writing.
func (l *Ledger) catchUp(ctx context.Context) error {
	commit, err := l.branch.read()
	if err != nil {
		return l.refuseBranch(err)
	}
	h := l.history.Load()
	if commit == "" {
		return l.noBranch()
	}
	if headOf(h).Commit == commit {
		l.unreadable.Store(nil)
		return nil
	}
	begun := time.Now()
	rows, descends, err := l.walkTo(ctx, h, object.ParseID(commit))
	if err != nil {
		return l.refuse(commit, err, begun)
	}
	l.begun.Store(true)
	l.unreadable.Store(nil)
	if descends {
		l.extend(rows)
		return nil
	}
	l.replace(h, rows, commit)
	return nil
}

// walkTo returns what leads from a history to a commit. When the commit does
// not descend from the history's head, that is its whole own history.
func (l *Ledger) walkTo(ctx context.Context, h *history, target object.ID) (rows []row, descends bool, err error) {
	reader := l.objects.Reader(ctx)
	defer reader.Close()
	old, _ := h.head()
	way := revwalk.Walk[row]{Trees: revwalk.NewTrees(reader)}
	var more []*odb.Reader
	defer func() {
		for _, reader := range more {
			reader.Close()
		}
	}()
	way.Beside = func() *revwalk.Trees {
		more = append(more, l.objects.Reader(ctx))
		return revwalk.NewTrees(more[len(more)-1])
	}
	met := old == object.ID{}
	way.Known = func(id object.ID) bool {
		met = met || id == old
		_, known := h.find(id)
		return known
	}
	if rows, err = rowsOf(ctx, way, target, l.options.Progress); err == nil {
		err = checkLayout(reader, rows, target)
	}
	if err != nil || met {
		return rows, err == nil, err
	}
	way.Known = nil
	way.Earlier = func(id object.ID) (revwalk.Node[row], bool) {
		number, known := h.find(id)
		if !known {
			return revwalk.Node[row]{}, false
		}
		h.mu.RLock()
		r := h.rows[number]
		h.mu.RUnlock()
		c, parents, _ := r.decode()
		return revwalk.Node[row]{ID: id, Tree: object.ParseID(c.Tree), Date: c.Committer.When.Unix(), Parents: parents, Row: r}, true
	}
	rows, err = rowsOf(ctx, way, target, l.options.Progress)
	return rows, false, err
}

// unservable is why a commit cannot be served although all of it can be read.
type unservable struct{ why string }

func (u *unservable) Error() string { return u.why }

// checkLayout reads the folders of a commit, and looks how many bytes all files have
// together. That something else stands in the place of a folder or the workspace file that
// rows removed is no wish to delete all that was there. A file that cannot be read is
// broken alone.
func checkLayout(objects *odb.Reader, rows []row, target object.ID) error {
	layout, err := repository.ReadFolders(objects.Read, target)
	if err != nil {
		return err
	}
	for _, p := range layout.WrongKinds() {
		removed := func(t repository.Touch) bool {
			return t.Blob == "" && (t.Path == p.File || strings.HasPrefix(t.Path, p.File+"/"))
		}
		if !strings.Contains(p.File, "/") && slices.ContainsFunc(rows, func(r row) bool { return slices.ContainsFunc(r.commit(0).Touched, removed) }) {
			return &unservable{p.File + " " + p.Message}
		}
	}
	left := int64(repository.MaxTexts)
	for _, f := range repository.LayoutFiles(layout) {
		_, content, err := objects.Read(object.ParseID(f.Blob))
		switch {
		case errors.As(err, new(*object.Lost)), errors.As(err, new(*object.TooLarge)):
			continue // it is not served
		case err != nil:
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if left -= int64(len(content)); left < 0 {
			return &unservable{fmt.Sprintf("its documents have more than %d bytes together, which is the most that is read", repository.MaxTexts)}
		}
	}
	return nil
}

// maxBack bounds the heads that are looked at for one that can be read.
const maxBack = 1000

// untilReadable drops the end of a history whose commit or folders have been
// lost since they were committed, as far as there is a head before that can be
// read. What main names is then refused as if it had just come.
func (l *Ledger) untilReadable(ctx context.Context, h *history) *history {
	reader := l.objects.Reader(ctx)
	defer reader.Close()
	n := len(h.rows)
	for looks := 0; n > 0 && looks < maxBack; n-- {
		if !h.rows[n-1].isHead() {
			continue
		}
		looks++
		if _, err := repository.ReadFolders(reader.Read, h.rows[n-1].id()); !isForGood(err) {
			break
		}
	}
	if n == 0 || n == len(h.rows) || !h.rows[n-1].isHead() {
		return h
	}
	kept := newHistory(h.base)
	kept.append(h.rows[:n]...)
	l.logWarn(l.cache.reset(kept.base, kept.rows))
	return kept
}

// extend adds rows to the history, of which the last is the new head.
func (l *Ledger) extend(rows []row) {
	l.history.Load().append(rows...)
	l.logWarn(l.cache.append(rows))
}

// replace makes another history the one that counts, and reports what is lost.
// Sequences go on above the old ones with a gap, so that none of them, nor the
// one of an empty history, has been given out before.
func (l *Ledger) replace(old *history, rows []row, commit string) {
	before := headOf(old)
	h := newHistory(before.Sequence + 2)
	h.append(rows...)
	l.history.Store(h)
	l.logWarn(l.cache.reset(h.base, rows))
	lost := Rewrite{Old: before.Commit, New: commit}
	old.mu.RLock()
	gone := old.rows
	old.mu.RUnlock()
	for _, r := range gone {
		if _, kept := h.find(r.id()); !kept {
			lost.Lost++
		}
	}
	l.options.Rewritten(lost)
}

// logWarn logs what does not stop the ledger.
func (l *Ledger) logWarn(err error) {
	if err != nil {
		slog.Warn(err.Error())
	}
}
