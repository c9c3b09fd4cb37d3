package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
)

// Format is the format of a data directory: of the registry's file, which
// names it, and of all that lies beside it. It is raised by what an older svc
// would damage, so that such a one refuses the directory. A field that is merely
// new needs no new format: what a version does not know it leaves alone.
const Format = 1

// registryFile is the content of the registry's file. One that readers have seen
// is never changed.
type registryFile struct {
	Format int `json:"format"`
	access.State

	principals map[access.ID]int
	keys       map[access.ID]int
	text       []byte // as it was read
}

// encodeRegistry writes a state over the file that was read before, of which
// nothing is lost that this version does not know; nil is a new file.
func encodeRegistry(before *registryFile, s access.State) ([]byte, error) {
	after := &registryFile{Format: Format, State: s}
	if err := after.index(); err != nil {
		return nil, err
	}
	if before == nil {
		text, err := json.MarshalIndent(after, "", "  ")
		return append(text, '\n'), err
	}
	after.Format = before.Format
	tree, err := jsontree.Overlay(before.text, before, after)
	if err != nil {
		return nil, err
	}
	return tree.Encode(), nil
}

// decodeRegistry reads what encodeRegistry wrote. No error repeats a value.
func decodeRegistry(text []byte) (*registryFile, error) {
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("not a registry: %w", at(text, err))
	}
	if head.Format > Format {
		return nil, fmt.Errorf("it is of format %d, and this svc knows formats up to %d; it takes the version of svc that wrote it, or a later one: %w",
			head.Format, Format, repository.ErrNewer)
	}
	if head.Format < 1 {
		return nil, fmt.Errorf("not a registry: it names no format; this svc knows formats up to %d", Format)
	}
	r := &registryFile{text: text}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("not a registry: %w", at(text, err))
	}
	return r, r.index()
}

// at adds the line to an error of the decoder.
func at(text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line, _ := jsontree.Position(text, int(syntax.Offset))
		return fmt.Errorf("line %d: %w", line, err)
	case errors.As(err, &kind):
		line, _ := jsontree.Position(text, int(kind.Offset))
		what, _, _ := strings.Cut(kind.Value, " ")
		return fmt.Errorf("line %d: what stands there (%s) is of the wrong type", line, what)
	}
	return err
}

// index makes the maps, and reports everything that does not fit together.
func (r *registryFile) index() error {
	r.principals = make(map[access.ID]int, len(r.Principals))
	r.keys = make(map[access.ID]int, len(r.Keys))
	var problems []error
	if _, err := access.ParseID(r.Workspace.ID); err != nil {
		problems = append(problems, fmt.Errorf("workspace: %w", err))
	}
	note := func(list string, i int, id access.ID, places map[access.ID]int) {
		if _, err := access.ParseID(string(id)); err != nil {
			problems = append(problems, fmt.Errorf("%s/%d: %w", list, i, err))
		} else if _, taken := places[id]; taken {
			problems = append(problems, fmt.Errorf("%s/%d: another one has the same id", list, i))
		}
		places[id] = i
	}
	for i, p := range r.Principals {
		note("principals", i, p.ID, r.principals)
	}
	for i, k := range r.Keys {
		note("keys", i, k.ID, r.keys)
		if _, known := r.principals[k.PrincipalID]; !known {
			problems = append(problems, fmt.Errorf("keys/%d: its principal is not in the file", i))
		}
	}
	return errors.Join(problems...)
}

// find returns the key of an id and its principal, or access.ErrNotFound.
func (r *registryFile) find(id access.ID) (access.KeyRecord, access.Principal, error) {
	if k, known := r.keys[id]; known {
		if p, known := r.principals[r.Keys[k].PrincipalID]; known {
			return r.Keys[k], r.Principals[p], nil
		}
	}
	return access.KeyRecord{}, access.Principal{}, access.ErrNotFound
}
