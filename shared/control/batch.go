package control

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/workspace"
)

// batch is one try of the writes of a request, at one head: each on what those
// before it have made, and all of them one commit. A write that is refused
// leaves nothing behind, and those after it are judged all the same.
type batch struct {
	session  *Session
	head     *served.Head
	repo     Repository
	request  Request
	alone    bool       // its one write is all of the request
	text     string     // that the commit begins with; "" is what changes
	attempts []*attempt // of each write, or of its parts
	refusals []refused
	commit   string               // that was made, or that the answer is true of
	previous string               // that it was made on, as the answer names it
	when     time.Time            // of a commit that was made
	landed   *repository.Snapshot // nil of a dry run

	// byPath is the last attempt that changed what stands at a path, and last the
	// last one of all: the only one whose documents are kept decoded.
	byPath map[string]*attempt
	last   *attempt
	splits map[string]string      // properties that rollouts of the batch went by, see splitName
	tiers  map[string]access.Tier // of documents that others were asked about, by path
	// shared are the paths of the schemas and segments that are written, and users what
	// names these and the segments over them.
	shared []string
	users  map[string][]workspace.Reference
	// named are environments that documents of the batch have entries for, where
	// the workspace declares none.
	named map[string]bool
	// sums: what all documents take together had a say.
	sums bool
	// checked bounds what all values take that are held against schemas.
	checked  document.Allowance
	charged  int // bytes
	lookedUp int // writes
	// sequences are those of commits that tokens name, once they were asked for.
	sequences map[string]int64
	// after is the workspace as it would be, and final what leads there.
	after  *workspace.Workspace
	final  []*attempt
	masked masked // of a dry run
	// impact is what a dry run tells that was asked for it.
	impact Impact
}

// refused is why an operation is refused.
type refused struct {
	index int
	err   error
}

// maxTries bounds how often a request starts over. Each time somebody else's
// commit was first, so only a crowd comes near it.
const maxTries = 24

var errReadSession = errors.New("a session that was opened for reading was asked to write")

// carryOut carries writes out as one commit. A batch that lost the race for the
// head begins again with authentication, pinned or not: whether a token still
// holds is a question of the item's content, which the next try asks.
//
// It makes the answer by tell, which is asked before there is a commit where the answer
// is remembered with that. A request that has landed already has no batch.
func (s *Session) carryOut(ctx context.Context, r Request, message string, writes []write, tell func(*batch) any) (*batch, error) {
	if s.use != Write {
		return nil, errReadSession
	}
	if s.service.writing != nil && !r.DryRun {
		leave, err := s.service.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		if s, err = s.again(ctx); err != nil {
			return nil, err
		}
	}
	r.turn = &repository.Turn{Now: s.caller.entry.Now}
	defer r.turn.Leave(ctx)
	for try := 0; try < maxTries; try++ {
		b, err := s.try(ctx, r, message, writes, tell)
		if !isStale(err) {
			return b, writeFault(err)
		}
		// Whoever was faster is done the first time. Later it waits a little, unless
		// it waits in a queue.
		if try > 0 && !r.turn.Waited() {
			if err := s.service.pause(ctx, try); err != nil {
				return nil, repository.Fault(err)
			}
		}
		if s, err = s.again(ctx); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, "too many others are writing at the moment; the request can be repeated")
}

// isStale reports whether an error is one of a head that has moved or is gone.
func isStale(err error) bool {
	return errors.Is(err, repository.ErrMoved) || errors.Is(err, repository.ErrUnknownCommit)
}

// overtaken is the error of a batch that was refused for what another head would
// not be asked.
func (b *batch) overtaken() error {
	for _, r := range b.refusals {
		if isStale(r.err) {
			return r.err
		}
	}
	return nil
}

// writeFault is storageFault for a write: one that certainly did not land says
// so.
func writeFault(err error) error {
	f := repository.Fault(err)
	var known *fault.Fault
	if errors.As(f, &known) && known.Kind == fault.Internal && errors.Is(err, repository.ErrFailed) {
		return fault.New(fault.Internal, "something went wrong on our side, and nothing was written").Because(err)
	}
	return f
}

// try is one try of a batch: it decides on a snapshot, and commits.
func (s *Session) try(ctx context.Context, r Request, message string, writes []write, tell func(*batch) any) (b *batch, err error) {
	switch {
	case r.DryRun:
		b, err = s.rehearse(ctx, r, writes)
	default:
		if err := s.replay(ctx, r.Idempotency); err != nil || r.Idempotency != nil && r.Idempotency.Replayed {
			return nil, err
		}
		b, err = s.land(ctx, r, message, writes, tell)
	}
	if err != nil {
		return nil, err
	}
	return b, b.overtaken()
}

func (s *Session) land(ctx context.Context, r Request, message string, writes []write, tell func(*batch) any) (*batch, error) {
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, err
	}
	base, err := repo.Snapshot(ctx, s.caller.entry.Head)
	if err != nil {
		return nil, err
	}
	head, err := s.service.served.Open(ctx, s.caller.entry.Workspace.ID, repo, base)
	if err != nil {
		return nil, err
	}
	b := &batch{session: s, request: r, text: message, head: head, repo: repo}
	b.decide(ctx, writes)
	var draft repository.Draft
	if len(b.refusals) == 0 && len(b.final) > 0 {
		draft = b.draft()
	}
	remembered, err := b.remember(&draft, tell)
	if err != nil {
		return nil, err
	}
	landed, err := repo.Commit(ctx, base, draft)
	switch {
	case errors.Is(err, repository.ErrOccupied):
		b.occupied(err)
		return b, nil
	case errors.Is(err, repository.ErrUnknownOutcome) && remembered != nil:
		return nil, fault.New(fault.Unavailable, "the storage did not say whether the change was made; send the same request again, under the same Idempotency-Key").Because(err)
	case err != nil:
		return nil, err
	}
	b.landed = landed
	b.commit, b.previous = b.versionAfter(), b.versionBefore()
	if remembered != nil {
		r.Idempotency.Answer = remembered.fill(b.commit, b.previous)
	}
	return b, nil
}

// path is the file whose versions the answer names; "" where it names those of the
// workspace.
func (b *batch) path() string {
	if b.session.service.settings.Files && len(b.attempts) == 1 && !b.attempts[0].write.inSet {
		return b.attempts[0].path
	}
	return ""
}

// versionBefore is what the batch was made on, as its answer names it, and versionAfter
// what it has led to.
func (b *batch) versionBefore() string {
	if b.path() != "" {
		return b.attempts[0].last
	}
	if b.landed != nil && len(b.final) > 0 && b.landed.Parent != "" {
		return b.landed.Parent // commits of others may have come in between
	}
	return b.head.Snapshot.Head.Commit
}

func (b *batch) versionAfter() string {
	if file, found := b.landed.File(b.path()); found {
		return file.Last.SHA
	}
	return b.landed.Head.Commit
}

// occupied refuses what would lie where something is that is no document.
func (b *batch) occupied(err error) {
	at := b.final[0]
	for _, a := range b.final {
		if _, name, _ := strings.Cut(a.path, "/"); strings.Contains(err.Error(), name) {
			at = a
			break
		}
	}
	b.refuse(at.index, refusal.Invalid(fault.Unprocessable, refusal.CodeVerify, "the repository has no place for it",
		[]document.Issue{{Pointer: "/key", Message: at.path + " exists and is not a document"}}))
}

// explain makes the answer of a refusal.
func explain(ctx context.Context, refusal error) error {
	var later explained
	if errors.As(refusal, &later) {
		return later.fault(ctx, true)
	}
	return refusal
}

// explained is a refusal that tells what has become of the item since, which takes
// another read, if it is asked for.
type explained interface {
	error
	fault(ctx context.Context, changes bool) error
}

// rehearse says what would come of a batch.
func (s *Session) rehearse(ctx context.Context, r Request, writes []write) (*batch, error) {
	o, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, err
	}
	b := &batch{session: s, request: r, head: o, repo: repo, commit: o.Snapshot.Head.Commit}
	b.decide(ctx, writes)
	if !r.Impact || len(b.refusals) > 0 {
		return b, nil
	}
	b.impact = Impact{}
	if len(b.final) > 0 {
		before, after := b.compared()
		b.impact, err = s.impact(ctx, o, before, after)
	}
	return b, err
}

// decide goes through the writes, and then asks what the workspace says to what
// they lead to.
func (b *batch) decide(ctx context.Context, writes []write) {
	b.byPath, b.splits, b.tiers, b.named = map[string]*attempt{}, map[string]string{}, map[string]access.Tier{}, map[string]bool{}
	b.alone = len(writes) == 1 && writes[0].parts == nil
	for _, w := range writes {
		if w.t == Schema || w.t == document.Segment {
			path, _ := workspace.PathOf(w.t, w.key)
			b.shared = append(b.shared, path)
		}
	}
	for i, w := range writes {
		parts := []write{w}
		if w.parts != nil && len(w.issues) == 0 {
			var err error
			if parts, err = w.parts(b); err != nil {
				b.refuse(i, err)
				continue
			}
			if n := len(b.attempts) + len(parts); n > MaxOperations {
				b.refuse(i, fault.New(fault.Unprocessable, "the operations up to this one are about %d items; %d are the most for one request, so copy fewer at a time", n, MaxOperations))
				return // nobody looks any further
			}
		}
		for _, part := range parts {
			a := &attempt{batch: b, write: part, index: i}
			b.attempts = append(b.attempts, a)
			err := a.decide(ctx)
			if err != nil {
				b.refuse(i, err)
			}
			if b.charged > maxCharged {
				return // nobody looks any further
			}
			a.record(err == nil && a.changed())
		}
	}
	b.finish()
	b.check()
	slices.SortStableFunc(b.refusals, func(x, y refused) int { return x.index - y.index })
}

func (b *batch) refuse(index int, err error) { b.refusals = append(b.refusals, refused{index, err}) }

// record notes what an attempt leaves behind. Of all but the last one the documents
// are kept as text alone, which takes a tenth.
func (a *attempt) record(changed bool) {
	if r := a.batch.last; r != nil {
		r.forgetDecoded()
	}
	a.batch.last = a
	if !changed {
		return
	}
	a.gone = a.edited.Tree == nil
	if !a.gone {
		a.batch.tiers[a.path] = tierOf(a.edited.Tree)
		if len(a.batch.shared) > 0 {
			a.shares = workspace.Shares(document.View(a.edited.Tree))
		}
		if !a.batch.head.View.Workspace().Declared && a.write.t != Schema {
			for _, e := range document.View(a.edited.Tree).Environments {
				a.batch.named[e.ID] = true
			}
		}
		if a.write.scoped && a.write.t != document.LogLevel {
			a.scopes = []string{a.write.scope}
			if property := edit.SplitProperty(a.edited.Tree, a.write.scope); property != "" {
				a.batch.splits[a.splitName()] = property
			}
		}
	} else {
		delete(a.batch.tiers, a.path)
	}
	a.strict, a.touched = a.write.checkAll, 1
	if p := a.previous; p != nil {
		a.strict, a.touched = a.strict || p.strict, p.touched+1
		a.scopes = append(a.scopes, p.scopes...)
	}
	a.batch.byPath[a.path] = a
}

// forgetDecoded forgets what is decoded.
func (a *attempt) forgetDecoded() {
	if a.edited == nil {
		return
	}
	if a.batch.byPath[a.path] == a {
		a.text()
	}
	a.edited = &edit.Edited{Changed: a.edited.Changed}
	a.base = nil
}

// splitName is the scope of a document, in the batch's splits.
func (a *attempt) splitName() string { return a.path + " " + a.write.scope }

// finish finds out what the batch changes in the end, in the order of the
// operations that did it last.
func (b *batch) finish() {
	for _, a := range b.byPath {
		if a.touched > 1 && (!a.existed && a.gone || a.existed && !a.gone && string(a.file.Text) == string(a.text())) {
			continue
		}
		b.final = append(b.final, a)
	}
	slices.SortFunc(b.final, func(x, y *attempt) int {
		return cmp.Or(cmp.Compare(x.index, y.index), strings.Compare(x.path, y.path))
	})
}

// draft is the commit that the batch makes.
func (b *batch) draft() repository.Draft {
	now := b.session.service.settings.Now()
	b.when = now
	by := feed.Author(b.session.caller.entry.Principal)
	by.When = now
	d := repository.Draft{
		Author:    by,
		Committer: repository.Committer(now),
		Message:   b.message(),
		RequestID: b.request.ID,
		Versions: func(ctx context.Context, next *repository.Snapshot) string {
			return b.head.VersionsOf(ctx, next, b.session.caller.entry.Workspace.Secret, now)
		},
		Briefs: func(_ context.Context, next *repository.Snapshot) []byte { return b.head.BriefsOf(next) },

		Standalone: b.isStandalone(),
		Turn:       b.request.turn,
	}
	for _, a := range b.final {
		d.Changes = append(d.Changes, repository.Change{Path: a.path, Content: a.text()})
	}
	return d
}

// summary is what a batch says of an item: what its one write does or, where there
// were several, what they lead to.
func (a *attempt) summary() []activity.Message {
	if a.touched == 1 {
		return a.messages
	}
	return feed.Compare(a.path, a.original(), a.tree())
}

// message is the message of the batch's commit.
func (b *batch) message() string {
	if len(b.final) == 1 && b.text == "" {
		return feed.MessageOfOne(b.final[0].summary(), b.session.caller.entry.Principal)
	}
	var first []feed.Change
	for _, a := range b.final[:min(len(b.final), feed.MaxListed)] {
		first = append(first, feed.Change{Type: a.write.t, Path: a.path, Key: a.write.key, Messages: a.summary()})
	}
	return feed.MessageOfMany(b.text, first, len(b.final), b.session.caller.entry.Principal)
}
