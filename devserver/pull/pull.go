package pull

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// Options are how a pull goes about it.
type Options struct {
	// Force overwrites local changes.
	Force bool
	// Progress hears how far it has come.
	Progress func(done, total int)
}

// Plan is what a pull will do, paths in order.
type Plan struct {
	Write, Remove []string
	Same          int
	// Changed are the files that were changed here and differ from the
	// workspace. Without Force nothing is done when there are any.
	Changed []Change
	// OnlyHere are files of the layout that the workspace does not have and
	// that were never pulled. They stay.
	OnlyHere []string
	// Schemas are JSON Schemas that configs name and that are not here.
	Schemas []string
	// Problems are what svc verify objects to in what is pulled, and what is
	// wrong with other files of the directory. They stand in nobody's way.
	Problems []workspace.Problem
	// Rebuilt says that segments were made from their detail.
	Rebuilt bool

	dir     string
	in      directory // dir, while something is done with it
	content map[string][]byte
	next    state
	last    map[string]entry
}

// Change is a file that was changed here.
type Change struct{ Path, How string }

// Another says that a directory was pulled from another workspace.
type Another struct{ Was, Is string }

func (a *Another) Error() string {
	return fmt.Sprintf("the directory was pulled from the workspace %s, and the key is one of the workspace %s; name another directory with --datadir, or overwrite this one with --force", a.Was, a.Is)
}

// NewPlan reads the workspace and compares it with a directory, which need not
// exist. It writes nothing, and its errors begin with that.
func NewPlan(ctx context.Context, api *remote.Client, dir string, o Options) (*Plan, error) {
	p, err := newPlan(ctx, api, dir, o)
	if err != nil {
		return nil, fmt.Errorf("nothing written: %w", err)
	}
	return p, nil
}

func newPlan(ctx context.Context, api *remote.Client, dir string, o Options) (*Plan, error) {
	var who struct{ WorkspaceID string }
	if err := api.Read(ctx, "/whoami", nil, &who); err != nil {
		return nil, err
	}
	if who.WorkspaceID == "" {
		return nil, remote.NoAnswer("/whoami", "it names no workspace")
	}
	in, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	defer in.close()
	last, err := readState(in)
	if err != nil {
		return nil, err
	}
	if last.WorkspaceID != "" && last.WorkspaceID != who.WorkspaceID {
		if !o.Force {
			return nil, &Another{last.WorkspaceID, who.WorkspaceID}
		}
		last.Files = map[string]entry{}
	}
	p := &Plan{dir: dir, in: in, content: map[string][]byte{}, next: state{who.WorkspaceID, map[string]entry{}}, last: last.Files}
	f := &fetcher{api: api, progress: o.Progress, unchanged: func(path, commit string) bool {
		was, pulled := last.Files[path]
		return pulled && commit != "" && was.CommitSHA == commit && p.holds(path, was.SHA256)
	}}
	if f.progress == nil {
		f.progress = func(int, int) {}
	}
	if err := f.fetch(ctx); err != nil {
		return nil, err
	}
	return p, p.compare(f.files, last, o.Force)
}

// holds says whether a file has a content of that sum, which can be what the
// workspace holds: an earlier version wrote whatever came.
func (p *Plan) holds(path, sha string) bool {
	local, err := p.in.read(path)
	if err != nil || local == nil || sum(local) != sha {
		return false
	}
	tree, err := jsontree.Parse(local)
	if err != nil || len(fatal(map[string][]byte{path: local})) > 0 {
		return false
	}
	_, key, _ := workspace.SplitPath(path)
	said, _ := tree.Get("key").Text()
	return said == key
}

func (p *Plan) compare(files map[string]file, last state, force bool) error {
	if err := p.obstacles(files, last); err != nil {
		return err
	}
	trees, err := p.trees(files)
	if err != nil {
		return err
	}
	declare(files[workspace.File].tree, trees)
	p.keepOthers(files[workspace.File].tree)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := p.compareFile(path, files[path], last, force); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(last.Files)) {
		if _, there := files[path]; !there {
			if err := p.gone(path, last.Files[path], force); err != nil {
				return err
			}
		}
	}
	p.findOnlyHere(files, last)
	p.findSchemas(trees)
	if len(p.Changed) > 0 && !force {
		return nil // nothing will be written
	}
	return p.check(files)
}

func (p *Plan) compareFile(path string, f file, last state, force bool) error {
	was, pulled := last.Files[path]
	if f.tree == nil {
		p.Same++
		p.next.Files[path] = was
		return nil
	}
	if f.part && path != workspace.File {
		p.Rebuilt = true
	}
	local, err := p.in.read(path)
	changed := ""
	switch {
	case errors.Is(err, errIrregular):
		changed = "is a link or no file"
	case err != nil:
		return err
	case local == nil && pulled:
		changed = "was deleted here"
	case local == nil:
	case f.says(local):
		p.Same++
		p.next.Files[path] = entry{f.commit, sum(local)}
		return nil
	case !pulled:
		changed = "is here and was not pulled"
	case sum(local) != was.SHA256:
		changed = "was changed here"
	}
	if changed != "" {
		p.Changed = append(p.Changed, Change{path, changed})
	}
	if changed == "" || force {
		p.Write = append(p.Write, path)
		p.content[path] = document.Encode(f.tree)
		p.next.Files[path] = entry{f.commit, sum(p.content[path])}
	}
	return nil
}

// says whether a local file says what the workspace does, in whatever layout.
func (f file) says(local []byte) bool {
	tree, err := jsontree.Parse(local)
	if err != nil {
		return false
	}
	if !f.part {
		return jsontree.Equal(tree, f.tree)
	}
	if f.tree.Get("environments") != nil {
		return sameEnvironments(tree, f.tree)
	}
	for _, member := range []string{"key", "type", "valueType", "name", "description", "default"} {
		a, b := tree.Get(member), f.tree.Get(member)
		if (a == nil) != (b == nil) || a != nil && !jsontree.Equal(a, b) {
			return false
		}
	}
	return true
}

// gone is a file that was pulled and that the workspace has no more.
func (p *Plan) gone(path string, was entry, force bool) error {
	local, err := p.in.read(path)
	if err != nil && !errors.Is(err, errIrregular) {
		return err
	}
	if local == nil && err == nil {
		return nil
	}
	if err != nil || sum(local) != was.SHA256 {
		p.Changed = append(p.Changed, Change{path, "was changed here, and deleted in the workspace"})
		if !force {
			return nil
		}
	}
	p.Remove = append(p.Remove, path)
	return nil
}

// Apply does what is planned. What it has done when it fails is remembered.
func (p *Plan) Apply(ctx context.Context) error {
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return err
	}
	var err error
	if p.in, err = openDirectory(p.dir); err != nil {
		return err
	}
	defer p.in.close()
	for i, path := range p.Write {
		err := ctx.Err()
		if err == nil {
			err = p.in.replace(path, p.content[path])
		}
		if err != nil {
			for _, undone := range p.Write[i:] {
				delete(p.next.Files, undone)
				if was, pulled := p.last[undone]; pulled {
					p.next.Files[undone] = was
				}
			}
			return errors.Join(err, p.next.write(p.in))
		}
	}
	var failed error
	for _, path := range p.Remove {
		if err := p.in.root.Remove(filepath.FromSlash(path)); !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return errors.Join(failed, p.next.write(p.in))
}
