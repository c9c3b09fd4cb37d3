package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
)

// proposal is a change set that was tried out.
type proposal struct {
	id string
	// body is the change set, each of whose operations carries the commit that it was
	// judged at.
	body []byte
	key  string // its Idempotency-Key
}

// How many proposals are kept, and how many bytes of them: the last ones.
const (
	maxProposals     = 64
	maxProposalBytes = 32 << 20
)

// proposals are the last ones of a client.
type proposals struct {
	lock sync.Mutex
	kept []proposal
}

func (p *proposals) keep(body []byte) proposal {
	made := proposal{id: "p-" + strings.ToLower(rand.Text()[:12]), body: body, key: rand.Text()}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.kept = append(p.kept, made)
	size := 0
	for i := len(p.kept) - 1; i >= 0; i-- {
		if size += len(p.kept[i].body); size > maxProposalBytes || len(p.kept)-i > maxProposals {
			p.kept = slices.Clone(p.kept[min(i+1, len(p.kept)-1):])
			break
		}
	}
	return made
}

func (s *server) proposeChange(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	operations := arguments.Get("operations")
	for i, o := range operations.Items {
		if pointer, found := hiddenAt(o.Get("document")); found {
			return answer{}, refuse(document.Issue{Pointer: fmt.Sprintf("/operations/%d/document%s", i, pointer),
				Message: "the confidential value that was hidden here would be overwritten: change this item with patch, or by hand"})
		}
	}
	return s.propose(ctx, operations.Items, arguments)
}

// propose tries operations out, and keeps them for apply_proposal.
func (s *server) propose(ctx context.Context, operations []*jsontree.Node, arguments *jsontree.Node) (answer, error) {
	set := object(taken(arguments, "message"), taken(arguments, "guard"), jsontree.Field("operations", jsontree.NewArray(operations...)))
	impact, said := arguments.Get("impact").Bool()
	would, err := s.API.Change(ctx, remote.ChangeSet{Body: set.Compact(), DryRun: true, Impact: impact || !said})
	if err != nil {
		return answer{}, err
	}
	tree := jsontree.NewObject()
	if would.Changed {
		for i, o := range operations {
			o = o.Clone()
			if operations[i] = o; text(o, "op") == "create" {
				continue // which is refused where there is one by then
			}
			o.Set("expectedCommitSha", jsontree.NewString(would.CommitSHA))
			if o.Delete("tag") { // what has it by then is something else
				keys := jsontree.NewArray()
				for _, r := range would.Results {
					if r.Index == i {
						keys.Items = append(keys.Items, jsontree.NewString(r.Key))
					}
				}
				o.Set("keys", keys)
			}
		}
		set.Set("operations", jsontree.NewArray(operations...))
		tree.Set("proposal", jsontree.NewString(s.proposals.keep(set.Compact()).id))
	}
	for _, m := range node(would).Members {
		tree.Set(m.Name, m.Value)
	}
	tree.Set("results", results(would))
	if would.Changed && len(would.ReviewRequired) > 0 {
		tree.Set("hint", jsontree.NewString("others have to approve this: apply_proposal with changeRequest, a title, sends it to them, without the guard, which is named by who applies it"))
	}
	if !would.Changed {
		tree.Set("hint", jsontree.NewString("everything is like this already: there is nothing to apply"))
	}
	return answer{tree: tree}, nil
}

// results are in words what came of operations.
func results(changed *remote.Changed) *jsontree.Node {
	rows := jsontree.NewArray()
	for _, r := range changed.Results {
		messages := jsontree.NewArray()
		for _, m := range r.Messages {
			messages.Items = append(messages.Items, jsontree.NewString(m.Message))
		}
		rows.Items = append(rows.Items, jsontree.NewObject(jsontree.Field("index", jsontree.NewInt(int64(r.Index))),
			jsontree.Field("type", jsontree.NewString(string(r.Type))), jsontree.Field("key", jsontree.NewString(r.Key)),
			jsontree.Field("changed", jsontree.NewBool(r.Changed)), jsontree.Field("messages", messages)))
	}
	return rows
}

// How far back a commit is looked for that is not named with its items.
const (
	maxPages  = 10
	pageLimit = "100"
)

func (s *server) proposeRevert(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	commit, mode := text(arguments, "commitSha"), arguments.Get("mode")
	if mode == nil {
		mode = jsontree.NewString("undo")
	}
	items := arguments.Get("items").Elements()
	if items == nil {
		var err error
		if items, err = s.touched(ctx, commit); err != nil {
			return answer{}, err
		}
	}
	var operations []*jsontree.Node
	for _, item := range items {
		operations = append(operations, jsontree.NewObject(jsontree.Field("op", jsontree.NewString("revert")),
			taken(item, "type"), taken(item, "key"), taken(arguments, "commitSha"), jsontree.Field("mode", mode)))
	}
	return s.propose(ctx, operations, arguments)
}

// touched are the items that a commit changed: entries of the activity feed.
func (s *server) touched(ctx context.Context, commit string) ([]*jsontree.Node, error) {
	var found []*jsontree.Node
	asked := url.Values{"limit": {pageLimit}}
	for range maxPages {
		feed, err := s.API.Tree(ctx, "/activity", asked)
		if err != nil {
			return nil, err
		}
		for _, entry := range feed.Get("activity").Elements() {
			is := strings.HasPrefix(text(entry, "sha"), commit) && (len(found) == 0 || text(entry, "sha") == text(found[0], "sha"))
			switch {
			case is && entry.Get("type").Absent():
				return nil, refuse(document.Issue{Pointer: "/commitSha", Message: "the commit changed more than 20 items, or the workspace itself: name the items, in items"})
			case is:
				found = append(found, entry)
			case len(found) > 0:
				return found, nil
			}
		}
		next, more := feed.Get("nextCursor").Text()
		if !more {
			break
		}
		asked.Set("cursor", next)
	}
	if len(found) == 0 {
		return nil, refuse(document.Issue{Pointer: "/commitSha", Message: "it is not among the last changes; list_changes has them. If it is older, name the items, in items"})
	}
	return found, nil
}

func (s *server) applyProposal(ctx context.Context, arguments *jsontree.Node) (answer, error) {
	id := text(arguments, "proposal")
	s.proposals.lock.Lock()
	kept := s.proposals.kept
	s.proposals.lock.Unlock()
	i := slices.IndexFunc(kept, func(p proposal) bool { return p.id == id })
	if i < 0 {
		return answer{}, &refusal{code: "NOT_FOUND", message: fmt.Sprintf("there is no proposal %s: propose_change and propose_revert make them, and the last %d are kept while this server runs", terminal.Quote(id), maxProposals)}
	}
	if title := text(arguments, "changeRequest"); title != "" {
		return s.request(ctx, title, kept[i])
	}
	changed, err := s.API.Change(ctx, remote.ChangeSet{Body: kept[i].body, Key: kept[i].key, Repeatable: true})
	if err != nil {
		return answer{}, err
	}
	tree := node(changed)
	tree.Set("results", results(changed))
	if changed.Changed {
		tree.Set("undo", jsontree.NewString("propose_revert with this commitSha"))
	}
	return answer{tree: tree}, nil
}

// request sends a proposal to those who approve it.
func (s *server) request(ctx context.Context, title string, p proposal) (answer, error) {
	set, err := jsontree.Parse(p.body)
	if err != nil {
		return answer{}, err
	}
	body := jsontree.NewObject(jsontree.Field("title", jsontree.NewString(title)), jsontree.Field("operations", set.Get("operations")))
	if message, said := set.Get("message").Text(); said {
		body.Set("description", jsontree.NewString(message))
	}
	made, err := s.API.WriteRequest(ctx, http.MethodPost, "", body.Compact(), p.key)
	if err != nil {
		return answer{}, err
	}
	return answer{tree: jsontree.NewObject(jsontree.Field("changeRequest", jsontree.NewString(made.ID)), jsontree.Field("state", jsontree.NewString(made.State)),
		jsontree.Field("hint", jsontree.NewString("nothing is changed yet: people approve it in the console or with svc request, and apply it then")))}, nil
}
