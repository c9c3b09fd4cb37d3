package embedded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/gitremote"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// proposals are the change requests of a remote.
type proposals struct {
	store     request.Store
	workspace string
	registry  *access.Registry
	author    request.Person
}

// newProposals are those of a remote at an address. It is no principal: nobody has a key of it,
// and its id is always the same.
func newProposals(store request.Store, workspace string, registry *access.Registry, address string) *proposals {
	sum := sha256.Sum256([]byte(address))
	id, _ := access.NewID(bytes.NewReader(sum[:])) // which are enough
	author := request.Person{Type: access.PrincipalServiceAccount, ID: id, Name: "Remote " + terminal.Cut(address, 100)}
	return &proposals{store, workspace, registry.By(author.Name + " (" + string(id) + ")"), author}
}

func (p *proposals) Open(ctx context.Context, number int64) (bool, error) {
	r, err := p.store.Get(ctx, p.workspace, number)
	if errors.Is(err, request.ErrNotFound) {
		return false, nil
	}
	return err == nil && r.State == request.Open, err
}

// own is the remote's request that is open, by its number where that is known; nil for none.
func (p *proposals) own(ctx context.Context, number int64) (found *request.Request, err error) {
	if number != 0 {
		found, err := p.store.Get(ctx, p.workspace, number)
		if errors.Is(err, request.ErrNotFound) || err == nil && found.State != request.Open {
			return nil, gitremote.ErrDecided
		}
		return found, err
	}
	err = p.store.List(ctx, p.workspace, true, 0, func(r *request.Request) (bool, error) {
		if r.Author.ID == p.author.ID && r.State == request.Open {
			found = r
		}
		return found == nil, nil
	})
	if err != nil || found == nil {
		return nil, err
	}
	return p.store.Get(ctx, p.workspace, found.Number)
}

func (p *proposals) Propose(ctx context.Context, proposal gitremote.Proposal) (int64, error) {
	operations, err := operations(proposal.Items)
	if err != nil {
		return 0, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	r := request.Request{State: request.Open, Title: "Take what was committed at the remote", Author: p.author, CreatedAt: now, UpdatedAt: now, Operations: operations}
	said := strings.ReplaceAll(terminal.Escape(proposal.Author), "\n", " ")
	r.Description = terminal.Cut(fmt.Sprintf("Commit %s there names %s as its author. %s", proposal.Commit, terminal.Cut(said, 100), terminal.Escape(proposal.Why)), maxWhy) +
		".\n\nApply it to take what is there, and close it to keep what is here. Nothing is pushed until then."
	for _, item := range proposal.Items {
		r.Touched = append(r.Touched, item.Path)
	}
	slices.Sort(r.Touched)
	open, err := p.own(ctx, proposal.Request)
	action := access.RequestProposed
	switch {
	case err != nil:
		return 0, err
	case open == nil:
		err = p.store.Create(ctx, p.workspace, &r, nil)
	case open.Operations == operations:
		return open.Number, nil
	default:
		action, r.Number = access.RequestChanged, open.Number
		_, err = p.store.Update(ctx, p.workspace, open.Number, request.WasChanged, p.mark(), nil, func(now *request.Request) error {
			if now.State != request.Open {
				return gitremote.ErrDecided
			}
			if now.Begun != nil && now.BegunOperations == "" {
				now.BegunOperations = now.Operations
			}
			now.Operations, now.Touched, now.Parts, now.Description, now.UpdatedAt = r.Operations, r.Touched, nil, r.Description, r.UpdatedAt
			return nil
		})
	}
	if errors.Is(err, request.ErrTooLarge) {
		return 0, gitremote.ErrUnaskable
	}
	if err != nil {
		return 0, err
	}
	return r.Number, p.registry.Note(ctx, access.Change{Action: action, Subject: request.ID(r.Number), Name: r.Title})
}

const maxWhy = 4000 // characters

func (p *proposals) mark() request.Mark {
	return request.Mark{By: p.author, At: time.Now().UTC().Truncate(time.Second)}
}

// Withdraw leaves one alone that somebody has begun to apply, whose end tells what became of it.
func (p *proposals) Withdraw(ctx context.Context, number int64) error {
	mark := p.mark()
	r, err := p.store.Update(ctx, p.workspace, number, request.WasClosed, mark, nil, func(r *request.Request) error {
		if r.State != request.Open || r.Begun != nil {
			return request.ErrUnchanged
		}
		r.State, r.Ended, r.UpdatedAt = request.Closed, &mark, mark.At
		return nil
	})
	if errors.Is(err, request.ErrUnchanged) || errors.Is(err, request.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.registry.Note(ctx, access.Change{Action: access.RequestClosed, Subject: request.ID(number), Name: r.Title})
}

// operations are a change set that makes items what they are at the remote. What cannot be read
// stands in it as text, so that the request tells what is wrong with it.
func operations(items []gitremote.Proposed) (string, error) {
	list := jsontree.NewArray()
	for _, item := range items {
		folder, key, ok := workspace.SplitPath(item.Path)
		if !ok {
			return "", gitremote.ErrUnaskable
		}
		ours, theirs := read(item.Ours), read(item.Theirs)
		for _, tree := range []*jsontree.Node{ours, theirs} { // a request's operations are shown as they are
			secret := false
			document.EachSecret(tree, func(*jsontree.Node, string) { secret = true })
			if text, isText := tree.Text(); secret || isText && strings.Contains(strings.ToLower(text), "confidential") {
				return "", gitremote.ErrUnaskable
			}
		}
		t := folder.ItemType()
		add := func(op string, more ...jsontree.Member) {
			list.Items = append(list.Items, jsontree.NewObject(append([]jsontree.Member{jsontree.Field("op", jsontree.NewString(op)), jsontree.Field("type", jsontree.NewString(string(t)))}, more...)...))
		}
		named := jsontree.Field("key", jsontree.NewString(key))
		if item.Theirs == nil {
			add("delete", named)
			continue
		}
		if item.Ours == nil {
			switch {
			case t == document.LogLevel:
				add("patch", named, jsontree.Field("body", jsontree.NewObject(jsontree.Field("level", jsontree.NewString("INFO")))))
			case t == document.Segment:
				add("create", jsontree.Field("body", jsontree.NewObject(named)))
			case t != workspace.SchemaType:
				kind, _ := theirs.Get("valueType").Text()
				body := jsontree.NewObject(named, jsontree.Field("valueType", jsontree.NewString(kind)))
				if value := initial[document.ValueType(kind)]; value != nil {
					body.Set("value", value)
				}
				add("create", jsontree.Field("body", body))
			}
		}
		add("put", named, jsontree.Field("document", theirs))
	}
	if len(list.Items) > change.MaxOperations || list.EncodedSize() > request.MaxOperations {
		return "", gitremote.ErrUnaskable
	}
	return string(list.Compact()), nil
}

// initial are values that an item is created with, before it gets its document.
var initial = map[document.ValueType]*jsontree.Node{document.BoolValue: jsontree.NewBool(false), document.IntValue: jsontree.NewInt(0), document.DoubleValue: jsontree.NewDouble("0.5"),
	document.StringValue: jsontree.NewString(""), document.JSONValue: jsontree.NewObject(),
	document.StringListValue: jsontree.NewArray(), document.DurationValue: jsontree.NewString("PT0S")}

// read is a file's value; its text where it has none, and nil where there is no file.
func read(text []byte) *jsontree.Node {
	if text == nil {
		return nil
	}
	tree, err := jsontree.ParseWithin(text, document.MaxValues)
	if err != nil {
		return jsontree.NewString(strings.ToValidUTF8(string(text), "\uFFFD"))
	}
	return tree
}
