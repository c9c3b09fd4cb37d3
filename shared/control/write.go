package control

import (
	"context"
	"errors"
	"fmt"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// write is an operation that turns an item's document into another: none into
// the first, one into none. It holds all in which the writes differ.
type write struct {
	t   document.Type
	key string
	// issues are what is wrong with the request by itself.
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
	// inSet is a write of a change set, whose token may name a commit that does not
	// have the item: it is then created where that is still so.
	inSet bool
	// prepare reads what the edit needs beside the stored document. A write
	// that has it takes an item that is not there too.
	prepare func(ctx context.Context, a *attempt) error
	// sets leads to where the write puts values of its own into a document; nil for one
	// that brings back what was stored, or deletes. copies: they are stored elsewhere in it.
	sets   func(tree *jsontree.Node) (pointer string)
	copies bool
	// touches is what has to be authorized; nil is whatever differs.
	touches func(a *attempt) access.Write
	// edit makes the new document of the base.
	edit func(a *attempt) (*edit.Edited, error)
	// acceptsInvalid is a write that takes what is no JSON object too.
	acceptsInvalid bool
	// checkAll refuses the document for all that is wrong with it, and not
	// only for what the write brings in.
	checkAll bool
	// missing is what was asked for and does not stand in an item's first document;
	// nil for nothing.
	missing func() []activity.Message
	// parts are the writes that it stands for, if it is none itself.
	parts func(b *batch) ([]write, error)
}

// outcome is what came of a write that is alone in its request.
type outcome struct {
	attempt  *attempt
	commit   string
	previous string // "" when nothing was written
}

// carryOutOne carries a write out that is alone in its request: a change set of one
// operation. It is answered with what result makes of what came of it.
func carryOutOne[T any](ctx context.Context, s *Session, r Request, w write, result func(*outcome) *T) (*T, error) {
	if len(w.issues) > 0 {
		return nil, refusal.Malformed(w.issues...)
	}
	b, err := s.carryOut(ctx, r, "", []write{w}, func(b *batch) any { return result(b.outcome()) })
	if err != nil || b == nil {
		return nil, err
	}
	if len(b.refusals) > 0 {
		return nil, writeFault(explain(ctx, b.refusals[0].err))
	}
	return result(b.outcome()), nil
}

// outcome is what came of the one write of a batch.
func (b *batch) outcome() *outcome {
	a := b.attempts[0]
	switch {
	case !a.changed():
		return &outcome{attempt: a, commit: a.last}
	case b.request.DryRun && !a.creates():
		// There is no commit to name: the item's last one is as good as the token of
		// the real write.
		return &outcome{attempt: a, commit: a.last, previous: b.versionBefore()}
	case b.request.DryRun:
		return &outcome{attempt: a, commit: b.commit, previous: b.head.Snapshot.Head.Commit}
	}
	return &outcome{attempt: a, commit: b.commit, previous: b.previous}
}

// attempt is one try of a write, as one of a batch.
type attempt struct {
	batch *batch
	write write
	index int // among the operations of the request
	path  string
	// What stood there before the batch, and the last commit that touched it.
	file    repository.File
	existed bool
	last    string
	// previous has changed the item earlier in the batch; nil for none.
	previous *attempt
	// What it leaves behind, once it is placed: nothing, or a document that shares these
	// with others; that is checked in full, whose fallbacks in those scopes were set,
	// and which so many writes have changed.
	gone    bool
	shares  []string
	strict  bool
	secrets secrets
	scopes  []string
	touched int

	exists bool
	stored *workspace.Decoded
	base   *jsontree.Node // what the edit begins with, nil for nothing
	edited *edit.Edited
	// problem is why the edit cannot be done.
	problem error
	// lookups are warnings of what reads the environment of applications.
	lookups  []document.Issue
	messages []activity.Message
	warnings []document.Issue

	encoded []byte // see text
}

// decide goes through those steps of a write that are its own, each of which can
// refuse it. What the workspace says to it is asked once for the batch.
func (a *attempt) decide(ctx context.Context) error {
	if len(a.write.issues) > 0 {
		return refusal.Malformed(a.write.issues...)
	}
	for _, step := range []func(context.Context) error{a.find, a.permit, a.compare, a.change} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	a.messages = []activity.Message{}
	if !a.changed() {
		a.warnings = a.itemWarnings()
		return nil
	}
	if err := a.batch.charge(a.edited.Tree); err != nil {
		return err
	}
	if err := a.validate(); err != nil {
		return err
	}
	a.messages = feed.Compare(a.path, a.before(), a.edited.Tree)
	a.warnings = a.itemWarnings()
	return nil
}

// find answers 404 for an item or an environment that is not there, and 422
// for an item that is nothing to edit. It makes the first document of an item
// that the write creates.
func (a *attempt) find(ctx context.Context) error {
	path, ok := workspace.PathOf(a.write.t, a.write.key)
	if !ok && a.write.first == nil {
		return refusal.NoSuch(a.write.t, a.write.key)
	}
	a.path = path
	a.file, a.existed = a.batch.head.Snapshot.File(path)
	a.exists = a.existed
	if a.previous = a.batch.byPath[path]; a.previous != nil {
		a.exists = !a.previous.gone
	}
	if !a.exists && a.write.prepare == nil && (a.write.first == nil || a.write.token != nil && !a.write.inSet) {
		return refusal.NoSuch(a.write.t, a.write.key)
	}
	if a.write.scoped && a.write.scope != document.DefaultScope {
		if err := a.batch.knowsEnvironment(a.write.scope); err != nil {
			return err
		}
	}
	if a.existed && !a.write.onlyFirst {
		a.last = a.file.Last.SHA
	}
	if a.exists && !a.write.onlyFirst {
		if err := a.read(); err != nil {
			return err
		}
	}
	switch {
	case a.write.prepare != nil:
		return a.write.prepare(ctx, a)
	case a.base != nil:
		return nil
	}
	var err error
	a.base, err = a.write.first()
	return editFault(err)
}

// read decodes what the edit begins with.
func (a *attempt) read() error {
	if a.previous != nil {
		a.base = a.previous.tree()
	} else {
		a.stored = a.file.Decode()
		a.base = a.stored.Tree
	}
	if a.base.Kind != jsontree.Object && !a.write.acceptsInvalid {
		return refusal.NotAnObject(a.write.t, a.write.key, a.found())
	}
	return a.batch.charge(a.base)
}

// found is what the edit begins with.
func (a *attempt) found() *workspace.Decoded {
	if a.previous != nil {
		return workspace.Decode(a.path, a.previous.text())
	}
	return a.stored
}

// creates says whether the write makes a document where there is none.
func (a *attempt) creates() bool { return a.write.onlyFirst || !a.exists }

// permit answers 403: for what the write touches, and for what the new document
// uses beyond itself. So the document is made here; what is wrong with it is
// said in its turn.
func (a *attempt) permit(context.Context) error {
	a.edited, a.problem = a.write.edit(a)
	a.keepSecrets()
	touches := a.write.touches
	if touches == nil {
		touches = touchesDifference
	}
	why := ""
	if tiers := a.batch.tiersOver(a.path); len(tiers) > 0 {
		why = fmt.Sprintf("the %s decides what is served of whatever names it, and is edited by who may edit that: ", a.write.t.Noun())
	}
	if err := a.batch.session.authorize(why, touches(a)); err != nil {
		return err
	}
	if a.problem != nil || !a.changed() || a.edited.Tree == nil || a.write.t == Schema {
		return nil
	}
	return a.permitUses()
}

// authorize refuses a write that the principal's roles do not allow. What comes
// before the sentence that says so is given.
func (s *Session) authorize(before string, write access.Write) error {
	denial := access.Authorize(s.caller.entry.Principal.EffectiveRoles(), write)
	if denial == nil {
		return nil
	}
	return fault.New(fault.Forbidden, "%s%s", before, denial.Message()).
		With(map[string]any{"code": refusal.CodePermission, "required": string(denial.Required)})
}

// change answers 400 for a request that the stored document does not allow.
func (a *attempt) change(ctx context.Context) error {
	if a.problem != nil {
		return editFault(a.problem)
	}
	return a.keepBucketingProperty(ctx)
}

func (a *attempt) changed() bool { return a.edited.Changed }

// before is the document as the write found it, nil when there was none.
func (a *attempt) before() *jsontree.Node {
	if a.creates() {
		return nil
	}
	return a.base
}

// original is the document as it was before the batch, nil when there was none.
func (a *attempt) original() *jsontree.Node {
	switch {
	case !a.existed:
		return nil
	case a.previous == nil && a.exists && a.base != nil:
		return a.base
	}
	before := a.file.Decode().Tree
	if a.batch.request.DryRun && a.secrets.guesses {
		return document.WithOtherSecrets(before, "", a.tree())
	}
	return before
}

// tree is the new document, nil for none.
func (a *attempt) tree() *jsontree.Node {
	if a.gone || a.edited.Tree != nil {
		return a.edited.Tree
	}
	return workspace.Decode(a.path, a.encoded).Tree
}

// text is the new document as it is stored, nil for none.
func (a *attempt) text() []byte {
	switch {
	case a.gone:
		return nil
	case a.encoded != nil:
	case a.edited.Text != nil:
		a.encoded = a.edited.Text
	default:
		a.encoded = document.Encode(a.edited.Tree)
	}
	return a.encoded
}

// preview is what a dry run's answer has in addition.
func (o *outcome) preview() Preview {
	if !o.attempt.batch.request.DryRun {
		return Preview{}
	}
	return Preview{DryRun: true, Document: o.attempt.edited.Tree, Messages: o.attempt.messages, Impact: o.attempt.batch.impact}
}

// item is a tree in the place that the write is about. It has no text: nothing
// that is asked of it is told by line.
func (a *attempt) item(tree *jsontree.Node) workspace.Item {
	return workspace.Item{Path: a.path, Key: a.write.key, View: document.View(tree), Tree: tree}
}

// editFault turns an edit's refusal into an answer.
func editFault(err error) error {
	var request *edit.RequestError
	var stored *edit.StoredError
	switch {
	case errors.As(err, &request):
		return refusal.Malformed(request.Issues...)
	case errors.As(err, &stored):
		return fault.New(fault.Unprocessable, "%s", stored.Error()).With(map[string]any{"issues": stored.Issues})
	}
	return err
}
