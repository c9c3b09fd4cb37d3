package served

import (
	"context"
	"slices"
	"sync/atomic"

	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// resolveEnvironments finds out which environments there are where the workspace file does not
// say: where it cannot be read in full, and where it is gone. Those that it declared
// last hold, and as many of them are protected: neither a slip in it nor its deletion
// opens what it protected. A workspace that never had one has the environments that
// its documents name. It is to be asked before anything else of a view.
//
// Files that nobody commits are their owner's, who may well do without the file.
func (h *Head) resolveEnvironments(ctx context.Context) error {
	v := h.View
	v.resolving.Lock()
	defer v.resolving.Unlock()
	if v.resolved.Load() {
		return nil
	}
	b := v.undeclared()
	if b.File.Blob == "" {
		if h.memory.files {
			v.resolved.Store(true)
			return nil
		}
		touched, err := h.repo.History(ctx, h.Snapshot.Head, repository.Page{Path: workspace.File, Limit: 1})
		if err != nil {
			return repository.Fault(err)
		}
		if len(touched) == 0 {
			v.resolved.Store(true)
			return nil
		}
		b.Since, b.File.Last = touched[0].SHA, &touched[0]
	}
	if !v.findings.find(b) {
		var kept atomic.Int64
		if err := b.seek(ctx, h.repo, h.Snapshot.Head, &kept, func(c *content) []workspace.Problem { return c.problems }); err != nil {
			return err
		}
	}
	v.declare(b)
	return nil
}

// undeclared is the workspace file of a view that does not know all environments.
func (v *View) undeclared() *Broken {
	for i := range v.snapshot.Files {
		if f := &v.snapshot.Files[i]; f.Path == workspace.File {
			return &Broken{File: f, Problems: v.read[i].problems, Since: f.Last.SHA}
		}
	}
	return &Broken{File: &repository.File{Path: workspace.File}, Problems: []workspace.Problem{{Severity: workspace.Fatal, File: workspace.File,
		Message: "the file is gone; bring it back, or put one in its place that declares the environments there are to be", Code: problem.UnreadableFile}}}
}

// declare has the environments of the workspace file as it last was good, or all of
// those that are known protected where it never was.
func (v *View) declare(b *Broken) {
	ws := *v.ws
	if v.declared = b; b.good != nil && b.good.declaration != nil {
		last := b.good.declaration
		ws.Declared, ws.Declaration, ws.Environments = true, last.Declaration, slices.Clone(last.Environments)
	} else {
		ws.Environments = slices.Clone(ws.Environments)
	}
	v.ws = &ws
	v.protect(ws.Declared)
	v.findings.add(*b)
	v.resolved.Store(true)
}

// declaredAs takes over what another view of the same workspace file has found.
func (v *View) declaredAs(other *View) {
	if v.resolved.Load() || !other.resolved.Load() {
		return
	}
	if b := other.declared; b == nil {
		v.resolved.Store(true)
	} else if b.File.Blob == v.undeclared().File.Blob {
		v.declare(b)
	}
}
