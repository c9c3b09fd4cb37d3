package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/sdkapi"
)

// cache is a directory from which a relay starts while its service is away.
type cache struct{ dir string }

// openCache makes the directory if it is not there. One that is there keeps its mode, as it
// may hold other things.
func openCache(dir string, logger *slog.Logger) (*cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("--cache %s: %w", dir, err)
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
		logger.Warn("others than this user can write to the directory of the cache, and so decide what is served while the service is away: chmod 700", "directory", dir)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return nil, fmt.Errorf("--cache: nothing can be written there: %w", atomicfile.Named(err, dir))
	}
	probe.Close()
	return &cache{dir}, os.Remove(probe.Name())
}

const (
	keysFile = "keys.json"
	// maxState is more than any state has; maxKeysFile is more than maxKept keys have.
	maxState    = 64 << 20
	maxKeysFile = 8 << 20
)

func (c *cache) statePath(key access.ID) string {
	return filepath.Join(c.dir, "state-"+string(key)+".json.gz")
}

// keepState keeps what is served with a key.
func (c *cache) keepState(key access.ID, d *sdkapi.Documents) error {
	return atomicfile.ReplaceAt(c.statePath(key), d.In(negotiation.GzipCoding), 0o600)
}

// touch notes that what was kept is still the present state. That it fails says the
// next state that is kept.
func (c *cache) touch(key access.ID, at time.Time) { _ = os.Chtimes(c.statePath(key), at, at) }

// state is what was kept, nothing when that is nothing, and when it was last known to
// be the present one.
func (c *cache) state(key access.ID) (body []byte, at time.Time, err error) {
	packed, at, err := c.read(c.statePath(key), maxState)
	if err != nil || packed == nil {
		return nil, at, err
	}
	plain, err := negotiation.Decompressed(packed)
	if err != nil {
		return nil, at, err
	}
	body, err = io.ReadAll(io.LimitReader(plain, maxState))
	return body, at, err
}

func (c *cache) keepKeys(records []access.KeyRecord) error {
	text, err := json.Marshal(records)
	if err != nil {
		return err
	}
	return atomicfile.ReplaceAt(filepath.Join(c.dir, keysFile), text, 0o600)
}

func (c *cache) keys() (records []access.KeyRecord, err error) {
	text, _, err := c.read(filepath.Join(c.dir, keysFile), maxKeysFile)
	if err != nil || text == nil {
		return nil, err
	}
	return records, json.Unmarshal(text, &records)
}

func (c *cache) read(path string, most int64) (content []byte, at time.Time, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, at, nil
	}
	if err != nil {
		return nil, at, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, at, err
	}
	content, err = io.ReadAll(io.LimitReader(f, most))
	return content, info.ModTime(), err
}
