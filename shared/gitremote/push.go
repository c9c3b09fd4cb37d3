package gitremote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// tip is where a branch is, the zero id where there is none. ok is not whether it can be
// written.
func (x *exchange) tip(branch string) object.ID { return x.refs.References["refs/heads/"+branch] }

// push moves a branch from one commit to another, with a pack of the objects that are new.
func (r *Remote) push(x *exchange, branch string, from, to object.ID, packed []byte) error {
	request := packp.NewReferenceUpdateRequestFromCapabilities(x.refs.Capabilities)
	said := &beginning{}
	if x.refs.Capabilities.Supports(capability.Sideband64k) { // brings what hooks say
		if err := request.Capabilities.Set(capability.Sideband64k); err != nil {
			return err
		}
	}
	if !request.Capabilities.Supports(capability.ReportStatus) {
		return refuse("%s does not tell how a push ends (report-status): svc cannot push there", r.Address)
	}
	request.Commands = []*packp.Command{{Name: plumbing.NewBranchReferenceName(branch), Old: from, New: to}}
	request.Packfile = io.NopCloser(bytes.NewReader(packed))
	var text bytes.Buffer
	if err := request.Encode(&text); err != nil {
		return err
	}
	answer, err := x.ask(text.Bytes())
	if err != nil {
		return err
	}
	defer answer.Close()
	var from64k io.Reader = io.LimitReader(answer, maxAnswer)
	if request.Capabilities.Supports(capability.Sideband64k) {
		d := sideband.NewDemuxer(sideband.Sideband64k, from64k)
		d.Progress, from64k = said, d
	}
	report := packp.NewReportStatus()
	if err := report.Decode(from64k); err != nil {
		return fmt.Errorf("the remote does not say how the push ended: %w", err)
	}
	return refusedBy(report, said.String())
}

// refusedBy is why the server has not taken a push.
func refusedBy(report *packp.ReportStatus, said string) error {
	if report.UnpackStatus != "ok" {
		return fmt.Errorf("the remote could not store the push: %s%s", report.UnpackStatus, also(said))
	}
	for _, c := range report.CommandStatuses {
		switch {
		case c.Status == "ok":
		case strings.Contains(c.Status, "fetch first"), strings.Contains(c.Status, "failed to update ref"), strings.Contains(c.Status, "lock"):
			return fmt.Errorf("the branch moved at the same time: %s", c.Status) // the next try looks again
		default:
			return refuse("the remote refuses the push: %s%s. A protected branch has to let svc's key push to it", c.Status, also(said))
		}
	}
	return nil
}

func also(said string) string {
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}

// errUnrelated: a commit does not lead to another.
var errUnrelated = errors.New("the commit is not in the history")

// missing are the commits that head reaches and base does not, parents first. A base of zero
// is none.
func missing(ctx context.Context, read object.Read, head, base object.ID) ([]object.ID, error) {
	if head == base {
		return nil, nil
	}
	met := false
	order, merged, err := reach(ctx, read, head, func(id object.ID) bool {
		if id == base {
			met = true
		}
		return id == base
	})
	if err != nil {
		return nil, err
	}
	if !met && base != (object.ID{}) {
		return nil, errUnrelated
	}
	if merged && met { // a side of a merge may lead behind the base
		behind, _, err := reach(ctx, read, base, func(object.ID) bool { return false })
		if err != nil {
			return nil, err
		}
		known := map[object.ID]bool{}
		for _, id := range behind {
			known[id] = true
		}
		kept := order[:0]
		for _, id := range order {
			if !known[id] {
				kept = append(kept, id)
			}
		}
		order = kept
	}
	return order, nil
}

// reach lists what a commit reaches, parents first, up to where stop says so, and whether
// there is a merge among it.
func reach(ctx context.Context, read object.Read, head object.ID, stop func(object.ID) bool) (order []object.ID, merged bool, err error) {
	type step struct {
		id      object.ID
		parents []object.ID // that are still to be looked at
	}
	seen := map[object.ID]bool{}
	enter := func(open []step, id object.ID) ([]step, error) {
		if seen[id] || stop(id) {
			return open, nil
		}
		seen[id] = true
		c, err := object.ReadCommit(read, id)
		if err != nil {
			return open, err
		}
		merged = merged || len(c.Parents) > 1
		return append(open, step{id, c.Parents}), nil
	}
	open, err := enter(nil, head)
	for err == nil && len(open) > 0 {
		if err = ctx.Err(); err != nil {
			break
		}
		top := &open[len(open)-1]
		if len(top.parents) == 0 {
			order, open = append(order, top.id), open[:len(open)-1]
			continue
		}
		next := top.parents[0]
		top.parents = top.parents[1:]
		open, err = enter(open, next)
	}
	return order, merged, err
}

// gathering are objects that a push brings, each once.
type gathering struct {
	read    object.Read
	objects []pack.Object
	bytes   int
	sent    map[object.ID]bool
	check   bool // refuses what git fsck does, in what others have made
}

func newGathering(read object.Read) *gathering {
	return &gathering{read: read, sent: map[object.ID]bool{}}
}

func (g *gathering) add(kind object.Kind, id object.ID, content []byte) {
	if !g.sent[id] {
		g.sent[id] = true
		g.objects, g.bytes = append(g.objects, pack.Object{ID: id, Kind: kind, Content: content}), g.bytes+len(content)
	}
}

// commit adds a commit and what its tree has that its first parent's has not.
func (g *gathering) commit(id object.ID) error {
	content, err := object.ReadAs(g.read, id, object.CommitKind)
	if err != nil {
		return err
	}
	c, err := object.DecodeCommit(content)
	if err != nil {
		return err
	}
	if g.check {
		object.CheckCommit(content, func(what string) { err = refuse("commit %s: %s", id, what) })
		if err != nil {
			return err
		}
	}
	var before object.ID
	if len(c.Parents) > 0 {
		parent, err := object.ReadCommit(g.read, c.Parents[0])
		if err != nil {
			return err
		}
		before = parent.Tree
	}
	if err := g.tree(c.Tree, before, 0); err != nil {
		return fmt.Errorf("commit %s: %w", id, err)
	}
	g.add(object.CommitKind, id, content)
	return nil
}

const maxNested = 1000

// tree adds a tree and what another one in its place has not; zero is none.
func (g *gathering) tree(id, before object.ID, depth int) error {
	if id == before || g.sent[id] {
		return nil
	}
	if depth > maxNested {
		return fmt.Errorf("there are more than %d folders in one another", maxNested)
	}
	content, err := object.ReadAs(g.read, id, object.TreeKind)
	if err != nil {
		return err
	}
	entries, err := object.DecodeTree(content)
	if err != nil {
		return err
	}
	if g.check {
		object.CheckTree(content, func(name, what string) { err = refuse("%q: %s", name, what) })
		if err != nil {
			return err
		}
	}
	there := map[string]object.TreeEntry{}
	if before != (object.ID{}) {
		old, err := object.ReadTree(g.read, before)
		if err != nil {
			return err
		}
		for _, e := range old {
			there[e.Name] = e
		}
	}
	for _, e := range entries {
		old := there[e.Name]
		switch {
		case e.ID == old.ID || e.Mode == object.ModeSubmodule:
		case e.IsFolder():
			if !old.IsFolder() {
				old = object.TreeEntry{}
			}
			err = g.tree(e.ID, old.ID, depth+1)
		case !g.sent[e.ID]:
			var text []byte
			if text, err = object.ReadAs(g.read, e.ID, object.Blob); err == nil {
				g.add(object.Blob, e.ID, text)
			}
		}
		if err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	g.add(object.TreeKind, id, content)
	return nil
}

// pack is all of it.
func (g *gathering) pack() ([]byte, error) {
	p, err := pack.Encode(g.objects)
	if err != nil {
		return nil, err
	}
	return p.Bytes, nil
}
