package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// Outcome is what became of a flag; a later one is worse.
type Outcome int

// The outcomes.
const (
	Imported Outcome = iota
	Approximated
	Refused
)

var outcomes = []string{"imported", "approximated", "refused"}

func (o Outcome) String() string { return outcomes[o] }

// MarshalText has outcomes in JSON by name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Item is what became of one flag.
type Item struct {
	Key     string   `json:"key"`
	Outcome Outcome  `json:"outcome"`
	File    string   `json:"file"`    // that it came from
	Pointer string   `json:"pointer"` // where it stands there
	Reasons []Reason `json:"reasons,omitempty"`
}

// Reason is why a flag is refused, or what is served otherwise, and where that stands.
type Reason struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// Result is what an import comes to.
type Result struct {
	System string            `json:"system"`
	Notes  []string          `json:"notes"` // what holds for all flags of that system
	Items  []Item            `json:"items"`
	Files  map[string][]byte `json:"-"` // documents, by their path in a config directory
	// Environments are those that the documents have rules of, in order.
	Environments []string `json:"environments"`
}

// Count is how many items had an outcome.
func (r *Result) Count(o Outcome) (n int) {
	for _, item := range r.Items {
		if item.Outcome == o {
			n++
		}
	}
	return n
}

// system is one that svc imports from. To add one is to add it to the table below.
type system struct {
	name, title string
	// recognises says whether a file is one of this system, by what stands at its top.
	recognises func(root map[string]json.RawMessage) bool
	// flags reads the flags of a file, as they stand in it. The error is of a file that
	// is none of this system after all.
	flags func(root map[string]json.RawMessage) ([]*flag, error)
	notes []string
}

var systems = []system{flagd, flipt, goff, growthbook, launchdarkly, unleash}

// Systems are the names of what svc imports from.
func Systems() []string {
	var names []string
	for _, s := range systems {
		names = append(names, s.name)
	}
	return names
}

// Recognise names the system that wrote a text, in words and as --from has it; "" for none.
func Recognise(text []byte, yaml bool) (title, name string) {
	if root, err := read(text, yaml); err == nil {
		if s := recognise(root); s != nil {
			return s.title, s.name
		}
	}
	return "", ""
}

func recognise(root map[string]json.RawMessage) *system {
	for i := range systems {
		if systems[i].recognises(root) {
			return &systems[i]
		}
	}
	return nil
}

// File is one that is imported.
type File struct {
	Name string // as messages have it
	YAML bool
	Text []byte
}

// Import makes documents of the flags in files. Without a system's name it is recognised;
// all files are of one. A flag whose key is taken, in small letters, is refused.
func Import(from string, files []File, taken map[string]bool) (*Result, error) {
	var of *system
	if at := slices.Index(Systems(), from); at >= 0 {
		of = &systems[at]
	} else if from != "" {
		return nil, fmt.Errorf("%q is no system that svc imports from: they are %s", from, strings.Join(Systems(), ", "))
	}
	var flags []*flag
	for _, file := range files {
		root, err := read(file.Text, file.YAML)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		switch s := recognise(root); {
		case of == nil && s == nil:
			return nil, fmt.Errorf("%s: this is no file of %s; if it is one of a newer version, say so with --from", file.Name, alternatives(titles()))
		case of == nil:
			of = s
		case s != nil && s != of:
			return nil, fmt.Errorf("%s: this is a file of %s, not of %s; import what comes from each system by itself", file.Name, s.title, of.title)
		}
		found, err := of.flags(root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		for _, f := range found {
			f.File = file.Name
		}
		flags = append(flags, found...)
	}
	if of == nil {
		return nil, fmt.Errorf("there is no file to import")
	}
	return of.result(flags, taken), nil
}

func titles() []string {
	var all []string
	for _, s := range systems {
		all = append(all, s.title)
	}
	return all
}

func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// result makes the documents, of which no two have keys that differ in case alone.
func (s *system) result(flags []*flag, taken map[string]bool) *Result {
	r := &Result{System: s.name, Notes: s.notes, Files: map[string][]byte{}}
	same := map[string][]*flag{}
	for _, f := range flags {
		same[strings.ToLower(f.Key)] = append(same[strings.ToLower(f.Key)], f)
	}
	for _, f := range flags {
		for _, other := range same[strings.ToLower(f.Key)] {
			if other != f {
				f.refuse(f.Pointer, "%s in %s has the same key, and keys of svc are unique, ignoring case: rename one", other.Pointer, other.File)
			}
		}
		if taken[strings.ToLower(f.Key)] {
			f.refuse(f.Pointer, "the config directory has an item of that key, ignoring case: rename one, or delete that one")
		}
		text := f.document()
		if text != nil {
			text = f.verified(text)
		}
		if text != nil {
			r.Files[workspace.Path(document.Flag, f.Key)] = text
			r.Environments = append(r.Environments, sortedKeys(f.environments)...)
		}
		r.Items = append(r.Items, f.Item)
	}
	slices.Sort(r.Environments)
	r.Environments = slices.Compact(r.Environments)
	return r
}

// verified is the document, unless svc would refuse it.
func (f *flag) verified(text []byte) []byte {
	path := workspace.Path(document.Flag, f.Key)
	declared, _ := json.Marshal(map[string][]string{"environments": append([]string{}, sortedKeys(f.environments)...)})
	if len(text) > maxDocument {
		f.refuse(f.Pointer, "it would be a document of %d bytes, and svc's have at most %d: put long lists into segments, or compare with a property instead", len(text), maxDocument)
		return nil
	}
	_, problems := workspace.ReadAndVerify(map[string][]byte{path: text, workspace.File: declared})
	for _, p := range problems {
		if p.Severity == workspace.Error {
			f.refuse(f.Pointer, "svc would refuse it: %s", p.Message)
		}
	}
	if f.Outcome == Refused {
		return nil
	}
	return text
}

const maxDocument = 1 << 20

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// under is the pointer of a member.
func under(pointer string, names ...string) string {
	for _, name := range names {
		pointer += jsontree.Pointer(name)
	}
	return pointer
}
