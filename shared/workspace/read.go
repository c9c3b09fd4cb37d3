package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// Item is a document in its place.
type Item struct {
	Path string
	// Key is the file's name without .json, whatever the document says.
	Key  string
	View *document.Document
	Tree *jsontree.Node
	Text []byte // as stored
}

// Schema is a JSON Schema in its place.
type Schema struct {
	Path string
	Key  string
	Tree *jsontree.Node
	Text []byte
	// Compiled is the schema ready for use, or says why it is none. Compiling
	// takes its time, so it is done once, by who asks first.
	Compiled func() (*document.Schema, []document.Issue)
}

// Declaration is the workspace file as written.
type Declaration struct {
	Tree *jsontree.Node
	Text []byte
}

// Workspace is everything a head holds.
type Workspace struct {
	// Declared says whether there is a workspace file. Without one, the
	// environments are those that the documents name.
	Declared     bool
	Declaration  Declaration   // the workspace file; nothing without one
	Environments []Environment // archived ones too
	Items        []Item        // by path
	Schemas      []Schema      // by path
}

// Read reads a workspace from its files: path in the layout to content. Paths
// that are no part of the layout are left out. The problems are all that keep
// it from being read as a whole; what could be read is in the workspace.
func Read(files map[string][]byte) (*Workspace, []Problem) {
	var r reader
	for _, path := range sortedPaths(files) {
		r.file(path, files[path])
	}
	r.doubles()
	if !r.ws.Declared {
		r.ws.Environments = named(r.ws.Items)
	}
	SortProblems(r.problems)
	return &r.ws, r.problems
}

func sortedPaths(files map[string][]byte) []string {
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

type reader struct {
	ws       Workspace
	problems []Problem
}

func (r *reader) file(path string, text []byte) {
	folder, key, ok := SplitPath(path)
	if !ok && path != File {
		return
	}
	tree, parsed, problem := parse(path, text)
	if problem != nil {
		r.problems = append(r.problems, *problem)
		return
	}
	switch {
	case path == File:
		environments, issues := readEnvironments(tree)
		r.ws.Declared, r.ws.Environments = true, environments
		r.ws.Declaration = Declaration{tree, text}
		r.problems = append(r.problems, locate(Fatal, path, parsed, tree, issues)...)
	case folder == Schemas:
		compiled := sync.OnceValues(func() (*document.Schema, []document.Issue) { return document.CompileSchema(tree) })
		r.ws.Schemas = append(r.ws.Schemas, Schema{path, key, tree, text, compiled})
	default:
		view, issues := document.Decode(tree)
		r.ws.Items = append(r.ws.Items, Item{path, key, view, tree, text})
		r.problems = append(r.problems, locate(Fatal, path, parsed, tree, issues)...)
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads a file's tree. Some Windows editors begin a file with a byte
// order mark; it carries nothing, so it is passed over here (and pointed out
// by Verify). The text returned is what the tree's offsets count in.
func parse(path string, text []byte) (*jsontree.Node, []byte, *Problem) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	if len(text) > document.MaxSize {
		return nil, text, &Problem{Severity: Fatal, File: path, Message: tooLarge(int64(len(text)))}
	}
	if why, unread := bytes.CutPrefix(text, []byte(unreadMark)); unread {
		return nil, text, &Problem{Severity: Fatal, File: path, Message: string(why)}
	}
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		// What PowerShell's > writes.
		return nil, text, &Problem{Severity: Fatal, File: path, Line: 1, Column: 1,
			Message: "is written in UTF-16; save the file as UTF-8"}
	}
	tree, err := jsontree.Parse(text)
	if err != nil {
		e := err.(*jsontree.SyntaxError)
		return nil, text, &Problem{Severity: Fatal, File: path, Line: e.Line, Column: e.Column,
			Pointer: e.Pointer, Message: e.Message}
	}
	return tree, text, nil
}

func tooLarge(size int64) string {
	return fmt.Sprintf("%d bytes; a file may have at most %d", size, document.MaxSize)
}

// unreadMark begins what stands in for a file. No JSON begins with it.
const unreadMark = "\x00svc did not read this file: "

// Unread stands in for the text of a file of so many bytes that is too large to
// be read. To Read it is a file with that problem.
func Unread(size int64) []byte { return []byte(unreadMark + tooLarge(size)) }

// UnreadBecause is Unread for a file that is not read for another reason.
func UnreadBecause(why string) []byte { return []byte(unreadMark + why) }

// doubles reports every key that stands twice: keys are pooled over the four
// folders, whatever their case.
func (r *reader) doubles() {
	first := map[string]string{}
	for _, item := range r.ws.Items {
		folded := strings.ToLower(item.Key)
		if other, taken := first[folded]; taken {
			text := bytes.TrimPrefix(item.Text, byteOrderMark)
			r.problems = append(r.problems, locate(Fatal, item.Path, text, item.Tree, []document.Issue{{Pointer: "/key",
				Message: fmt.Sprintf("the key %q is taken by %s: keys are unique over flags, configs, log levels and segments, whatever their case", item.Key, other)}})...)
			continue
		}
		first[folded] = item.Path
	}
}

// named collects the environments that documents have entries for.
func named(items []Item) []Environment {
	var environments []Environment
	seen := map[string]bool{}
	for _, item := range items {
		for _, e := range item.View.Environments {
			if e.ID != "" && !seen[e.ID] {
				seen[e.ID] = true
				environments = append(environments, Environment{Name: e.ID, Type: typeOf(e.ID)})
			}
		}
	}
	slices.SortFunc(environments, compareEnvironments)
	return environments
}

// Item returns the document of a type and key.
func (w *Workspace) Item(t document.Type, key string) (*Item, bool) {
	i, found := slices.BinarySearchFunc(w.Items, Path(t, key), func(item Item, path string) int {
		return strings.Compare(item.Path, path)
	})
	if !found {
		return nil, false
	}
	return &w.Items[i], true
}

// Schema returns the JSON Schema of a key.
func (w *Workspace) Schema(key string) (*Schema, bool) {
	i, found := slices.BinarySearchFunc(w.Schemas, string(Schemas)+"/"+key+extension, func(s Schema, path string) int {
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
