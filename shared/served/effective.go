package served

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// Meta is what is served of a workspace but its documents.
type Meta struct {
	Workspace *workspace.Workspace // without items
	Versions  *versions.State
}

// Effective is the workspace as it is served: what is broken is as it last was
// good, or left out when it never was, and of two documents of one key the
// first counts.
func (h *Head) Effective(ctx context.Context) (*workspace.Workspace, error) {
	if h.effective == nil {
		broken, err := h.Broken(ctx)
		if err != nil {
			return nil, err
		}
		h.effective, _ = h.View.without(broken)
	}
	return h.effective, nil
}

// Meta is Effective without the documents. It is worked out once.
func (h *Head) Meta(ctx context.Context) (*Meta, error) {
	broken, err := h.Broken(ctx)
	if err != nil {
		return nil, err
	}
	h.View.asking.Lock()
	defer h.View.asking.Unlock()
	if h.View.meta == nil {
		h.effective, h.View.meta = h.View.metaOf(broken)
	}
	return h.View.meta, nil
}

// known is Meta for callers that must not ask the repository; nil where some file is
// broken and nobody has found out yet what it was.
func (v *View) known() *Meta {
	if !v.resolved.Load() {
		return nil
	}
	v.asking.Lock()
	defer v.asking.Unlock()
	if v.found == nil {
		found := v.unservable()
		for i := range found {
			if !v.findings.find(&found[i]) {
				return nil
			}
		}
		v.found = v.accounted(found)
	}
	if v.meta == nil {
		_, v.meta = v.metaOf(v.found)
	}
	return v.meta
}

// metaOf is a Meta, and what it is of.
func (v *View) metaOf(broken []Broken) (*workspace.Workspace, *Meta) {
	effective, state := v.without(broken)
	alone := *effective
	alone.Items = nil
	return effective, &Meta{&alone, state}
}

func (v *View) without(broken []Broken) (*workspace.Workspace, *versions.State) {
	effective := *v.ws
	effective.Items = make([]workspace.Stored, 0, len(v.ws.Items))
	changed := (*versions.State)(nil) // from what is readable, if it is not that
	state := func() *versions.State {
		if changed == nil {
			changed = v.readable.Clone()
		}
		return changed
	}
	taken := make(map[string]bool, len(v.ws.Items))
	for i, c := range v.read {
		f := &v.snapshot.Files[i]
		item := workspace.Stored{Path: f.Path, Key: c.key, Text: f.Text, Brief: c.brief}
		counted := c.servable()
		remove := func() {
			if counted {
				read := item.Read()
				state().Remove(read.Key, read.Tree, read.View)
			}
			counted = false
		}
		if at, isBroken := slices.BinarySearchFunc(broken, f.Path, func(b Broken, path string) int {
			return strings.Compare(b.File.Path, path)
		}); isBroken {
			remove()
			good := broken[at].good
			if good == nil {
				continue
			}
			c = good.content
			item.Key, item.Text, item.Brief = c.key, good.text, c.brief
		}
		if d := c.declaration; d != nil {
			effective.Declared, effective.Declaration, effective.Environments = true, d.Declaration, d.Environments
		}
		folded := strings.ToLower(c.key)
		switch {
		case !c.document:
		case taken[folded]:
			remove()
		default:
			taken[folded] = true
			effective.Items = append(effective.Items, item)
			if !counted {
				read := item.Read()
				state().Add(read.Key, read.Tree, read.View)
			}
		}
	}
	if changed == nil {
		return &effective, v.readable
	}
	return &effective, changed
}

// maxAsked is how many broken files a writer looks up the history of, so that all
// who deliver need not. Later writers on the instance know what it has found.
const maxAsked = 20

// VersionsOf are the versions at a snapshot that a commit on this head leads to, for the
// next head. The secret is the workspace's.
func (h *Head) VersionsOf(ctx context.Context, next *repository.Snapshot, secret []byte, now time.Time) string {
	if h.View.known() == nil && len(h.View.unservable()) <= maxAsked {
		_, _ = h.Broken(ctx) // without an answer nothing is told
	}
	v := h.memory.view(h.workspace, next)
	v.declaredAs(h.View) // no write changes the workspace file
	return v.storedVersions(versions.SaltOf(secret), now)
}

// BriefsOf are the briefs of a snapshot that a commit on this head leads to.
func (h *Head) BriefsOf(next *repository.Snapshot) []byte {
	return h.memory.view(h.workspace, next).briefs()
}

// Stored is what the writer of a snapshot tells of it, where no Service has written
// it: the versions for the head (see repository.Head), and the briefs for the
// snapshot (see repository.Draft). The secret is the workspace's.
func Stored(snapshot *repository.Snapshot, secret []byte, now time.Time) (versionsOf string, briefs []byte) {
	v := newView(snapshot, nil, false)
	if _, there := snapshot.File(workspace.File); !there {
		v.resolved.Store(true)
	}
	return v.storedVersions(versions.SaltOf(secret), now), v.briefs()
}

// storedVersions cost no request: where they cannot be told without one, there are
// none beside their salt, and delivery reads the documents until a writer has stored
// them.
func (v *View) storedVersions(salt versions.Salt, now time.Time) string {
	known := v.known()
	if known == nil {
		return versions.Stored(&versions.State{}, salt, nil, now.UnixMilli())
	}
	return versions.Stored(known.Versions, salt, known.Workspace.Active(), now.UnixMilli())
}

// Past is what was served at a snapshot of the history: a document that could not be
// served then is missing. It says about how many bytes that takes.
func Past(snapshot *repository.Snapshot) (*workspace.Workspace, int64) {
	v := newView(snapshot, nil, false)
	ws, _ := v.without(v.unservable())
	return ws, snapshot.Size() + contentBytes*int64(len(snapshot.Files))
}
