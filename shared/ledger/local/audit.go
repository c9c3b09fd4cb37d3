package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"svc.example/svc/shared/audit"
)

// auditName is the file that tells what was done to the registry: a line of
// JSON for each edit (audit.Entry). Lines are appended and never changed.
//
// A line is flushed before the registry is replaced, which is what makes the
// edit count. An edit that did not get there leaves a line whose version the
// registry never had, or that a later line has too: of the lines of one version
// the last one counts.
const (
	auditName = "audit.log"
	maxAudit  = 1 << 30
)

// By says who the edits that follow are told to be by.
func (r *Registry) By(who string) *Registry {
	r.by = who
	return r
}

func (r *roster) auditState() audit.State {
	w := r.Workspace
	return audit.State{
		ID: w.ID, Workspace: audit.WorkspaceWords(w.Name, w.BillingInactive, w.Provisioning),
		Principals: r.Principals, Keys: r.Keys,
	}
}

// tell appends what an edit is about to do. Whoever calls it holds the write
// lock.
func (r *Registry) tell(before, after *roster) error {
	changes := audit.Changes(before.auditState(), after.auditState())
	if len(changes) == 0 {
		return nil
	}
	line, err := json.Marshal(audit.Entry{Version: after.Version, At: time.Now().UTC().Truncate(time.Second), By: r.by, Changes: changes})
	if err == nil {
		err = r.files.append(filepath.Join(r.dir, auditName), r.dir, append(line, '\n'), registryMode)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", auditName, err)
	}
	return nil
}

// Audit returns what was done to the registry, oldest first, since the time
// that an svc which tells it first edited it.
func (r *Registry) Audit(context.Context) ([]audit.Entry, error) {
	current, err := r.current()
	if err != nil {
		return nil, err
	}
	text, err := r.files.read(filepath.Join(r.dir, auditName), maxAudit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", auditName, err)
	}
	return landedEntries(text, current.Version), nil
}

// landedEntries reads the lines of the edits that count. One that cannot be
// read is what a power cut has left of an edit that never came to count.
func landedEntries(text []byte, version int64) []audit.Entry {
	byVersion := map[int64]audit.Entry{}
	for line := range bytes.Lines(text) {
		var e audit.Entry
		if json.Unmarshal(line, &e) == nil && e.Version > 0 && e.Version <= version {
			byVersion[e.Version] = e
		}
	}
	entries := make([]audit.Entry, 0, len(byVersion))
	for _, e := range byVersion {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b audit.Entry) int { return int(a.Version - b.Version) })
	return entries
}

// append adds a line to a file, durably, and makes the file when it is new. What
// an earlier one may have left of a line is ended first.
func (s filesystem) append(path, parent string, line []byte, mode fs.FileMode) error {
	if err := s.before(OpCreate, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		last := []byte{0}
		if _, err = f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if err == nil {
		err = s.fill(f, line)
	}
	if err = errors.Join(err, f.Close()); err != nil || info.Size() > 0 {
		return err
	}
	return s.syncDir(parent)
}
