package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
)

// rosterFormat is the format of a data directory: of the registry's file, which
// names it, and of all that lies beside it. It is raised by what an older svc
// would damage, so that such a one refuses the directory. A field that is merely
// new needs no new format: what a version does not know it leaves alone.
const rosterFormat = 1

// roster is the content of the registry's file. One that readers have seen is
// never changed.
type roster struct {
	Format int `json:"format"`
	// Version is the access version: each edit raises it.
	Version    int64              `json:"version"`
	Workspace  workspaceRecord    `json:"workspace"`
	Principals []access.Principal `json:"principals"`
	Keys       []access.KeyRecord `json:"keys"`

	principals map[access.ID]int
	keys       map[access.ID]int

	text []byte  // as it was read
	was  *roster // what this is an edit of; nil for a new one
}

type workspaceRecord struct {
	ID              access.ID `json:"id"`
	Name            string    `json:"name"`
	BillingInactive bool      `json:"billingInactive,omitempty"`
	Provisioning    bool      `json:"provisioning,omitempty"`
	Secret          []byte    `json:"secret"`
}

func recordOfWorkspace(w control.Workspace) workspaceRecord {
	return workspaceRecord{
		ID: access.ID(w.ID), Name: w.Name, Secret: w.Secret,
		BillingInactive: w.BillingInactive, Provisioning: w.Provisioning,
	}
}

func (w workspaceRecord) workspace() control.Workspace {
	return control.Workspace{
		ID: string(w.ID), Name: w.Name, Secret: w.Secret,
		BillingInactive: w.BillingInactive, Provisioning: w.Provisioning,
	}
}

func newRoster(w control.Workspace) *roster {
	return &roster{
		Format: rosterFormat, Version: 1, Workspace: recordOfWorkspace(w),
		Principals: []access.Principal{}, Keys: []access.KeyRecord{},
	}
}

func (r *roster) encode() ([]byte, error) {
	if err := r.index(); err != nil {
		return nil, err
	}
	if r.was != nil && r.was.text != nil {
		tree, err := jsontree.Overlay(r.was.text, r.was, r)
		if err != nil {
			return nil, err
		}
		return tree.Encode(), nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// decodeRoster reads what encode wrote. No error repeats a value.
func decodeRoster(text []byte) (*roster, error) {
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("not a registry: %w", at(text, err))
	}
	if head.Format > rosterFormat {
		return nil, fmt.Errorf("it is of format %d, and this svc knows formats up to %d; it takes the version of svc that wrote it, or a later one: %w",
			head.Format, rosterFormat, repository.ErrNewer)
	}
	if head.Format < 1 {
		return nil, fmt.Errorf("not a registry: it names no format; this svc knows formats up to %d", rosterFormat)
	}
	r := &roster{text: text}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("not a registry: %w", at(text, err))
	}
	return r, r.index()
}

// at adds the line to an error of the decoder.
func at(text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		what, _, _ := strings.Cut(kind.Value, " ")
		return fmt.Errorf("line %d: what stands there (%s) is of the wrong type", lineOf(text, kind.Offset), what)
	}
	if offset < 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", lineOf(text, offset), err)
}

func lineOf(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}

// index makes the maps, and reports everything that does not fit together.
func (r *roster) index() error {
	r.principals = make(map[access.ID]int, len(r.Principals))
	r.keys = make(map[access.ID]int, len(r.Keys))
	var problems []error
	if _, err := access.ParseID(string(r.Workspace.ID)); err != nil {
		problems = append(problems, fmt.Errorf("workspace: %w", err))
	}
	for i, principal := range r.Principals {
		problems = append(problems, r.indexPrincipal(i, principal))
	}
	for i, key := range r.Keys {
		problems = append(problems, r.indexKey(i, key))
	}
	return errors.Join(problems...)
}

func (r *roster) indexPrincipal(i int, principal access.Principal) error {
	if _, err := access.ParseID(string(principal.ID)); err != nil {
		return fmt.Errorf("principals/%d: %w", i, err)
	}
	if _, taken := r.principals[principal.ID]; taken {
		return fmt.Errorf("principals/%d: another one has the same id", i)
	}
	r.principals[principal.ID] = i
	return nil
}

func (r *roster) indexKey(i int, key access.KeyRecord) error {
	if _, err := access.ParseID(string(key.ID)); err != nil {
		return fmt.Errorf("keys/%d: %w", i, err)
	}
	if _, taken := r.keys[key.ID]; taken {
		return fmt.Errorf("keys/%d: another one has the same id", i)
	}
	if _, known := r.principals[key.PrincipalID]; !known {
		return fmt.Errorf("keys/%d: its principal is not in the file", i)
	}
	r.keys[key.ID] = i
	return nil
}

// find returns what a key names, or ErrNoEntry. Whether the key is the right
// one is not looked at.
func (r *roster) find(key access.Key) (access.KeyRecord, access.Principal, error) {
	k, known := r.keys[key.ID()]
	p, alsoKnown := r.principals[key.Principal()]
	if !known || !alsoKnown || key.Workspace() != r.Workspace.ID {
		return access.KeyRecord{}, access.Principal{}, control.ErrNoEntry
	}
	return r.Keys[k], r.Principals[p], nil
}
