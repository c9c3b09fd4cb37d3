package local

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/regularfile"
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

// appendEntry writes what an edit is about to do. The caller holds the write lock.
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
func (r *registryStore) Trail(_ context.Context, newest int) ([]access.Entry, error) {
	current, err := r.current()
	if err != nil {
		return nil, err
	}
	var entries []access.Entry
	err = EachAudit(r.dir, current.Version, newest, func(_ int64, line []byte) error {
		var e access.Entry
		err := json.Unmarshal(line, &e)
		entries = append(entries, e)
		return err
	})
	return entries, err
}

// EachAudit calls for the entries of the audit trail up to an access version, oldest
// first, each as it is stored: for so many of the newest, 0 for all.
func EachAudit(dir string, version int64, newest int, each func(version int64, line []byte) error) error {
	f, err := regularfile.Open(filepath.Join(dir, auditName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer f.Close()
		err = eachEntry(f, version, newest, each)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", auditName, err)
	}
	return nil
}

// entryAt is where the line of an entry stands.
type entryAt struct{ version, offset, length int64 }

// eachEntry reads the file twice: first where the lines stand, of which there may be
// more than memory is to hold.
func eachEntry(f io.ReaderAt, version int64, newest int, each func(version int64, line []byte) error) error {
	places, err := entriesIn(bufio.NewReaderSize(io.NewSectionReader(f, 0, maxAudit), 64<<10), version)
	if err != nil {
		return err
	}
	if newest > 0 {
		places = places[max(0, len(places)-newest):]
	}
	for _, at := range places {
		line := make([]byte, at.length)
		if _, err := f.ReadAt(line, at.offset); err != nil {
			return err
		}
		if err := each(at.version, line); err != nil {
			return err
		}
	}
	return nil
}

// entriesIn finds the lines that count. One that cannot be read is what a power cut has
// left of an edit that never came to count.
func entriesIn(from *bufio.Reader, version int64) (places []entryAt, err error) {
	for offset := int64(0); ; {
		line, err := from.ReadBytes('\n')
		var e access.Entry
		if json.Unmarshal(line, &e) == nil && e.Version > 0 && e.Version <= version {
			i, _ := slices.BinarySearchFunc(places, e.Version, func(p entryAt, v int64) int { return cmp.Compare(p.version, v) })
			places = append(places[:i], entryAt{e.Version, offset, int64(len(bytes.TrimRight(line, "\r\n")))})
		}
		offset += int64(len(line))
		if errors.Is(err, io.EOF) {
			return places, nil
		}
		if err != nil {
			return nil, err
		}
	}
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
