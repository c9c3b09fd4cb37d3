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
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/git"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
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
	// Omitted are files that the workspace has and cannot read, so that nobody can pull
	// them. What is here under their names stays.
	Omitted []string
	// LeftOut are files that the workspace has and this system cannot.
	LeftOut []string
	// OnlyHere are files of the layout that the workspace does not have and
	// that were never pulled. They stay.
	OnlyHere []string
	// Foreign reports whether what is noted of the last pull was written by somebody else
	// than this user on this machine. It decides nothing.
	Foreign bool
	// Problems are what svc verify objects to in what is pulled, and what is
	// wrong with other files of the directory. They stand in nobody's way.
	Problems []workspace.Problem

	dir     string
	local   datadir.State
	unread  map[string]string // why files of the layout cannot be read
	content map[string][]byte
	next    state
	last    state
	force   bool
}

// Change is a file that was changed here.
type Change struct{ Path, How string }

// NewPlan reads the workspace and compares it with a directory, which need not
// exist. It writes nothing, and its errors begin with that.
func NewPlan(ctx context.Context, api *remote.Client, dir string, o Options) (plan *Plan, err error) {
	defer func() {
		if err != nil {
			plan, err = nil, fmt.Errorf("nothing written: %w", err)
		}
	}()
	last, err := readState(dir)
	if err != nil {
		return nil, err
	}
	p := &Plan{dir: dir, unread: map[string]string{}, content: map[string][]byte{}, next: state{Files: map[string]entry{}}, Foreign: last.foreign, last: last, force: o.Force}
	if err := p.look(); err != nil {
		return nil, err
	}
	f := &fetcher{api: api, progress: o.Progress}
	if f.progress == nil {
		f.progress = func(int, int) {}
	}
	tag := last.Tag
	for path, was := range last.Files {
		if local, here := p.local.Files[path]; tag != "" && (!here || sum(local) != was.SHA256) {
			tag = "" // what differs is compared
		}
	}
	files, omitted, tag, err := f.fetch(ctx, tag)
	if err != nil {
		return nil, err
	}
	if files == nil { // nor is it another workspace, at the very same commit
		p.next, p.Same = last, len(last.Files)
		files = map[string]file{}
		for path := range last.Files {
			files[path] = file{}
		}
		p.findOnlyHere(files)
		return p, p.check(files)
	}
	p.next.Tag, p.next.CommitSHA, p.Omitted, p.LeftOut = tag, f.commit, omitted, f.leftOut
	if p.next.WorkspaceID, err = whose(ctx, api); err != nil {
		return nil, err
	}
	if last.WorkspaceID != "" && last.WorkspaceID != p.next.WorkspaceID {
		if !o.Force {
			return nil, fmt.Errorf("the directory was pulled from the workspace %s, and the key is one of the workspace %s; name another directory with --datadir, or overwrite this one with --force", last.WorkspaceID, p.next.WorkspaceID)
		}
		p.last.Files = map[string]entry{}
	}
	return p, p.compare(files)
}

// look reads the directory, which need not be there. A folder of it that cannot be read is
// an error: its files are not gone.
func (p *Plan) look() error {
	if _, err := git.Locate(p.dir); err != nil {
		return err
	}
	if _, err := os.Stat(p.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	p.local = datadir.Look(p.dir)
	for _, found := range p.local.Problems {
		_, read := p.local.Files[found.File]
		switch {
		case read:
		case isDocument(found.File) || found.File == workspace.File:
			p.unread[found.File] = found.Message
		case found.Severity == workspace.Fatal || found.Code == problem.LeftOut:
			return fmt.Errorf("%s: %s", found.File, found.Message)
		}
	}
	return nil
}

func isDocument(path string) bool {
	_, _, is := workspace.SplitPath(path)
	return is
}

// whose is the workspace of the key.
func whose(ctx context.Context, api *remote.Client) (string, error) {
	var who struct{ WorkspaceID string }
	if err := api.Read(ctx, "/whoami", nil, &who); err != nil {
		return "", err
	}
	if who.WorkspaceID == "" {
		return "", remote.NoAnswer("/whoami", "it names no workspace")
	}
	return who.WorkspaceID, nil
}

func (p *Plan) compare(files map[string]file) error {
	declare(files[workspace.File].tree, files)
	p.keepOthers(files[workspace.File].tree)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		p.compareFile(path, files[path])
	}
	for _, path := range slices.Sorted(maps.Keys(p.last.Files)) {
		if _, there := files[path]; there {
			continue
		}
		if slices.Contains(p.Omitted, path) {
			p.next.Files[path] = p.last.Files[path]
		} else {
			p.gone(path, p.last.Files[path])
		}
	}
	p.findOnlyHere(files)
	if len(p.Changed) > 0 && !p.force {
		return nil // nothing will be written
	}
	return p.check(files)
}

func (p *Plan) compareFile(path string, f file) {
	was, pulled := p.last.Files[path]
	local, here := p.local.Files[path]
	changed := ""
	info, err := os.Lstat(filepath.Join(p.dir, filepath.FromSlash(path)))
	switch {
	case err == nil && info.IsDir():
		changed = "is a folder: move it away"
	case p.unread[path] != "":
		changed = "cannot be read: " + p.unread[path]
	case !here && pulled:
		changed = "was deleted here"
	case !here:
	case f.says(path, local):
		p.Same++
		p.next.Files[path] = entry{f.commit, sum(local)}
		return
	case !pulled:
		changed = "is here and was not pulled"
	case sum(local) != was.SHA256:
		changed = "was changed here"
	}
	if changed != "" {
		p.Changed = append(p.Changed, Change{path, changed})
	}
	if changed == "" || p.force {
		p.Write = append(p.Write, path)
		p.content[path] = document.Encode(f.tree)
		p.next.Files[path] = entry{f.commit, sum(p.content[path])}
	}
}

// says reports whether a local file says what the workspace does, in whatever layout. The
// workspace stamps its address, as $schema, on documents that are sent to it.
func (f file) says(path string, local []byte) bool {
	tree, err := jsontree.Parse(local)
	switch t, _ := typeAt(path); {
	case err != nil:
		return false
	case path == workspace.File:
		return sameEnvironments(tree, f.tree)
	case t == workspace.SchemaType:
		return jsontree.Equal(tree, f.tree)
	}
	return document.SameDocument(tree, f.tree)
}

// gone is a file that was pulled and that the workspace has no more.
func (p *Plan) gone(path string, was entry) {
	local, here := p.local.Files[path]
	if !here && p.unread[path] == "" {
		return
	}
	changed := !here || sum(local) != was.SHA256
	if changed {
		p.Changed = append(p.Changed, Change{path, "was changed here, and deleted in the workspace"})
	}
	if !changed || p.force {
		p.Remove = append(p.Remove, path)
	}
}

// Apply does what is planned, all of it or nothing. Without Force each file still has to be
// as it was then, and what is noted of the last pull too. A file that nobody may write is
// not replaced, with Force neither.
func (p *Plan) Apply(ctx context.Context) error {
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return err
	}
	lock, err := datadir.Lock(ctx, p.dir)
	if err != nil {
		return fmt.Errorf("nothing written: %w", err)
	}
	defer lock.Close()
	noted, err := p.next.edit()
	if err == nil {
		var edits []datadir.Edit
		for _, path := range slices.Concat(p.Write, p.Remove) {
			edits = append(edits, datadir.Edit{Path: path, Was: p.local.Files[path], Content: p.content[path], Force: p.force})
		}
		noted.Was, noted.Force = p.last.text, p.force
		err = datadir.Write(ctx, p.dir, append(edits, noted))
	}
	if at := (*fs.PathError)(nil); errors.Is(err, datadir.ErrChanged) && errors.As(err, &at) {
		err = fmt.Errorf("%s has just been changed; run svc pull again", at.Path)
	}
	if err != nil {
		return fmt.Errorf("nothing written: %w", err)
	}
	return nil
}
