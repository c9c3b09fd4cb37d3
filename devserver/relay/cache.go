package relay

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
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
	"svc.example/svc/shared/filelock"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/regularfile"
	"svc.example/svc/shared/sdkapi"
)

// cache is a directory from which a relay starts while its service is away. It is one
// relay's, which holds its lock.
type cache struct {
	dir  string
	lock io.Closer
}

// letGo is how long the relay before this one may take to end.
const letGo = time.Second

// openCache makes the directory if it is not there. One that is there keeps its mode, as it
// may hold other things.
func openCache(dir string, logger *slog.Logger) (*cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("--cache %s: %w", dir, err)
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
		logger.Warn("others than this user can write to the directory of the cache, and so decide what is served while the service is away: chmod 700", "directory", dir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), letGo)
	defer cancel()
	lock, err := filelock.Await(ctx, filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("--cache: %s is the cache of another relay, which is running: give each a directory of its own", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("--cache: nothing can be written there: %w", err)
	}
	return &cache{dir, lock}, nil
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

// keepState keeps what is served with a key, below a line that only who has the key can
// write: it says that the state is this key's.
func (c *cache) keepState(key access.Key, d *sdkapi.Documents) error {
	packed := d.In(negotiation.GzipCoding)
	plain, err := negotiation.Decompress(packed)
	if err != nil {
		return err
	}
	return atomicfile.ReplaceAt(c.statePath(key.ID()), append(negotiation.Compress(seal(key, plain)), packed...), 0o600)
}

// seal is the line above a state.
func seal(key access.Key, state []byte) []byte {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write(state)
	return fmt.Appendf(nil, "%x\n", mac.Sum(nil))
}

// state is what was kept with a key, nothing when that is nothing, and when it was last
// known to be the present one.
func (c *cache) state(key access.Key) (body []byte, at time.Time, err error) {
	path := c.statePath(key.ID())
	packed, at, err := c.read(path, maxState)
	if err != nil || packed == nil {
		return nil, at, err
	}
	plain, err := negotiation.Decompressed(packed)
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(plain, maxState))
	}
	if err != nil {
		return nil, at, fmt.Errorf("%s: %w", path, err)
	}
	line, body, _ := bytes.Cut(body, []byte("\n"))
	if !hmac.Equal(append(line, '\n'), seal(key, body)) {
		return nil, at, fmt.Errorf("%s was not kept with this key: it is of another key or environment, or was changed", path)
	}
	return body, at, nil
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
	f, err := regularfile.Open(path)
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
