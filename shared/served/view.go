package served

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/brief"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// cache is what an instance remembers of a workspace.
type cache struct {
	listed bool // see New
	mu     sync.Mutex
	// The views asked for last, the latest first: readers look at the head
	// while writers look at what is about to become it.
	view, other *View
}

// at returns the view of a snapshot. All wait while one is built: most of them want
// that one.
func (r *cache) at(snapshot *repository.Snapshot) *View {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.view != nil && sameVersion(r.view.snapshot, snapshot):
	case r.other != nil && sameVersion(r.other.snapshot, snapshot):
		r.view, r.other = r.other, r.view
	default:
		r.view, r.other = newView(snapshot, r.view, r.listed), r.view
		if r.other != nil && r.view.unshared > r.view.texts/2 {
			r.other = nil // it was read twice, or nearly all of it was replaced
		}
	}
	return r.view
}

// bytes is about what the views take, with the texts of their snapshots: the
// repository counts those too, but may have forgotten them. What the views share is
// counted once.
func (r *cache) bytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := int64(cacheBytes)
	if r.view != nil {
		sum += r.view.bytes + r.view.goodBytes.Load() + r.view.texts
	}
	if r.other != nil {
		sum += contentBytes*int64(len(r.other.read)) + max(r.view.unshared, r.other.unshared)
	}
	return sum
}

// sameVersion leaves the access version out of account. What was lost may be
// back.
func sameVersion(a, b *repository.Snapshot) bool {
	return a.Head.Commit == b.Head.Commit && a.Head.Sequence == b.Head.Sequence && slices.Equal(a.Lost(), b.Lost())
}

// View is what is remembered of a snapshot's files. It does not change. No
// document is kept decoded, which would take some ten times its text: who needs
// one decodes it.
type View struct {
	// The rows of the lists, by key. All answers share them: nobody changes them.
	Flags     func() []FlagRow
	Configs   func() []ConfigRow
	LogLevels func() []project.LogLevelRow
	Segments  func() []project.SegmentSummary

	turns    func() []time.Time // see Turn
	number   uint64             // no other view of this process has it
	snapshot *repository.Snapshot
	read     []*content // of the snapshot's files, in their order
	// ws holds every document that is a JSON object, and every schema.
	ws     *workspace.Workspace
	scopes access.Environments
	// guardedReferences: lookups need the permission to edit what is protected.
	guardedReferences bool
	// readable is the versions of every document that can be served as it is,
	// whether or not another one has its key.
	readable *versions.State
	bytes    int64 // about what it takes, beside the snapshot and what is below
	texts    int64 // bytes of the snapshot's texts
	unshared int64 // of them, those that only the view has that it was made from

	// What is served in the place of what is broken takes questions to the
	// repository, so the first to need it finds it out.
	resolving sync.Mutex
	resolved  atomic.Bool // all environments are known: see resolveEnvironments
	declared  *Broken     // the workspace file, where it cannot be read in full or is gone
	asking    sync.Mutex
	found     []Broken     // nil: not asked yet
	meta      *Meta        // of what is served; nil: not asked yet
	goodBytes atomic.Int64 // about what of it takes
	findings  *findings
	compiling sync.Mutex
	unusable  []Broken // schemas that do not compile; nil: not asked yet
}

// content is what is remembered of a file's content, under any path that keeps
// its name.
type content struct {
	key      string
	document bool   // it is a JSON object in one of the documents' folders
	brief    []byte // of a document: see package brief
	// row is what a document's row in a list is made of, see rowOf; nil where nobody
	// lists.
	row    any
	schema *workspace.Schema
	// declaration is a workspace of the workspace file alone.
	declaration *workspace.Workspace
	// problems keep the file from being served: what cannot be read in full (half of
	// a rule may match everyone), or else what would serve something else than was
	// meant, as svc serve has it; see workspace.Unservable.
	problems    []workspace.Problem
	expressions expression.Set // of a document
	bytes       int64          // about what it takes
}

// What things take in memory, about, beside their texts.
const (
	cacheBytes   = 512
	contentBytes = 256  // of any file
	rowBytes     = 1024 // of a document, with its row
	statusBytes  = 128  // of an environment in these
	tagBytes     = 48
	schemaFactor = 40 // of a schema compiled, times its text
)

// summary is what is remembered of a file.
func summary(d *workspace.Decoded, f *repository.File, listed bool) *content {
	c := &content{problems: d.Problems, bytes: contentBytes}
	if d.Item != nil {
		c.document, c.key = true, d.Item.Key
		var misleading []workspace.Problem
		misleading, c.expressions = workspace.Unservable(d.Item)
		if len(c.problems) == 0 {
			c.problems = append(misleading, workspace.Circles(d.Part)...)
		}
		c.bytes += c.expressions.Bytes()
		if listed {
			var more int64
			c.row, more = rowOf(d.Item)
			c.bytes += rowBytes + more + int64(len(d.Item.View.Name)+len(d.Item.View.Description)+statusBytes*len(d.Part.Environments))
			for _, tag := range d.Item.View.Tags {
				c.bytes += tagBytes + int64(len(tag))
			}
		}
		c.brief = bytes.Clone(brief.Append(nil, d.Item.View))
		c.bytes += int64(len(c.brief))
	}
	if len(d.Part.Schemas) == 1 {
		c.schema = &d.Part.Schemas[0]
		if c.schema.Tree != nil {
			c.bytes += schemaFactor * int64(len(f.Text))
		}
	}
	if d.Part.Declared {
		c.declaration = d.Part
		c.bytes += schemaFactor * int64(len(f.Text))
	}
	for _, p := range c.problems {
		c.bytes += contentBytes + int64(len(p.Message))
	}
	return c
}

var views atomic.Uint64

// newView looks at the files that an earlier view does not know already. Where
// there is none, what the snapshot's briefs tell of is known; rows of lists are made
// of more than that.
func newView(snapshot *repository.Snapshot, earlier *View, listed bool) *View {
	if earlier == nil {
		if files, briefs := snapshot.TakeBriefs(); !listed {
			earlier = briefed(files, briefs)
		}
	}
	v := &View{number: views.Add(1), snapshot: snapshot, read: make([]*content, len(snapshot.Files)), readable: &versions.State{}}
	if earlier != nil {
		v.readable = earlier.readable.Clone()
	}
	at := 0
	shared := int64(0)
	for i := range snapshot.Files {
		f := &snapshot.Files[i]
		v.texts += int64(len(f.Text))
		if v.read[i], at = earlier.same(f, at); v.read[i] != nil && isOne(f.Text, earlier.snapshot.Files[at].Text) {
			shared += int64(len(f.Text))
		}
	}
	if earlier != nil {
		v.unshared = earlier.texts - shared
	}
	v.forget(earlier)
	for i := range snapshot.Files {
		if f := &snapshot.Files[i]; v.read[i] == nil {
			d := f.Decode()
			v.read[i] = summary(d, f, listed)
			if v.read[i].servable() {
				v.readable.Add(d.Item.Key, d.Item.Tree, d.Item.View)
			}
		}
		v.bytes += v.read[i].bytes
	}
	v.bytes += v.readable.Bytes()
	v.assemble()
	v.makeRows()
	v.findings = &findings{known: map[string]Broken{}}
	if earlier != nil && earlier.findings != nil {
		v.findings = earlier.findings
		v.findings.keep(snapshot)
	}
	return v
}

// isOne reports whether two texts are the same bytes in memory.
func isOne(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// forget takes the documents out of the versions that the earlier view has and
// this one has not, before others come in their place.
func (v *View) forget(earlier *View) {
	if earlier == nil {
		return
	}
	files, at := v.snapshot.Files, 0
	for i, c := range earlier.read {
		path := earlier.snapshot.Files[i].Path
		for at < len(files) && files[at].Path < path {
			at++
		}
		if c.servable() && (at == len(files) || v.read[at] != c) {
			stored := earlier.stored(i)
			item := stored.Read()
			v.readable.Remove(item.Key, item.Tree, item.View)
		}
	}
}

// same returns what is known of a file's content. The search goes on where it
// ended for the file before, as both lists are in order.
func (v *View) same(f *repository.File, at int) (*content, int) {
	if v == nil {
		return nil, at
	}
	files := v.snapshot.Files
	for at < len(files) && files[at].Path < f.Path {
		at++
	}
	if at < len(files) && files[at].Path == f.Path && files[at].Blob == f.Blob && (files[at].Err == nil) == (f.Err == nil) {
		return v.read[at], at
	}
	return nil, at
}

func (v *View) assemble() {
	v.ws = &workspace.Workspace{Items: make([]workspace.Stored, 0, len(v.read))}
	sure := true
	for i, c := range v.read {
		if c.document {
			v.ws.Items = append(v.ws.Items, v.stored(i))
		}
		if c.schema != nil {
			v.ws.Schemas = append(v.ws.Schemas, *c.schema)
		}
		if d := c.declaration; d != nil {
			v.ws.Declared, v.ws.Declaration = true, d.Declaration
			v.ws.Environments = slices.Clone(d.Environments)
		}
		if v.snapshot.Files[i].Path == workspace.File {
			sure = len(c.problems) == 0
		}
	}
	if !v.ws.Declared || !sure {
		v.inferEnvironments()
	} else {
		v.resolved.Store(true)
	}
	v.protect(sure)
}

// stored is the document that a file holds.
func (v *View) stored(i int) workspace.Stored {
	f := &v.snapshot.Files[i]
	return workspace.Stored{Path: f.Path, Key: v.read[i].key, Text: f.Text, Brief: v.read[i].brief}
}

// inferEnvironments adds the environments that documents have entries for to those that are
// declared, of the type that a workspace file which declares them would give them. What is
// declared cannot be had in full: nothing is missing for that alone.
func (v *View) inferEnvironments() {
	v.ws.Declared = false
	known := map[string]bool{}
	for _, e := range v.ws.Environments {
		known[e.Name] = true
	}
	list := jsontree.NewArray()
	seen := map[string]bool{}
	var reader brief.Reader
	for _, c := range v.read {
		for _, name := range reader.Environments(c.brief) {
			if !seen[name] {
				seen[name] = true
				list.Items = append(list.Items, jsontree.NewString(name))
			}
		}
	}
	declaration := jsontree.NewObject(jsontree.Field("environments", list))
	ws, _ := workspace.Read(map[string][]byte{workspace.File: declaration.Encode()})
	for _, e := range ws.Environments {
		if !known[e.Name] && len(v.ws.Environments) < workspace.MaxEnvironments { // each is there once
			v.ws.Environments = append(v.ws.Environments, e)
		}
	}
	workspace.SortEnvironments(v.ws.Environments)
}

// protect notes which environments are protected, and whether lookups are. Where
// the workspace file cannot be read in full, all are: nobody may more for a
// slip in it.
func (v *View) protect(sure bool) {
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

// placed is what is remembered of a document, and the file it stands in.
type placed struct {
	*content
	file *repository.File
}

// of lists the documents of a type that are JSON objects, by key.
func (v *View) of(t document.Type) []placed {
	folder := string(workspace.FolderOf(t)) + "/"
	files := v.snapshot.Files
	begin, _ := slices.BinarySearchFunc(files, folder, func(f repository.File, path string) int {
		return strings.Compare(f.Path, path)
	})
	var all []placed
	for i := begin; i < len(files) && strings.HasPrefix(files[i].Path, folder); i++ {
		c := v.read[i]
		if !c.document {
			continue
		}
		if c.row == nil {
			c = summary(files[i].Decode(), &files[i], true)
		}
		all = append(all, placed{c, &files[i]})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return strings.Compare(a.key, b.key) })
	return all
}

// Holder finds what holds a key of a type, whatever its case and whether or not it
// can be read; but for the files that a write has changed. All documents share
// their keys; schemas have their own.
func (v *View) Holder(of document.Type, key string, changed func(path string) bool) (t document.Type, held string, found bool) {
	name := key + ".json"
	for i := range v.snapshot.Files {
		path := v.snapshot.Files[i].Path
		if at := strings.IndexByte(path, '/'); !strings.EqualFold(path[at+1:], name) || changed(path) {
			continue
		}
		folder, other, ok := workspace.SplitPath(path)
		if !ok {
			continue
		}
		if t := folder.ItemType(); (t == workspace.SchemaType) == (of == workspace.SchemaType) {
			return t, other, true
		}
	}
	return "", "", false
}

// Number is that of the view: no other one of this process has it.
func (v *View) Number() uint64 { return v.number }

// Workspace is every document that is a JSON object, and every schema.
func (v *View) Workspace() *workspace.Workspace { return v.ws }

// Scopes says which environments are protected.
func (v *View) Scopes() access.Environments { return v.scopes }

// GuardedReferences reports whether lookups need the permission to edit what is protected.
func (v *View) GuardedReferences() bool { return v.guardedReferences }

// Readable reports whether a file of the snapshot holds a document or a schema that is a
// JSON object.
func (v *View) Readable(file int) bool {
	c := v.read[file]
	return c.document || c.schema != nil && c.schema.Tree != nil && c.schema.Tree.Kind == jsontree.Object
}
