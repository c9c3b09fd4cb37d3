package workspace

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// Stored is a document in its place, as it is stored. Only the text is held:
// decoded, a document takes some ten times the memory, and few of them are
// looked at again.
type Stored struct {
	Path string
	// Key is the file's name without .json, whatever the document says.
	Key  string
	Text []byte
	// Brief is the document in brief, see package brief, where somebody has made it.
	Brief []byte
}

// Read decodes the document. It is for documents that are in a Workspace: what
// is no JSON decodes to nothing.
func (s *Stored) Read() *Item {
	item, _ := s.decode()
	return item
}

// decode is Read with what is wrong with the document's structure.
func (s *Stored) decode() (*Item, []document.Issue) {
	tree, err := document.Parse(bytes.TrimPrefix(s.Text, byteOrderMark))
	if err != nil {
		tree = jsontree.NewObject()
	}
	view, issues := document.Decode(tree)
	return &Item{Path: s.Path, Key: s.Key, View: view, Tree: tree, Text: s.Text}, issues
}

// Item is a document in its place, decoded.
type Item struct {
	Path string
	// Key is the file's name without .json, whatever the document says.
	Key  string
	View *document.Document
	Tree *jsontree.Node
	Text []byte // as stored
}

// Schema is a JSON Schema in its place, or a file that was to be one.
type Schema struct {
	Path string
	Key  string
	Tree *jsontree.Node // nil for a file that cannot be read as JSON
	Text []byte
	// Compiled is the schema ready for use, or says why it is none. Compiling
	// takes time, so it is done once, on first use.
	Compiled func() (*document.Schema, []document.Issue)
}

// Declaration is the workspace file as written.
type Declaration struct {
	Tree *jsontree.Node
	Text []byte
}

// Workspace is everything a head holds.
type Workspace struct {
	// Declared reports whether there is a workspace file. Without one, the
	// environments are those that the documents name.
	Declared     bool
	Declaration  Declaration   // the workspace file; nothing without one
	Environments []Environment // archived ones too
	Items        []Stored      // by path
	Schemas      []Schema      // by path
}

// Read reads a workspace from its files: path in the layout to content. Paths
// that are no part of the layout are left out. The problems are all that keep
// it from being read as a whole; what could be read is in the workspace.
func Read(files map[string][]byte) (*Workspace, []Problem) {
	return ReadEach(files, nil)
}

// ReadEach is Read for a caller that looks at every document: each is decoded
// once, told to the caller, and forgotten. They come in the order of their
// keys. each may be nil.
func ReadEach(files map[string][]byte, each func(item *Item)) (*Workspace, []Problem) {
	var r reader
	r.read(files, each)
	return &r.ws, r.problems.sorted()
}

func (r *reader) read(files map[string][]byte, each func(item *Item)) {
	for _, path := range sortedPaths(files) {
		if r.problems.ended {
			return
		}
		p := readPart(path, files[path], nil, &r.problems)
		if r.serving {
			p.serve(&r.problems)
		}
		r.put(p)
		if p.item != nil && each != nil {
			each(p.item)
		}
	}
	r.end()
}

// sortedPaths are the paths by the names of the files, which are their keys.
func sortedPaths(files map[string][]byte) []string {
	type keyed struct{ key, path string }
	all := make([]keyed, 0, len(files))
	for file := range files {
		all = append(all, keyed{strings.TrimSuffix(path.Base(file), extension), file})
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.path, b.path)) })
	paths := make([]string, len(all))
	for i := range all {
		paths[i] = all[i].path
	}
	return paths
}

type reader struct {
	ws       Workspace
	entries  map[string]bool // the environments that documents have entries for
	problems collector
	// serving reports whether what is read is to be served: then the regular expressions of
	// all documents count together, and circles of segments are looked for.
	serving     bool
	expressions expression.Total
}

// part is what a file says by itself. Only the item holds what is decoded of a
// document.
type part struct {
	path, key    string
	text         []byte
	environments []string // that a document has entries for
	item         *Item
	isItem       bool
	schema       *Schema
	declared     *declared
	usable       expression.Set // of a document that is to be served
}

// declared is what the workspace file says.
type declared struct {
	tree         *jsontree.Node
	environments []Environment
}

// readPart reads a file, and adds its problems to others. A document is read into
// the scratch, if there is one.
func readPart(path string, text []byte, scratch *jsontree.Scratch, problems *collector) *part {
	p := &part{path: path, text: text}
	folder, key, ok := SplitPath(path)
	if !ok && path != File {
		return p
	}
	p.key = key
	if path == File || folder == Schemas {
		scratch = nil // they are kept
	}
	tree, wrong := parse(path, text, scratch)
	if wrong != nil {
		p.broken(folder, *wrong, problems)
		return p
	}
	switch {
	case path == File:
		environments, issues := readEnvironments(tree)
		p.declared = &declared{tree, environments}
		problems.locate(Fatal, file{path, tree, text}, issues)
	case folder == Schemas:
		compiled := sync.OnceValues(func() (*document.Schema, []document.Issue) { return document.CompileSchema(tree) })
		p.schema = &Schema{path, key, tree, text, compiled}
	default:
		view, issues := document.Decode(tree)
		problems.locate(Fatal, file{path, tree, text}, issues)
		for _, e := range view.Environments {
			if e.ID != "" && !slices.Contains(p.environments, e.ID) {
				p.environments = append(p.environments, e.ID)
			}
		}
		p.item, p.isItem = &Item{path, key, view, tree, text}, true
	}
	return p
}

// broken is for a file that cannot be read.
func (p *part) broken(folder Folder, wrong Problem, problems *collector) {
	problems.add(wrong)
	if folder == Schemas {
		// A config that names it is bound to it all the same.
		p.schema = &Schema{p.path, p.key, nil, p.text, func() (*document.Schema, []document.Issue) {
			return nil, []document.Issue{{Pointer: wrong.Pointer, Message: wrong.Message, Code: wrong.Code}}
		}}
	}
}

// put adds what a file says. They come in the order of their keys.
func (r *reader) put(p *part) {
	switch {
	case p.declared != nil:
		r.ws.Declared, r.ws.Environments = true, p.declared.environments
		r.ws.Declaration = Declaration{p.declared.tree, p.text}
	case p.schema != nil:
		r.ws.Schemas = append(r.ws.Schemas, *p.schema)
	case p.isItem:
		r.ws.Items = append(r.ws.Items, Stored{Path: p.path, Key: p.key, Text: p.text})
	}
	for _, name := range p.environments {
		if r.entries == nil {
			r.entries = map[string]bool{}
		}
		r.entries[name] = true
	}
	if err := r.expressions.Add(p.usable); err != nil {
		stored := Stored{Path: p.path, Key: p.key, Text: p.text}
		r.problems.locate(Fatal, stored.Read().file(), []document.Issue{{Code: problem.TooManyExpressions, Message: err.Error()}})
	}
}

// end looks at all files together.
func (r *reader) end() {
	slices.SortStableFunc(r.ws.Items, func(a, b Stored) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(r.ws.Schemas, func(a, b Schema) int { return strings.Compare(a.Path, b.Path) })
	r.duplicateKeys()
	if !r.ws.Declared {
		for name := range r.entries {
			r.ws.Environments = append(r.ws.Environments, Environment{Name: name, Type: typeOf(name)})
		}
		SortEnvironments(r.ws.Environments)
	}
	if r.serving {
		r.problems.add(Circles(&r.ws)...)
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads a file's tree. Some Windows editors begin a file with a byte
// order mark; it carries nothing, so it is passed over here (and pointed out
// by Verify). The tree's offsets count from behind it.
func parse(path string, text []byte, scratch *jsontree.Scratch) (*jsontree.Node, *Problem) {
	text = WithoutMark(text)
	if len(text) > document.MaxSize {
		return nil, &Problem{Severity: Fatal, File: path, Message: TooLarge(int64(len(text))).Error(), Code: problem.UnreadableFile}
	}
	if IsUTF16(text) {
		return nil, &Problem{Severity: Fatal, File: path, Line: 1, Column: 1,
			Message: "is written in UTF-16; save the file as UTF-8", Code: problem.UTF16}
	}
	tree, err := document.ParseIn(scratch, text)
	if err != nil {
		e := err.(*jsontree.SyntaxError)
		issue := jsontree.Issue{Pointer: e.Pointer, Message: e.Message}.Cut()
		return nil, &Problem{Severity: Fatal, File: path, Line: e.Line, Column: e.Column,
			Pointer: issue.Pointer, Message: issue.Message, Code: problem.InvalidJSON}
	}
	return tree, nil
}

// WithoutMark is a text behind its byte order mark, if it has one.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, byteOrderMark) }

// IsUTF16 reports whether a text is what PowerShell's > writes.
func IsUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
}

// Unread is why a file that is there has no text.
type Unread struct {
	Why  string `json:"why"`
	Lost bool   `json:"lost,omitempty"` // somebody may bring it back
}

func (u *Unread) Error() string { return u.Why }

// TooLarge is Unread for a file of so many bytes.
func TooLarge(size int64) *Unread {
	return &Unread{Why: fmt.Sprintf("%d bytes; a file may have at most %d", size, document.MaxSize)}
}

// duplicateKeys reports every key that stands twice: keys are pooled over the four
// folders, whatever their case.
func (r *reader) duplicateKeys() {
	first := make(map[string]string, len(r.ws.Items))
	for _, item := range r.ws.Items {
		folded := strings.ToLower(item.Key)
		if other, taken := first[folded]; taken {
			r.problems.locate(Fatal, item.Read().file(), []document.Issue{{Code: problem.DuplicateKey, Pointer: "/key",
				Message: fmt.Sprintf("the key %q is taken by %s: keys are unique over flags, configs, log levels and segments, whatever their case", item.Key, other)}})
			continue
		}
		first[folded] = item.Path
	}
}

// Item returns the document of a type and key.
func (w *Workspace) Item(t document.Type, key string) (*Stored, bool) {
	i, found := slices.BinarySearchFunc(w.Items, Path(t, key), func(item Stored, path string) int {
		return strings.Compare(item.Path, path)
	})
	if !found {
		return nil, false
	}
	return &w.Items[i], true
}

// Schema returns the JSON Schema of a key.
func (w *Workspace) Schema(key string) (*Schema, bool) {
	i, found := slices.BinarySearchFunc(w.Schemas, Path(SchemaType, key), func(s Schema, path string) int {
		return strings.Compare(s.Path, path)
	})
	if !found {
		return nil, false
	}
	return &w.Schemas[i], true
}

// Environment returns a declared (or, without a workspace file, a named)
// environment, archived or not.
func (w *Workspace) Environment(name string) (Environment, bool) {
	for _, e := range w.Environments {
		if e.Name == name {
			return e, true
		}
	}
	return Environment{}, false
}

// CheckEnvironment refuses the name of an environment that the workspace does
// not have, or has archived: with a mistyped name applications would get the default
// rules.
func (w *Workspace) CheckEnvironment(name string) error {
	if e, known := w.Environment(name); !known || e.Archived {
		return fmt.Errorf("there is no environment %q; the workspace has %s%s", name, cmp.Or(terminal.Cut(strings.Join(w.Active(), ", "), 2000), "none yet: they stand in "+File), DidYouMean(name, w.Active()))
	}
	return nil
}

// ByKey decodes the documents one after the other, in the order of their keys.
func (w *Workspace) ByKey() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for _, stored := range w.SortedByKey() {
			if !yield(stored.Read()) {
				return
			}
		}
	}
}

// SortedByKey are the documents in the order of their keys.
func (w *Workspace) SortedByKey() []Stored {
	items := slices.Clone(w.Items)
	slices.SortStableFunc(items, func(a, b Stored) int { return strings.Compare(a.Key, b.Key) })
	return items
}

// WithStatus are the environments that flags have a status in.
func (w *Workspace) WithStatus() []document.Active {
	var active []document.Active
	for _, e := range w.Environments {
		if !e.Archived {
			active = append(active, document.Active{Name: e.Name, Production: e.Type == "production"})
		}
	}
	return active
}

// Largest is how many bytes the largest document has.
func (w *Workspace) Largest() (most int64) {
	for i := range w.Items {
		most = max(most, int64(len(w.Items[i].Text)))
	}
	return most
}

// Active returns the names of the environments that are not archived, in the
// order in which environments are listed.
func (w *Workspace) Active() []string {
	var names []string
	for _, e := range w.Environments {
		if !e.Archived {
			names = append(names, e.Name)
		}
	}
	return names
}
