package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Reference is a branch, a tag or another name that git has for an object.
type Reference struct {
	Name string // such as refs/heads/main
	ID   string
}

// all are the references of a repository, by name. Symbolic ones, which no bare
// repository has but for HEAD, are left out.
//
// Loose files go first, as in read: pack-refs writes packed-refs before it removes
// them.
func (r reference) all() ([]Reference, error) {
	found := map[string]string{}
	loose := func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was deleted or packed meanwhile
		}
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		relative, err := filepath.Rel(r.git, path)
		if err != nil {
			return err
		}
		content, err := r.files.read(path, maxRef)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name := filepath.ToSlash(relative)
		if err == nil && isReference(name) {
			found[name], err = parseLoose(content)
		}
		if errors.Is(err, errSymbolic) {
			delete(found, name)
			return nil
		}
		if err != nil {
			return fmt.Errorf("the repository's %s cannot be read: %w", name, err)
		}
		return nil
	}
	if err := filepath.WalkDir(r.path("refs"), loose); err != nil {
		return nil, err
	}
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	for _, p := range packed {
		if found[p.Name] == "" {
			found[p.Name] = p.ID
		}
	}
	var all []Reference
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, Reference{name, found[name]})
	}
	return all, nil
}

// References are those of a repository that nobody writes to, and the commit that its
// branch main names.
func References(git string) (all []Reference, head string, err error) {
	all, err = reference{git: git}.all()
	return all, idOf(all, branch), err
}

// encodeReferences writes a file packed-refs.
func encodeReferences(all []Reference) []byte {
	var b bytes.Buffer
	for _, r := range all {
		fmt.Fprintf(&b, "%s %s\n", r.ID, r.Name)
	}
	return b.Bytes()
}

// packed are the references that the file packed-refs names.
func (r reference) packed() ([]Reference, error) {
	content, err := r.files.read(r.path("packed-refs"), maxPacked)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the head: %w", err)
	}
	all, err := decodeReferences(content)
	if err != nil {
		return nil, unavailable(err, "the repository's packed-refs cannot be read: %v", err)
	}
	return all, nil
}

// idOf is what a reference names, "" where there is none of that name.
func idOf(all []Reference, name string) string {
	if i := slices.IndexFunc(all, func(r Reference) bool { return r.Name == name }); i >= 0 {
		return all[i].ID
	}
	return ""
}

// decodeReferences reads a file packed-refs: lines of an id, a space and a name;
// comments begin with #, and ^ begins what a tag above points to.
func decodeReferences(content []byte) ([]Reference, error) {
	var all []Reference
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if line[0] == '#' || line[0] == '^' {
			continue
		}
		id, name, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
		if !isID(id) || !isReference(name) {
			return nil, fmt.Errorf("line %d: an id and the name of a reference are expected here", number)
		}
		all = append(all, Reference{name, id})
	}
	return all, nil
}

// isReference reports whether git takes a text for the name of a reference, as git
// check-ref-format tells.
func isReference(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") ||
		strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}
