package change

import (
	"context"
	"fmt"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/workspace"
)

// decide goes through those steps of a write that are its own, each of which can
// refuse it. What the workspace says to it is asked once for the batch.
func (a *attempt) decide(ctx context.Context) error {
	if len(a.write.issues) > 0 {
		return refusal.Malformed(a.write.issues...)
	}
	for _, step := range []func(context.Context) error{a.find, a.permit, a.checkToken, a.checkKeyAvailable, a.keepBucketingProperty} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	a.messages = []activity.Message{}
	if !a.changed() {
		if a.previous != nil { // whose document it would have written
			a.previous.own = a.own
		}
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
	a.file, a.existed = a.batch.stored(path)
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
		a.base = a.file.Decode().Tree
	}
	if a.base.Kind != jsontree.Object && !a.write.acceptsInvalid {
		found := a.file.Decode()
		if a.previous != nil {
			found = workspace.Decode(a.path, a.previous.text())
		}
		return refusal.NotAnObject(a.write.t, a.write.key, found)
	}
	return a.batch.charge(a.base)
}

// permit answers 403: for what the write touches, and for what the new document
// uses beyond itself. So the document is made here; what is wrong with it is
// said in its turn.
func (a *attempt) permit(context.Context) error {
	a.edited, a.problem = a.write.edit(a)
	a.noteValues()
	a.noteSecrets()
	touches := a.write.touches
	if touches == nil {
		touches = touchesDifference
	}
	why := ""
	if tiers := a.batch.tiersOver(a.path); len(tiers) > 0 {
		why = fmt.Sprintf("the %s decides what is served of whatever names it, and is edited by who may edit that: ", a.write.t.Noun())
	}
	if err := refusal.Forbidden(a.batch.state.Principal, why, touches(a)); err != nil {
		return err
	}
	if a.problem != nil || !a.changed() || a.edited.Tree == nil || a.write.t == workspace.SchemaType {
		return nil
	}
	return a.permitUses()
}
