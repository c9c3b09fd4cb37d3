package pull

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"svc.example/svc/shared/workspace"
)

// StateName is the file that remembers what was pulled.
const StateName = ".svc-pull.json"

// state is what was pulled last.
type state struct {
	WorkspaceID string           `json:"workspaceId"`
	Files       map[string]entry `json:"files"`
}

// entry is a pulled file. The commit is that of the item it holds.
type entry struct {
	CommitSHA string `json:"commitSha,omitempty"`
	SHA256    string `json:"sha256"`
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

func readState(dir string) (state, error) {
	s := state{Files: map[string]entry{}}
	text, err := os.ReadFile(filepath.Join(dir, StateName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s is damaged: %w; remove it, and the next pull compares every file", StateName, err)
	}
	for path := range s.Files {
		if !layout(path) {
			return s, fmt.Errorf("%s is damaged: it names %q; remove it, and the next pull compares every file", StateName, path)
		}
	}
	if s.Files == nil {
		s.Files = map[string]entry{}
	}
	return s, nil
}

func (s state) write(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, StateName), append(text, '\n'))
}

// layout says whether a path is one that may be written: keys come over the
// network.
func layout(path string) bool {
	folder, _, ok := workspace.SplitPath(path)
	_, document := folder.Type()
	return (path == workspace.File || ok && document) && filepath.IsLocal(filepath.FromSlash(path))
}

// replace puts content in the place of a file, by way of one beside it whose
// name begins with a dot.
func replace(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(dir, ".svc-pull-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
