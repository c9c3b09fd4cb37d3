package control

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// write is an operation that turns an item's document into another: none into
// the first, one into none. It holds all in which the writes differ.
type write struct {
	Request
	t   document.Type
	key string
	// issues are what is wrong with the request by itself, beside Malformed.
	issues []document.Issue
	// scope must be an active environment, or the default scope, for a write
	// that is scoped.
	scope  string
	scoped bool
	// token is expectedCommitSha.
	token *string
	// first makes the item's first document, for a write that creates one
	// where there is none; nil for the others. onlyFirst is a write that does
	// nothing else.
	first     func() (*jsontree.Node, error)
	onlyFirst bool
	// prepare reads what the edit needs beside the stored document. A write
	// that has it takes an item that is not there too.
	prepare func(ctx context.Context, a *attempt) error
	// touches is what has to be authorized; nil is whatever differs.
	touches func(a *attempt) access.Write
	// edit makes the new document of the base.
	edit func(a *attempt) (*edit.Edited, error)
	// mends is a write that takes what is no JSON object too.
	mends bool
	// checkAll refuses the document for all that is wrong with it, and not
	// only for what the write brings in.
	checkAll bool
}

// outcome is what came of a write.
type outcome struct {
	*attempt
	commit   string
	previous string // "" when nothing was written
	messages []activity.Message
}

// maxTries bounds how often a write starts over. Each time somebody else's
// commit was first, so only a crowd comes near it.
const maxTries = 24

var errReadSession = errors.New("a session that was opened for reading was asked to write")

// write carries a write out. One that lost the race for the head begins again
// with authentication, pinned or not: whether a token still holds is a question of
// the item's content, which the next try asks.
func (s *Session) write(ctx context.Context, w write) (*outcome, error) {
	if s.use != Write {
		return nil, errReadSession
	}
	if err := malformed(append(w.Malformed[:len(w.Malformed):len(w.Malformed)], w.issues...)...); err != nil {
		return nil, err
	}
	for try := 0; try < maxTries; try++ {
		out, err := s.attempt(ctx, w)
		if !errors.Is(err, repository.ErrMoved) && !errors.Is(err, repository.ErrUnknownCommit) {
			return out, writeFault(err)
		}
		// Whoever was faster is done the first time. Later it waits a little, unless
		// it knows the commits that are on their way.
		if try > 0 && s.entry.Tip == nil {
			if err := s.service.pause(ctx, try); err != nil {
				return nil, storageFault(err)
			}
		}
		if s, err = s.again(ctx); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, "too many others are writing at the moment; the request can be repeated")
}

// writeFault is storageFault for a write: one that certainly did not land says
// so.
func writeFault(err error) error {
	f := storageFault(err)
	var known *fault.Fault
	if errors.As(f, &known) && known.Kind == fault.Internal && errors.Is(err, repository.ErrFailed) {
		return fault.New(fault.Internal, "something went wrong on our side, and nothing was written").Because(err)
	}
	return f
}

// attempt is one try of a write, at one head.
type attempt struct {
	*Session
	*opened
	write
	path   string
	exists bool
	file   repository.File
	stored *decoded

	base   *jsontree.Node // what the edit begins with, nil for nothing
	edited *edit.Edited
	last   string // the last commit that touched the item
	// problem is why the edit cannot be done.
	problem error
	// lookups are warnings of what reads the environment of applications.
	lookups []document.Issue

	encoded []byte // see text
}

// attempt is one try of a write: it decides on a snapshot, and commits.
func (s *Session) attempt(ctx context.Context, w write) (*outcome, error) {
	if w.DryRun {
		out, err := s.rehearse(ctx, w)
		return out, answered(ctx, err)
	}
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, err
	}
	from := s.entry.Head
	if s.entry.Tip != nil {
		from = *s.entry.Tip
	}
	base, err := repo.Snapshot(ctx, from)
	if err != nil {
		return nil, err
	}
	a := &attempt{Session: s, opened: &opened{repo, base, s.service.view(s.entry.Workspace.ID, s.cache, base)}, write: w}
	out, refusal := a.decide(ctx)
	var draft repository.Draft // which confirms base, when there is nothing to write
	if refusal == nil && a.changed() {
		draft = a.draft(out.messages)
	}
	landed, err := repo.Commit(ctx, base, draft)
	switch {
	case errors.Is(err, repository.ErrOccupied):
		return nil, invalid(fault.Unprocessable, codeVerify, "the repository has no place for it",
			[]document.Issue{{Pointer: "/key", Message: "something that is no document lies at " + a.path}})
	case err != nil:
		return nil, err
	}
	s.entry.Head, s.entry.Tip = base.Head, nil // it has landed
	if refusal != nil {
		return nil, answered(ctx, refusal)
	}
	if a.changed() {
		out.commit = landed.Head.Commit
	}
	return out, nil
}

// answered makes the answer of a refusal, now that what it rests on has landed.
func answered(ctx context.Context, refusal error) error {
	var later told
	if errors.As(refusal, &later) {
		return later.fault(ctx)
	}
	return refusal
}

// told is a refusal that tells of the item's history, which takes another read.
type told interface {
	error
	fault(ctx context.Context) error
}

// rehearse says what would come of a write. There is no commit to name then:
// the item's last one is, which is good as the token of the real write, or the
// head where there is no item yet.
func (s *Session) rehearse(ctx context.Context, w write) (*outcome, error) {
	o, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	a := &attempt{Session: s, opened: o, write: w}
	out, err := a.decide(ctx)
	if err != nil || !a.changed() {
		return out, err
	}
	out.commit = a.snapshot.Head.Commit
	if !a.creates() {
		out.commit = a.last
	}
	return out, nil
}

// decide goes through the steps of a write, each of which can refuse it. The
// commit it leads to is still to be named.
func (a *attempt) decide(ctx context.Context) (*outcome, error) {
	for _, step := range []func(context.Context) error{a.find, a.permit, a.compare, a.change} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if !a.changed() {
		return a.unchanged(), nil
	}
	checks := []func(context.Context) error{a.validate, a.verify, a.fits, a.fitsExpressions}
	if a.edited.Tree == nil {
		checks = []func(context.Context) error{a.unreferenced}
	}
	for _, step := range checks {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &outcome{
		attempt: a, previous: a.snapshot.Head.Commit,
		messages: difference(a.path, a.before(), a.edited.Tree),
	}, nil
}

// find answers 404 for an item or an environment that is not there, and 422
// for an item that is nothing to edit. It makes the first document of an item
// that the write creates.
func (a *attempt) find(ctx context.Context) error {
	path, ok := pathOf(a.t, a.key)
	if !ok && a.first == nil {
		return noSuch(a.t, a.key)
	}
	a.path = path
	a.file, a.exists = a.snapshot.File(path)
	if !a.exists && a.prepare == nil && (a.first == nil || a.token != nil) {
		return noSuch(a.t, a.key)
	}
	if err := a.findScope(); err != nil {
		return err
	}
	if a.exists && !a.onlyFirst {
		a.stored, a.last = decode(path, a.file.Text), a.file.Last.SHA
		a.base = a.stored.tree
		if a.stored.item == nil && !a.mends {
			return notAnObject(a.t, a.key, a.stored)
		}
	}
	switch {
	case a.prepare != nil:
		return a.prepare(ctx, a)
	case a.base != nil:
		return nil
	}
	var err error
	a.base, err = a.first()
	return editFault(err)
}

func (a *attempt) findScope() error {
	if !a.scoped || a.scope == document.DefaultScope {
		return nil
	}
	if e, known := a.view.ws.Environment(a.scope); !known || e.Archived {
		return fault.New(fault.NotFound, "there is no environment %s; GET /environments lists them", terminal.Quote(a.scope))
	}
	return nil
}

// creates says whether the write makes a document where there is none.
func (a *attempt) creates() bool { return a.onlyFirst || !a.exists }

// permit answers 403: for what the write touches, and for what the new document
// uses beyond itself. So the document is made here; what is wrong with it is
// said in its turn.
func (a *attempt) permit(context.Context) error {
	a.edited, a.problem = a.edit(a)
	touches := a.touches
	if touches == nil {
		touches = touchesDifference
	}
	if err := a.authorize("", touches(a)); err != nil {
		return err
	}
	if a.problem != nil || !a.changed() || a.edited.Tree == nil || a.t == Schema {
		return nil
	}
	return a.permitUses()
}

// authorize refuses a write that the principal's roles do not allow. What comes
// before the sentence that says so is given.
func (a *attempt) authorize(before string, write access.Write) error {
	denial := access.Authorize(a.entry.Principal.EffectiveRoles(), write)
	if denial == nil {
		return nil
	}
	return fault.New(fault.Forbidden, "%s%s", before, denial.Message()).
		With(map[string]any{"code": codePermission, "required": string(denial.Required)})
}

// change answers 400 for a request that the stored document does not allow.
func (a *attempt) change(ctx context.Context) error {
	if a.problem != nil {
		return editFault(a.problem)
	}
	return a.stick(ctx)
}

func (a *attempt) changed() bool { return a.edited.Changed }

// before is the document as it was, nil when there was none.
func (a *attempt) before() *jsontree.Node {
	if a.creates() {
		return nil
	}
	return a.base
}

// unchanged is the outcome of a write that finds everything as it wants it.
func (a *attempt) unchanged() *outcome {
	return &outcome{attempt: a, commit: a.last, messages: []activity.Message{}}
}

// text is the new document as it is stored, nil for none.
func (a *attempt) text() []byte {
	switch {
	case a.edited.Tree == nil:
		return nil
	case a.edited.Text != nil:
		return a.edited.Text
	case a.encoded == nil:
		a.encoded = document.Encode(a.edited.Tree)
	}
	return a.encoded
}

// draft is the commit that the write makes.
func (a *attempt) draft(messages []activity.Message) repository.Draft {
	now := a.service.settings.Now()
	by := author(a.entry.Principal)
	by.When = now
	return repository.Draft{
		Changes:   []repository.Change{{Path: a.path, Content: a.text()}},
		Author:    by,
		Committer: repository.Signature{Name: committerName, Email: committerEmail, When: now},
		Message:   commitMessage(messages, a.entry.Principal),
		RequestID: a.ID,
		Versions:  a.storedVersions,
	}
}

// preview is what a dry run's answer has in addition.
func (o *outcome) preview() Preview {
	if !o.DryRun {
		return Preview{}
	}
	return Preview{DryRun: true, Document: o.edited.Tree, Messages: o.messages}
}

// item is a tree in the place that the write is about. It has no text: nothing
// that is asked of it is told by line.
func (a *attempt) item(tree *jsontree.Node) workspace.Item {
	return workspace.Item{Path: a.path, Key: a.key, View: document.View(tree), Tree: tree}
}
