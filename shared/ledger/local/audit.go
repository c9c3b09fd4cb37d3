package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/atomicfile"
)

// auditName is the file that tells what was done to the registry: a line of
// JSON for each edit (access.Entry). Lines are appended and never changed.
//
// A line is flushed before the registry is replaced, which is what makes the
// edit count. An edit that did not get there leaves a line whose version the
// registry never had, or that a later line has too: of the lines of one version
// the last one counts.
const (
	auditName = "audit.log"
	maxAudit  = 1 << 30
)

// appendEntry says what an edit is about to do. Whoever calls it holds the write
// lock.
func (r *registryStore) appendEntry(e access.Entry) error {
	if len(e.Changes) == 0 {
		return nil
	}
	line, err := json.Marshal(e)
	if err == nil {
		err = r.files.append(filepath.Join(r.dir, auditName), append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", auditName, err)
	}
	return nil
}

// Trail implements access.Store. It begins with the first edit by an svc that
// tells them.
func (r *registryStore) Trail(context.Context) ([]access.Entry, error) {
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
	byVersion := map[int64]access.Entry{}
	for line := range bytes.Lines(text) {
		// One that cannot be read is what a power cut has left of an edit that
		// never came to count.
		var e access.Entry
		if json.Unmarshal(line, &e) == nil && e.Version > 0 && e.Version <= current.Version {
			byVersion[e.Version] = e
		}
	}
	return slices.SortedFunc(maps.Values(byVersion), func(a, b access.Entry) int { return int(a.Version - b.Version) }), nil
}

// append adds a line to a file, durably, and makes the file when it is new. What
// an earlier one may have left of a line is ended first.
func (s filesystem) append(path string, line []byte) error {
	if err := s.before(OpCreate, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, registryMode)
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
	if err := atomicfile.GiveToFolder(path); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(path))
}
