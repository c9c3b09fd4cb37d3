package control

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// outline is what is served of a workspace but its documents.
type outline struct {
	ws       *workspace.Workspace // without items
	versions *versions.State
}

// sound is the workspace as it is served: what is broken is as it last was
// good, or left out when it never was, and of two documents of one key the
// first counts.
func (o *opened) sound(ctx context.Context) (*workspace.Workspace, error) {
	if o.served == nil {
		broken, err := o.broken(ctx)
		if err != nil {
			return nil, err
		}
		o.served, _ = o.view.without(broken)
	}
	return o.served, nil
}

// outlined is sound without the documents. It is worked out once.
func (o *opened) outlined(ctx context.Context) (*outline, error) {
	broken, err := o.broken(ctx)
	if err != nil {
		return nil, err
	}
	o.view.asking.Lock()
	defer o.view.asking.Unlock()
	if o.view.outline == nil {
		o.served, o.view.outline = o.view.outlineOf(broken)
	}
	return o.view.outline, nil
}

// known is outlined for who must not ask the repository; nil where some file is
// broken and nobody has found out yet what it was.
func (v *view) known() *outline {
	if !v.settled.Load() {
		return nil
	}
	v.asking.Lock()
	defer v.asking.Unlock()
	if v.found == nil {
		found := v.suspects()
		for i := range found {
			if !v.remembers(&found[i]) {
				return nil
			}
		}
		v.found = v.weighed(found)
	}
	if v.outline == nil {
		_, v.outline = v.outlineOf(v.found)
	}
	return v.outline
}

// outlineOf is an outline, and what it is of.
func (v *view) outlineOf(broken []Broken) (*workspace.Workspace, *outline) {
	sound, state := v.without(broken)
	alone := *sound
	alone.Items = nil
	return sound, &outline{&alone, state}
}

func (v *view) without(broken []Broken) (*workspace.Workspace, *versions.State) {
	sound := *v.ws
	sound.Items = make([]workspace.Stored, 0, len(v.ws.Items))
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
			sound.Declared, sound.Declaration, sound.Environments = true, d.Declaration, d.Environments
		}
		folded := strings.ToLower(c.key)
		switch {
		case !c.document:
		case taken[folded]:
			remove()
		default:
			taken[folded] = true
			sound.Items = append(sound.Items, item)
			if !counted {
				read := item.Read()
				state().Add(read.Key, read.Tree, read.View)
			}
		}
	}
	if changed == nil {
		return &sound, v.readable
	}
	return &sound, changed
}

// maxAsked is how many broken files a writer looks up the history of, so that all
// who deliver need not. Later writers on the instance know what it has found.
const maxAsked = 20

// storedVersions are the versions at a snapshot that a commit leads to, for the
// head.
func (b *batch) storedVersions(ctx context.Context, next *repository.Snapshot) string {
	if b.view.known() == nil && len(b.view.suspects()) <= maxAsked {
		_, _ = b.broken(ctx) // without an answer nothing is told
	}
	v := b.service.view(b.entry.Workspace.ID, b.cache, next)
	v.declaredAs(b.view) // no write changes the workspace file
	return v.storedVersions(versions.SaltOf(b.entry.Workspace.Secret), b.service.settings.Now())
}

// storedBriefs are the briefs of a snapshot that a commit leads to.
func (b *batch) storedBriefs(_ context.Context, next *repository.Snapshot) []byte {
	return b.service.view(b.entry.Workspace.ID, b.cache, next).briefs()
}

// Stored is what the writer of a snapshot tells of it, where no Service has written
// it: the versions for the head (see repository.Head), and the briefs for the
// snapshot (see repository.Draft). The secret is the workspace's.
func Stored(snapshot *repository.Snapshot, secret []byte, now time.Time) (versionsOf string, briefs []byte) {
	v := newView(snapshot, nil, false)
	if _, there := snapshot.File(workspace.File); !there {
		v.settled.Store(true)
	}
	return v.storedVersions(versions.SaltOf(secret), now), v.briefs()
}

// storedVersions cost no request: where they cannot be told without one, there are
// none beside their salt, and whoever delivers reads the documents, until a writer
// has told them.
func (v *view) storedVersions(salt versions.Salt, now time.Time) string {
	known := v.known()
	if known == nil {
		return versions.Stored(&versions.State{}, salt, nil, now.UnixMilli())
	}
	return versions.Stored(known.versions, salt, known.ws.Active(), now.UnixMilli())
}
