package gitremote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// bring brings in what was committed at the remote: as it is where nothing has happened here
// since, and else by a merge.
func (t *turn) bring(ctx context.Context, tip object.ID) error {
	common := t.stored.pushed
	if common == (object.ID{}) {
		return refuse("the branch %s of the remote has other commits than the workspace, up to %s, and nothing was pushed there before: begin with an empty branch, or with a workspace that was imported from a clone (svc api --import)", t.Branch, tip)
	}
	x, err := t.Remote.open(ctx, uploadPack)
	if err != nil {
		return err
	}
	defer x.close()
	if x.tip(t.Branch) != tip {
		return errors.New("the branch moved at the same time")
	}
	request := packp.NewUploadPackRequest()
	request.Wants, request.Haves = []object.ID{tip}, []object.ID{common}
	if x.refs.Capabilities.Supports(capability.OFSDelta) {
		if err := request.Capabilities.Set(capability.OFSDelta); err != nil {
			return err
		}
	}
	objects, remove, err := t.Remote.fetch(ctx, x, request)
	if err != nil {
		return err
	}
	defer remove()
	reader := objects.Reader(ctx)
	defer reader.Close()
	reader.MaxBlob(maxFile)
	read := func(id object.ID) (object.Kind, []byte, error) {
		kind, content, err := t.read(id)
		if absent(err) {
			kind, content, err = reader.Read(id)
		}
		return kind, content, err
	}
	theirs, err := missing(ctx, read, tip, common)
	if errors.Is(err, errUnrelated) {
		return refuse("the branch %s of the remote was rewritten: it is at %s, which does not lead to %s that was there. Nothing is taken from there or pushed; push %s there again", t.Branch, tip, common, common)
	}
	if err != nil {
		return err
	}
	const tries = 20 // others commit at the same time
	for range tries {
		if err = t.take(ctx, read, common, tip, theirs); !errors.Is(err, repository.ErrMoved) {
			return err
		}
	}
	return err
}

// take brings in commits that have come, onto the head as it is now.
func (t *turn) take(ctx context.Context, read object.Read, common, tip object.ID, theirs []object.ID) error {
	from, err := t.Head(ctx)
	if err != nil {
		return err
	}
	head := object.ParseID(from.Commit)
	g := newGathering(read)
	g.check = true
	for _, id := range theirs {
		if err := g.commit(id); err != nil {
			return fmt.Errorf("what was committed at the remote: %w", err)
		}
	}
	ours, err := missing(ctx, t.read, head, common)
	if err != nil {
		return err
	}
	for _, id := range ours { // what somebody has from here and pushed there
		if slices.Contains(theirs, id) {
			common = id
		}
	}
	m := &merging{gathering: g, settled: t.question.settled}
	to, err := m.merge(common, head, tip, len(theirs))
	if err != nil {
		return err
	}
	if len(m.both) > 0 {
		return t.ask(ctx, m.reading(), tip, m.both, "changed here and at the remote: "+inList(m.both),
			fmt.Sprintf("Until that is decided nothing is pushed and nothing taken from there: merge commit %s in a clone of svc's repository, and push that to svc", tip))
	}
	made, err := pack.Encode(g.objects)
	if err != nil {
		return err
	}
	err = t.Take(ctx, from, to, made, g.reading())
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return t.ask(ctx, g.reading(), tip, m.brought, refusal.Message, "Nothing is pushed until it is mended there, or taken back")
	}
	if err != nil {
		return err
	}
	now, err := t.Head(ctx)
	t.pending = nil
	t.head, t.sequence = object.ParseID(now.Commit), now.Sequence
	return err
}

// reading reads what was gathered too.
func (g *gathering) reading() object.Read {
	made := map[object.ID]pack.Object{}
	for _, o := range g.objects {
		made[o.ID] = o
	}
	return func(id object.ID) (object.Kind, []byte, error) {
		if o, ok := made[id]; ok {
			return o.Kind, o.Content, nil
		}
		return g.read(id)
	}
}

// merging brings the changes of a remote together with those here.
type merging struct {
	*gathering
	settled []mark   // what of the remote is left out: somebody has decided
	both    []coming // what both sides have changed, in the remote's version
	brought []coming // what comes
}

// coming is a file of a remote, as it is to replace one here.
type coming struct {
	path      string
	ours, new object.TreeEntry
	theirs    object.ID // new before it was merged
}

// merge is a commit in which both sides are, item by item: the remote's own, or one that it adds.
func (m *merging) merge(base, ours, theirs object.ID, came int) (object.ID, error) {
	var trees [3]object.ID
	for i, id := range []object.ID{base, ours, theirs} {
		c, err := object.ReadCommit(m.read, id)
		if err != nil {
			return id, err
		}
		trees[i] = c.Tree
	}
	tree, err := m.mergeTrees("", trees[0], trees[1], trees[2])
	if err != nil || base == ours && tree == trees[2] {
		return theirs, err
	}
	by := repository.Committer(time.Now())
	content := object.EncodeCommit(object.Commit{Tree: tree, Parents: []object.ID{ours, theirs}, Author: by, Committer: by,
		Message: fmt.Sprintf("Merge what was committed at the remote: %d\n", came)})
	id := object.Hash(object.CommitKind, content)
	m.add(object.CommitKind, id, content)
	return id, nil
}

// mergeTrees is a tree with the changes of both sides since a base, and adds it; zero for an
// empty one.
func (m *merging) mergeTrees(path string, base, ours, theirs object.ID) (object.ID, error) {
	type sides struct{ base, ours, theirs object.TreeEntry }
	all := map[string]sides{}
	for i, id := range []object.ID{base, ours, theirs} {
		if id == (object.ID{}) {
			continue
		}
		entries, err := object.ReadTree(m.read, id)
		if err != nil {
			return id, err
		}
		for _, e := range entries {
			s := all[e.Name]
			*[]*object.TreeEntry{&s.base, &s.ours, &s.theirs}[i] = e
			all[e.Name] = s
		}
	}
	none := object.TreeEntry{}
	folder := func(e object.TreeEntry) bool { return e == none || e.IsFolder() }
	var entries []object.TreeEntry
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		e := s.ours
		switch {
		case s.ours == s.theirs || s.theirs == s.base:
		case folder(s.ours) && folder(s.theirs):
			if e = s.ours; e == none {
				e = s.theirs
			}
			if !s.base.IsFolder() {
				s.base = none
			}
			merged, err := m.mergeTrees(path+name+"/", s.base.ID, s.ours.ID, s.theirs.ID)
			if err != nil {
				return merged, err
			}
			e.ID = merged
		default:
			var err error
			if e, err = m.mergeEntry(path+name, s.base, s.ours, s.theirs); err != nil {
				return e.ID, err
			}
		}
		if e.ID != (object.ID{}) {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 && path != "" {
		return object.ID{}, nil
	}
	id, _ := m.addTree(entries)
	return id, nil
}

// mergeEntry is what becomes of a file that the remote has changed.
func (m *merging) mergeEntry(path string, base, ours, theirs object.TreeEntry) (object.TreeEntry, error) {
	c := coming{path, ours, theirs, theirs.ID}
	switch {
	case slices.Contains(m.settled, c.mark()):
		return ours, nil
	case ours != base:
		merged, err := m.mergeFiles(base, ours, theirs)
		if err != nil {
			return ours, err
		}
		if merged == (object.ID{}) {
			m.both = append(m.both, c)
			return ours, nil
		}
		c.new = ours
		c.new.ID = merged
	}
	if c.new != ours {
		m.brought = append(m.brought, c)
	}
	return c.new, nil
}

// mergeFiles is a document with the changes of both sides, which it adds; zero where that
// cannot be.
func (m *merging) mergeFiles(base, ours, theirs object.TreeEntry) (none object.ID, err error) {
	if !strings.HasSuffix(ours.Name, ".json") || !base.IsFile() || !ours.IsFile() || !theirs.IsFile() || ours.Mode != theirs.Mode {
		return none, nil
	}
	var texts [3][]byte
	for i, e := range []object.TreeEntry{base, ours, theirs} {
		if texts[i], err = object.ReadAs(m.read, e.ID, object.Blob); err != nil {
			return none, err
		}
	}
	text, ok := mergeDocuments(texts[0], texts[1], texts[2])
	if !ok {
		return none, nil
	}
	id := object.Hash(object.Blob, text)
	m.add(object.Blob, id, text)
	return id, nil
}
