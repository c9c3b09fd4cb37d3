package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// maxCharged is how many bytes of documents the writes of a request may decode
// and make, each time that they do: some seconds of what a function has of a
// processor.
const maxCharged = 32 << 20

// What writes are charged beside the documents.
const (
	schemaCharge = 64 << 10  // to compile it
	searchCharge = 128 << 10 // to look for a tag
)

// maxLookedUp is how many writes of a request may read from the history, which takes
// some requests to the store each.
const maxLookedUp = 500

// lookUp counts a write that reads from the history.
func (b *batch) lookUp() error {
	if b.lookedUp++; b.lookedUp <= maxLookedUp {
		return nil
	}
	return fault.New(fault.PayloadTooLarge,
		"%d operations need the history of their items before this one, which is the most for one request; send them in several", maxLookedUp)
}

// charge counts a document that a write decodes or makes.
func (b *batch) charge(tree *jsontree.Node) error {
	if tree == nil {
		return nil
	}
	return b.chargeBytes(min(tree.EncodedSize(), document.MaxSize)) // without white space where it is larger
}

func (b *batch) chargeBytes(n int) error {
	if b.charged += n; b.charged <= maxCharged {
		return nil
	}
	return fault.New(fault.PayloadTooLarge,
		"the operations up to this one read and write more than %d MiB of documents, which is the most for one request; send them in several", maxCharged>>20)
}

// knowsEnvironment answers 404 for an environment that the workspace does not
// have. Where none are declared, those count that documents of the batch name.
func (b *batch) knowsEnvironment(name string) error {
	if e, known := b.head.View.Workspace().Environment(name); known && !e.Archived {
		return nil
	}
	if b.named[name] {
		return nil
	}
	return refusal.NoEnvironment(name)
}

// tierAt is the tier of the document at a path, as the batch has it by now.
func (b *batch) tierAt(path string) (tier access.Tier, found bool) {
	if tier, known := b.tiers[path]; known {
		return tier, true
	}
	file, found := b.head.Snapshot.File(path)
	if found = found && b.byPath[path] == nil; !found {
		return "", false
	}
	b.tiers[path] = tierOf(file.Decode().Tree)
	return b.tiers[path], true
}

// usersOf are the paths of what names a schema, a segment or a flag, as the batch has it
// by now. The stored ones are looked for once, for all that it writes.
func (b *batch) usersOf(shared string) []string {
	if b.users == nil {
		b.users = map[string][]workspace.Reference{}
		ws := b.head.View.Workspace()
		for fresh := workspace.SegmentsOver(ws, b.shared...); len(fresh) > 0; {
			found := workspace.References(ws, fresh...)
			fresh = nil
			maps.Copy(b.users, found)
			for _, by := range slices.Concat(slices.Collect(maps.Values(found))...) {
				path := workspace.Path(by.Type, by.Key)
				if by.Type == document.Flag && ws.Prerequisites() && b.users[path] == nil && !slices.Contains(fresh, path) {
					b.users[path] = []workspace.Reference{}
					fresh = append(fresh, path)
				}
			}
		}
	}
	var users []string
	for _, r := range b.users[shared] {
		if path := workspace.Path(r.Type, r.Key); b.byPath[path] == nil {
			users = append(users, path)
		}
	}
	for path, a := range b.byPath {
		if !a.gone && slices.Contains(a.shares, shared) {
			users = append(users, path)
		}
	}
	return users
}

// holder finds what holds a key of a type, as the batch has it by now.
func (b *batch) holder(of document.Type, key string) (t document.Type, held string, found bool) {
	for _, a := range b.byPath {
		if !a.gone && strings.EqualFold(a.write.key, key) && (a.write.t == workspace.SchemaType) == (of == workspace.SchemaType) {
			return a.write.t, a.write.key, true
		}
	}
	return b.head.View.Holder(of, key, func(path string) bool { return b.byPath[path] != nil })
}

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
	// restores: the write brings back what was stored, or deletes; copies: its values are
	// stored elsewhere in the document. The others set values of their own.
	restores, copies bool
	// stops: it has everybody served one value of its own, and resumes takes that away.
	stops, resumes bool
	// undoes is what has been read of the commit that it takes back; nil for other writes.
	undoes *reversion
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
	// sent is the write as another process can make it again; nil where none can.
	sent *sent
	// parts are the writes that it stands for, if it is none itself.
	parts func(ctx context.Context, b *batch) ([]write, error)
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
	own     ownValues
	scopes  []string
	touched int

	exists bool
	base   *jsontree.Node // what the edit begins with, nil for nothing
	edited *edit.Edited
	// problem is why the edit cannot be done.
	problem error
	// lookups are warnings of what reads the environment of applications.
	lookups  []document.Issue
	messages []activity.Message
	warnings []document.Issue
	// dependents are where others ask what the flag serves.
	dependents []reference

	encoded []byte // see text
}

// creates reports whether the write makes a document where there is none.
func (a *attempt) creates() bool { return a.write.onlyFirst || !a.exists }

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
	return a.file.Decode().Tree
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

// item is a tree in the place that the write is about. It has no text: nothing
// that is asked of it is told by line.
func (a *attempt) item(tree *jsontree.Node) workspace.Item {
	return workspace.Item{Path: a.path, Key: a.write.key, View: document.View(tree), Tree: tree}
}

// editFault turns an edit's refusal into an answer.
func editFault(err error) error {
	if request, ok := errors.AsType[*edit.RequestError](err); ok {
		return refusal.Malformed(request.Issues...)
	}
	if stored, ok := errors.AsType[*edit.StoredError](err); ok {
		return fault.New(fault.Unprocessable, "%s", stored.Error()).With(map[string]any{"issues": stored.Issues})
	}
	return err
}

// itemWarnings are what the new document will hardly do as it was meant.
func (a *attempt) itemWarnings() []document.Issue {
	if a.creates() && a.edited.Tree != nil {
		a.lookups = append(a.lookups, workspace.NameWarnings(a.write.key)...)
	}
	switch {
	case a.edited.Tree == nil || a.write.t == workspace.SchemaType:
		return a.lookups
	case a.write.scoped && a.write.t != document.LogLevel && a.edited.Changed:
		return append(a.lookups, a.scopeWarnings()...)
	case a.write.scoped:
		return a.lookups
	}
	return append(a.lookups, workspace.Warnings(&workspace.Item{View: document.View(a.edited.Tree), Tree: a.edited.Tree})...)
}

// scopeWarnings are what a write of a scope may not have been meant to do, and what keeps
// it from doing all that it was meant to.
func (a *attempt) scopeWarnings() (warnings []document.Issue) {
	scope := terminal.Quote(a.write.scope)
	if a.edited.NowPlain {
		warnings = append(warnings, document.Issue{Pointer: fallbackPointer(a.edited.Tree, a.write.scope),
			Message: "the value was encrypted or read from the environment of applications, and is plain now: everybody with a key can read it"})
	}
	warn := func(kind, format string, args ...any) {
		warnings = append(warnings, document.Issue{Kind: kind, Message: fmt.Sprintf(format, args...)})
	}
	if a.edited.Paused {
		warn("paused", "%s is paused: nobody is served this until it is resumed", scope)
	}
	if ended := a.edited.Ended; len(ended) > 0 {
		warn("ended", "this ended %s in %s", strings.Join(ended, " and "), scope)
	}
	if until := a.edited.Until; until != "" {
		warn("scheduled", "this holds in %s until %s", scope, until)
	}
	if out := a.edited.Outgoing(a.batch.now()); out != "" {
		warn("outgoing", "in %s %s", scope, out)
	}
	if a.edited.Detached {
		warn("detached", "%s keeps the rules that it had while it was paused, as rules of its own: these or the default rules have changed since it was paused", scope)
	}
	return warnings
}

// fallbackPointer leads to the value that a PATCH of a scope has set: to that of the default
// rules where it has none.
func fallbackPointer(tree *jsontree.Node, scope string) string {
	holder, pointer := document.StoredScope(tree, scope)
	if holder == nil {
		holder, pointer = document.StoredScope(tree, document.DefaultScope)
	}
	return fmt.Sprintf("%s/rules/%d/value", pointer, len(document.StoredRules(holder))-1)
}
