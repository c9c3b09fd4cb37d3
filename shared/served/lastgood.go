package served

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Broken is a file that cannot be served as it is at the head. Only git brings
// such a file: what the control plane writes is checked.
type Broken struct {
	File     *repository.File
	Problems []workspace.Problem
	// Since is the commit that broke it, the oldest known where that is too far
	// back; ServedFrom the last one with content that can be served, "" when
	// there is none.
	Since, ServedFrom string

	good *version
}

// version is a content that a file had earlier.
type version struct {
	*content
	text []byte
}

// Outcome says what becomes of the file.
func (b Broken) Outcome() string {
	what := "the file cannot be served"
	if b.File.Path == workspace.File {
		what = "the workspace file cannot be read"
		if b.File.Blob == "" {
			what = "the workspace file is gone"
		}
	}
	if folder, _, ok := workspace.SplitPath(b.File.Path); ok && folder == workspace.Schemas {
		return "the schema cannot be used; no values of the configs that name it can be written until it is repaired"
	}
	if b.ServedFrom == "" {
		return what + ", and was never good: it is left out"
	}
	return what + "; what is served is how it last was good"
}

// What is looked for in the history of broken files is bounded: how many of
// them, how far back, and how many bytes are kept.
const (
	maxSought   = 1000
	readers     = 8 // at a time
	maxVersions = 100
	maxGood     = 64 << 20
)

// Broken returns the files that cannot be served, by path, with what each was
// when it last could be. That is a question to the history, so that every
// instance finds the same, after a restart too.
//
// The view may be older than the snapshot: from before the commit landed, or before
// its history was replaced. So the head is that of the snapshot.
func (h *Head) Broken(ctx context.Context) ([]Broken, error) {
	v := h.View
	v.asking.Lock()
	defer v.asking.Unlock()
	if v.found != nil {
		return v.found, nil
	}
	found := v.unservable()
	if err := h.seek(ctx, found[:min(len(found), maxSought)], func(c *content) []workspace.Problem { return c.problems }); err != nil {
		return nil, err
	}
	v.found = v.accounted(found)
	return found, nil
}

// unservable are the files that cannot be served, before anybody has asked what
// they were.
func (v *View) unservable() []Broken {
	found := []Broken{}
	_, beyond := v.Expressions(func(string) bool { return false })
	for i, c := range v.read {
		if problems := slices.Concat(c.problems, beyond[i]); len(problems) > 0 {
			found = append(found, Broken{File: &v.snapshot.Files[i], Problems: problems, Since: v.snapshot.Files[i].Last.SHA})
		}
	}
	if v.resolved.Load() && v.declared != nil && v.declared.File.Blob == "" {
		found = append(found, *v.declared) // by its path it comes after all others
	}
	return found
}

// accounted keeps what was found of broken files, and counts it.
func (v *View) accounted(found []Broken) []Broken {
	for _, b := range found {
		v.findings.add(b)
		v.goodBytes.Add(contentBytes)
		if b.good != nil {
			v.goodBytes.Add(b.good.bytes + int64(len(b.good.text)))
		}
	}
	return found
}

// AllBroken is Broken with the schemas that can be read and do not compile, as
// svc verify has it, by path. Nothing is served of a schema, so that only who
// asks for this waits until all are compiled, which is done once for each.
func (h *Head) AllBroken(ctx context.Context) ([]Broken, error) {
	broken, err := h.Broken(ctx)
	if err != nil {
		return nil, err
	}
	v := h.View
	v.compiling.Lock()
	defer v.compiling.Unlock()
	if v.unusable == nil {
		found := []Broken{}
		for i, c := range v.read {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if problems := c.uncompilable(); len(problems) > 0 {
				found = append(found, Broken{File: &v.snapshot.Files[i], Problems: problems, Since: v.snapshot.Files[i].Last.SHA})
			}
		}
		wrong := func(c *content) []workspace.Problem { return slices.Concat(c.problems, c.uncompilable()) }
		if err := h.seek(ctx, found[:min(len(found), maxSought)], wrong); err != nil {
			return nil, err
		}
		v.unusable = v.accounted(found)
	}
	all := slices.Concat(broken, v.unusable)
	slices.SortStableFunc(all, func(a, b Broken) int { return strings.Compare(a.File.Path, b.File.Path) })
	return all, nil
}

// uncompilable is what is wrong with a schema that can be read.
func (c *content) uncompilable() []workspace.Problem {
	if c.schema == nil {
		return nil
	}
	return c.schema.Problems()
}

// seek looks for the last good version of files, several at a time. What an
// earlier view has found holds as long as the file is the same. wrong says what
// is wrong with a version.
func (h *Head) seek(ctx context.Context, broken []Broken, wrong func(*content) []workspace.Problem) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	var kept atomic.Int64
	for i := range broken {
		b := &broken[i]
		if h.View.findings.find(b) {
			continue
		}
		group.Go(func() error { return b.seek(ctx, h.repo, h.Snapshot.Head, &kept, wrong) })
	}
	return group.Wait()
}

// findings are what the broken files of a workspace last were, by path, as far as
// anybody has asked: they hold as long as the file is the same.
type findings struct {
	mu    sync.Mutex
	known map[string]Broken
}

// find takes over what is known of a file.
func (f *findings) find(b *Broken) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.known[b.File.Path]
	if !ok || known.File.Blob != b.File.Blob || known.File.Last.SHA != b.File.Last.SHA {
		return false
	}
	b.Since, b.ServedFrom, b.good = known.Since, known.ServedFrom, known.good
	return true
}

func (f *findings) add(b Broken) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[b.File.Path] = b
}

// keep forgets files that have another content in a snapshot.
func (f *findings) keep(snapshot *repository.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.known, func(path string, known Broken) bool {
		file, there := snapshot.File(path)
		return there && file.Blob != known.File.Blob || !there && known.File.Blob != ""
	})
}

// seek goes back through a file's history to the newest content that can be
// served. A document that was deleted meanwhile has none: it was gone on purpose.
func (b *Broken) seek(ctx context.Context, repo History, head repository.Head, kept *atomic.Int64, wrong func(*content) []workspace.Problem) error {
	commits, err := repo.History(ctx, head, repository.Page{Path: b.File.Path, Limit: maxVersions})
	if err != nil {
		return repository.Fault(err)
	}
	seen := map[string]bool{b.File.Blob: true}
	for _, c := range commits {
		touch, _ := c.Touch(b.File.Path)
		switch {
		case touch.Blob == "" && b.File.Path != workspace.File:
			return nil
		case seen[touch.Blob], touch.Blob == "": // broken in the same way
			b.Since = c.SHA
			continue
		}
		seen[touch.Blob] = true
		_, text, err := repo.At(ctx, head, b.File.Path, c.SHA)
		if errors.As(err, new(*workspace.Unread)) {
			b.Since = c.SHA
			continue
		}
		if err != nil {
			return repository.Fault(err)
		}
		good := &version{summary(workspace.Decode(b.File.Path, text), &repository.File{Path: b.File.Path, Text: text}, false), text}
		if len(wrong(good.content)) > 0 {
			b.Since = c.SHA
			continue
		}
		if kept.Add(int64(len(text))) <= maxGood {
			b.ServedFrom, b.good = c.SHA, good
		}
		return nil
	}
	return nil
}

// Expressions are the regular expressions of all documents but the exceptions,
// as far as there is room for them, and what is wrong with the documents that
// there is none for, by their place. Those that were touched last make way:
// nobody's push takes away what others are served.
func (v *View) Expressions(except func(path string) bool) (total expression.Total, beyond map[int][]workspace.Problem) {
	var places []int
	for i, c := range v.read {
		if !c.expressions.IsEmpty() && !except(v.snapshot.Files[i].Path) && len(c.problems) == 0 {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Compare(v.snapshot.Files[a].Last.Sequence, v.snapshot.Files[b].Last.Sequence)
	})
	beyond = map[int][]workspace.Problem{}
	for _, i := range places {
		if err := total.Add(v.read[i].expressions); err != nil {
			beyond[i] = []workspace.Problem{{Severity: workspace.Fatal, File: v.snapshot.Files[i].Path, Message: err.Error(), Code: problem.TooManyExpressions}}
		}
	}
	return total, beyond
}

// servable reports whether a file is a document that can be served as it is.
func (c *content) servable() bool { return c != nil && c.document && len(c.problems) == 0 }
