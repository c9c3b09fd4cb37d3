package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/lastuse"
)

// usedName is the file that tells on which day each key was used last. It may
// be deleted.
const (
	usedName = "used.json"
	maxUsed  = 16 << 20
)

// Uses notes the days for the process that serves a data directory. What was
// noted is written when Flush is called, and only when a day is new.
type Uses struct {
	files filesystem
	dir   string

	mu    sync.Mutex
	days  map[access.ID]string
	fresh bool
}

// OpenUses goes on from what was noted earlier. A file that cannot be read is
// begun again.
func OpenUses(dir string) *Uses {
	u := &Uses{dir: dir}
	u.days, _ = readUses(u.files, dir)
	if u.days == nil {
		u.days = map[access.ID]string{}
	}
	return u
}

func readUses(files filesystem, dir string) (map[access.ID]string, error) {
	var days map[access.ID]string
	text, err := files.read(filepath.Join(dir, usedName), maxUsed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &days)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s, which may be deleted: %w", usedName, err)
	}
	return days, nil
}

// Used notes a use.
func (u *Uses) Used(key access.KeyRecord, at time.Time) {
	id, day := lastuse.Of(key), lastuse.Day(at)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.days[id] < day {
		u.days[id], u.fresh = day, true
	}
}

// Flush writes what is new.
func (u *Uses) Flush() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.fresh {
		return nil
	}
	text, err := json.MarshalIndent(u.days, "", "  ")
	if err == nil {
		err = u.files.replace(filepath.Join(u.dir, usedName), append(text, '\n'))
	}
	u.fresh = err != nil
	return err
}

// Uses implements access.Store.
func (r *registryStore) Uses(context.Context) (map[access.ID]string, error) {
	return readUses(r.files, r.dir)
}
