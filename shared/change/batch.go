package change

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/workspace"
)

// batch is what the writes of a request have made by now of the workspace at a head. A
// write that is refused leaves nothing behind, and those after it are judged all the same.
type batch struct {
	service *Service
	state   *State
	head    *served.Head
	dryRun  bool
	plan    *plan // in the making
	alone   bool  // its one write is all of the request

	// byPath is the last attempt that changed what stands at a path, and last the
	// last one of all: the only one whose documents are kept decoded.
	byPath map[string]*attempt
	last   *attempt
	splits map[string]string      // properties that rollouts of the batch went by, see splitName
	tiers  map[string]access.Tier // of documents that others were asked about, by path
	// shared are the paths of the schemas and segments that are written, and of flags where
	// others may ask for them; users is what names these and the segments and flags over them.
	shared []string
	users  map[string][]workspace.Reference
	// named are environments that documents of the batch have entries for, where
	// the workspace declares none.
	named map[string]bool
	// checked bounds what all values take that are held against schemas.
	checked  document.Allowance
	charged  int // bytes
	lookedUp int // writes
	related  int // documents of the past that others were resumed beside
	// sequences are those of commits that tokens name, once they were asked for.
	sequences map[string]int64
	// after is the workspace as it would be.
	after *workspace.Workspace
	// files are the stored documents as a dry run has them, by path.
	files map[string]repository.File
}

// decide goes through the writes, and then asks what the workspace says to what
// they lead to.
func (b *batch) decide(ctx context.Context, writes []write) {
	for _, w := range writes {
		if w.t == workspace.SchemaType || w.t == document.Segment || w.t == document.Flag && b.head.View.Workspace().Prerequisites() {
			path, _ := workspace.PathOf(w.t, w.key)
			b.shared = append(b.shared, path)
		}
	}
	for i, w := range writes {
		parts := []write{w}
		if w.parts != nil && len(w.issues) == 0 {
			var err error
			if parts, err = w.parts(ctx, b); err != nil {
				b.plan.refuse(i, err)
				continue
			}
			if n := len(b.plan.attempts) + len(parts); n > MaxOperations {
				b.plan.refuse(i, fault.New(fault.Unprocessable, "the operations up to this one are about %d items; %d are the most for one request", n, MaxOperations))
				return // nobody looks any further
			}
		}
		for _, part := range parts {
			a := &attempt{batch: b, write: part, index: i}
			b.plan.attempts = append(b.plan.attempts, a)
			err := a.decide(ctx)
			if err != nil {
				b.plan.refuseItem(a, err)
			}
			if b.charged > maxCharged {
				return // nobody looks any further
			}
			a.record(err == nil && a.changed())
		}
	}
	for _, a := range b.byPath {
		if a.touched > 1 && (!a.existed && a.gone || a.existed && !a.gone && string(a.file.Text) == string(a.text())) {
			continue // it is as it was
		}
		b.plan.final = append(b.plan.final, a)
	}
	slices.SortFunc(b.plan.final, func(x, y *attempt) int {
		return cmp.Or(cmp.Compare(x.index, y.index), strings.Compare(x.path, y.path))
	})
	b.check()
}

// record notes what an attempt leaves behind. Of all but the last one the documents
// are kept as text alone, which takes a tenth.
func (a *attempt) record(changed bool) {
	if r := a.batch.last; r != nil && r.edited != nil {
		if a.batch.byPath[r.path] == r {
			r.text()
		}
		r.edited, r.base = &edit.Edited{Changed: r.edited.Changed}, nil
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
		if !a.batch.head.View.Workspace().Declared && a.write.t != workspace.SchemaType {
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

// splitName is the scope of a document, in the batch's splits.
func (a *attempt) splitName() string { return a.path + " " + a.write.scope }
