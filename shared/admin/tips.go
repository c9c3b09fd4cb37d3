package admin

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// Tip is a commit in the bucket that is no other's parent there: the head, what came
// after a head that was taken back, or what a lost race has left.
type Tip struct {
	SHA     string
	Author  string
	At      time.Time // when it was committed
	Subject string
	Commits int    // that its history has, as far as it is there
	Lacks   string // what git has not of it; "" when it could be the head
	Head    bool   // what the table names
	// Rival says that it has lost a race: another commit followed the same one within
	// the time of a race, and was the head, since others followed it or the table names
	// it.
	Rival bool
}

// Tips looks through all packs in the bucket, whatever the table names, if it is there, and
// lists the tips, the newest first, and those that have lost a race last. Where the table or
// the bucket is lost or put back to an earlier time, one of them is to be the head: see
// Reindex and Recover. So packs that the table does not name stay for a day from now,
// however old they are.
func (w *Workspace) Tips(ctx context.Context, o Checking) ([]Tip, error) {
	var named []string
	head, err := w.ledger.Head(ctx)
	if err == nil {
		named, err = w.ledger.Packs(ctx)
	}
	if err != nil && !isLost(err) {
		return nil, err
	}
	stored, err := w.objects.List(ctx)
	if err == nil {
		err = w.retire(ctx, without(stored, named))
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Dir, "svcadmin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m, err := w.copyPacks(ctx, filepath.Join(dir, "git"), stored, nil, o.Progress.begin("copying", "packs"))
	if err != nil {
		return nil, err
	}
	return m.tips(ctx, head.Commit)
}

// isLost: there is no such workspace in the table, or none that serves anybody.
func isLost(err error) bool {
	return errors.Is(err, access.ErrNotFound) || errors.Is(err, dynamo.ErrUnfinished)
}

// maxTips is how many are looked at: each takes a walk through what it alone has.
const maxTips = 100

// race is how long a race may take: a writer's requests, from its first draft to the
// last attempt to land it, with clocks that differ.
const race = time.Minute

// tips are those of all packs. The head is what the table names, "" for none.
func (m *mirror) tips(ctx context.Context, head string) ([]Tip, error) {
	all, err := m.commits(ctx)
	if err != nil {
		return nil, err
	}
	after := map[object.ID][]object.ID{}
	for id, c := range all {
		for _, p := range c.Parents {
			after[p] = append(after[p], id)
		}
	}
	wasHead := func(id object.ID) bool { return len(after[id]) > 0 || id.String() == head }
	var tips []Tip
	for id, c := range all {
		if len(after[id]) > 0 {
			continue
		}
		subject, _, _ := strings.Cut(c.Message, "\n")
		t := Tip{SHA: id.String(), Author: c.Author.Name, At: c.Committer.When, Subject: subject, Head: id.String() == head}
		if len(c.Parents) > 0 {
			t.Rival = !t.Head && slices.ContainsFunc(after[c.Parents[0]], func(other object.ID) bool {
				return other != id && wasHead(other) && t.At.Sub(all[other].Committer.When).Abs() <= race
			})
		}
		tips = append(tips, t)
	}
	slices.SortFunc(tips, func(a, b Tip) int {
		if a.Rival != b.Rival {
			return map[bool]int{false: -1, true: 1}[a.Rival]
		}
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.SHA, b.SHA))
	})
	tips = tips[:min(len(tips), maxTips)]
	reader := m.objects.Reader(ctx)
	defer reader.Close()
	reader.MaxBlob(revwalk.LargestFile)
	whole := func() *revwalk.Reach {
		return &revwalk.Reach{Objects: reader, Tell: func(pack.Object) error { return nil }, Have: m.objects.Packed}
	}
	reach := whole()
	for i := range tips {
		id := object.ParseID(tips[i].SHA)
		tips[i].Commits = reachable(all, id)
		if err := reach.History(ctx, id); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			tips[i].Lacks = err.Error()
			reach = whole() // what it has seen of this one is not all there
		}
	}
	return tips, nil
}

// commits are those in all packs, by their ids. No pack of ours has one as a delta.
func (m *mirror) commits(ctx context.Context) (map[object.ID]object.Commit, error) {
	all := map[object.ID]object.Commit{}
	for _, p := range m.packs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := os.Open(packPath(m.git, p.Name, ".pack"))
		if err != nil {
			return nil, err
		}
		for i := range p.Index.Len() {
			h, content, err := pack.Read(f, p.Index.Offset(i), 0, func(h pack.Header) int64 {
				if h.Type != plumbing.CommitObject {
					return -1
				}
				return revwalk.LargestFile
			})
			if h.Type != plumbing.CommitObject {
				continue // too large by any bound, so that it was not read
			}
			c := object.Commit{}
			if err == nil {
				c, err = object.DecodeCommit(content)
			}
			if err != nil {
				continue // a walk that needs it reports it as missing
			}
			c.Message, _, _ = strings.Cut(c.Message, "\n")
			all[p.Index.ID(i)] = c
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// reachable counts the commits of a history.
func reachable(all map[object.ID]object.Commit, from object.ID) int {
	met := map[object.ID]bool{}
	for open := []object.ID{from}; len(open) > 0; {
		sha := open[len(open)-1]
		open = open[:len(open)-1]
		if c, there := all[sha]; there && !met[sha] {
			met[sha] = true
			open = append(open, c.Parents...)
		}
	}
	return len(met)
}
