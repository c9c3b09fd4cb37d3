package control

import (
	"slices"
	"strings"
	"sync"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// room is what an instance remembers of a workspace.
type room struct {
	mu sync.Mutex
	// The views asked for last, the latest first: readers look at the head
	// while writers look at what is about to become it.
	view, other *view

	words wordCache
}

// at returns the view of a snapshot. One that is built holds the others up:
// whoever waits wants the same one, more often than not.
func (r *room) at(snapshot *repository.Snapshot) *view {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.view != nil && sameVersion(r.view.snapshot.Head, snapshot.Head):
	case r.other != nil && sameVersion(r.other.snapshot.Head, snapshot.Head):
		r.view, r.other = r.other, r.view
	default:
		r.view, r.other = newView(snapshot, r.view), r.view
	}
	return r.view
}

// sameVersion leaves the access version out of account.
func sameVersion(a, b repository.Head) bool {
	return a.Commit == b.Commit && a.Sequence == b.Sequence
}

// view is a snapshot decoded. It does not change.
type view struct {
	snapshot *repository.Snapshot
	read     []*content // of the snapshot's files, in their order
	// ws holds every document that is a JSON object, and every schema.
	ws     *workspace.Workspace
	scopes access.Environments
	// guardedReferences: lookups need the permission to edit what is protected.
	guardedReferences bool
	rows              rows

	// What is served in the place of what is broken takes questions to the
	// repository, so it is found out by who needs it first.
	asking  sync.Mutex
	found   []Broken // nil: not asked yet
	served  *workspace.Workspace
	earlier map[string]Broken // by path: what the view before had found
}

// content is a file decoded, under any path that keeps its name.
type content struct {
	// part is a workspace of this file alone.
	part *workspace.Workspace
	// item is the document, nil when the file is none or no JSON object.
	item *workspace.Item
	// tree is the file as JSON; for a text that is none, a string that only
	// an equal text has.
	tree     *jsontree.Node
	problems []workspace.Problem
	// misleading is what nobody should serve though it can be read; see
	// workspace.Unservable.
	misleading []workspace.Problem
	looked     sync.Once // for what is misleading
}

func read(path string, text []byte) *content {
	part, problems := workspace.Read(map[string][]byte{path: text})
	c := &content{part: part, problems: problems, tree: jsontree.NewString(blobID(text))}
	switch {
	case len(part.Items) == 1:
		c.tree = part.Items[0].Tree
		if c.tree.Kind == jsontree.Object {
			c.item = &part.Items[0]
		}
	case len(part.Schemas) == 1:
		c.tree = part.Schemas[0].Tree
	case part.Declaration.Tree != nil:
		c.tree = part.Declaration.Tree
	}
	return c
}

// newView decodes the files that an earlier view does not hold already.
func newView(snapshot *repository.Snapshot, earlier *view) *view {
	v := &view{snapshot: snapshot, read: make([]*content, len(snapshot.Files))}
	at := 0
	for i := range snapshot.Files {
		f := &snapshot.Files[i]
		v.read[i], at = earlier.same(f, at)
		if v.read[i] == nil {
			v.read[i] = read(f.Path, f.Text)
		}
	}
	v.assemble()
	v.rows = v.newRows()
	v.earlier = earlier.findings()
	return v
}

// findings are what is known of broken files, by path.
func (v *view) findings() map[string]Broken {
	if v == nil {
		return nil
	}
	v.asking.Lock()
	defer v.asking.Unlock()
	if v.found == nil {
		return v.earlier
	}
	known := make(map[string]Broken, len(v.found))
	for _, b := range v.found {
		known[b.File.Path] = b
	}
	return known
}

// same returns what is known of a file's content. The search goes on where it
// ended for the file before, as both lists are in order.
func (v *view) same(f *repository.File, at int) (*content, int) {
	if v == nil {
		return nil, at
	}
	files := v.snapshot.Files
	for at < len(files) && files[at].Path < f.Path {
		at++
	}
	if at < len(files) && files[at].Path == f.Path && files[at].Blob == f.Blob {
		return v.read[at], at
	}
	return nil, at
}

func (v *view) assemble() {
	v.ws = &workspace.Workspace{Items: make([]workspace.Item, 0, len(v.read))}
	sure := true
	for _, c := range v.read {
		if c.item != nil {
			v.ws.Items = append(v.ws.Items, *c.item)
		}
		v.ws.Schemas = append(v.ws.Schemas, c.part.Schemas...)
	}
	if c, found := v.at(workspace.File); found {
		v.ws.Declared, v.ws.Declaration = c.part.Declared, c.part.Declaration
		v.ws.Environments = slices.Clone(c.part.Environments)
		sure = len(c.problems) == 0
	}
	if !v.ws.Declared || !sure {
		v.guess()
	}
	v.guard(sure)
}

// guess adds the environments that documents name to those that are declared.
// What is declared can not be had in full: nothing is missing for that alone.
func (v *view) guess() {
	v.ws.Declared = false
	for _, e := range named(v.read) {
		if _, known := v.ws.Environment(e.Name); !known {
			v.ws.Environments = append(v.ws.Environments, e)
		}
	}
	workspace.SortEnvironments(v.ws.Environments)
}

// guard notes which environments are protected, and whether lookups are. Where
// the workspace file cannot be read in full, all are: nobody is let in by a
// slip in it.
func (v *view) guard(sure bool) {
	v.scopes = access.Environments{}
	v.guardedReferences = !sure || v.ws.GuardedReferences()
	if !sure {
		v.scopes[""] = true // so that undeclared ones are too
	}
	for i := range v.ws.Environments {
		e := &v.ws.Environments[i]
		e.Protected = e.Protected || !sure
		v.scopes[e.Name] = e.Protected
	}
}

// named are the environments that documents have entries for, in the order and
// of the type that a workspace file which declares them would give them.
func named(read []*content) []workspace.Environment {
	list := jsontree.NewArray()
	seen := map[string]bool{}
	for _, c := range read {
		if c.item == nil {
			continue
		}
		for _, e := range c.part.Environments {
			if !seen[e.Name] {
				seen[e.Name] = true
				list.Items = append(list.Items, jsontree.NewString(e.Name))
			}
		}
	}
	declaration := jsontree.NewObject(jsontree.Field("environments", list))
	ws, _ := workspace.Read(map[string][]byte{workspace.File: declaration.Encode()})
	return ws.Environments
}

// at returns what stands at a path.
func (v *view) at(path string) (*content, bool) {
	i, found := slices.BinarySearchFunc(v.snapshot.Files, path, func(f repository.File, path string) int {
		return strings.Compare(f.Path, path)
	})
	if !found {
		return nil, false
	}
	return v.read[i], true
}

// placed is a document and the file it stands in.
type placed struct {
	*workspace.Item
	file *repository.File
}

// of lists the documents of a type that are JSON objects, by key.
func (v *view) of(t document.Type) []placed {
	folder := string(workspace.FolderOf(t)) + "/"
	files := v.snapshot.Files
	begin, _ := slices.BinarySearchFunc(files, folder, func(f repository.File, path string) int {
		return strings.Compare(f.Path, path)
	})
	var all []placed
	for i := begin; i < len(files) && strings.HasPrefix(files[i].Path, folder); i++ {
		if item := v.read[i].item; item != nil {
			all = append(all, placed{item, &files[i]})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// holder finds the document that holds a key, whatever its case and whether or
// not it can be read.
func (v *view) holder(key string) (t document.Type, held string, found bool) {
	for i := range v.snapshot.Files {
		folder, other, ok := workspace.SplitPath(v.snapshot.Files[i].Path)
		if !ok || !strings.EqualFold(other, key) {
			continue
		}
		if t, pooled := folder.Type(); pooled {
			return t, other, true
		}
	}
	return "", "", false
}

// active are the environments that flags have a status in.
func (v *view) active() []document.Active {
	var active []document.Active
	for _, e := range v.ws.Environments {
		if !e.Archived {
			active = append(active, document.Active{Name: e.Name, Production: e.Type == "production"})
		}
	}
	return active
}
