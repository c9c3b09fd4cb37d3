package pull

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/statedir"
)

// StateName is the file that remembers what was pulled.
const StateName = ".svc-pull.json"

// maxState is more than it has for as many files as there may be.
const maxState = 64 << 20

// state is what was pulled last.
type state struct {
	WorkspaceID string `json:"workspaceId"`
	Tag         string `json:"tag,omitempty"` // of the export that Files are all of
	// CommitSHA is the head at the last pull: what is not in Files was not there then.
	CommitSHA string           `json:"commitSha,omitempty"`
	Files     map[string]entry `json:"files"`
	// Seal is statedir.Seal of all the rest: anybody can put a file into a directory that
	// says what was pulled.
	Seal string `json:"seal,omitempty"`

	foreign bool   // it was not written by this user on this machine
	text    []byte // of the file; nil for none
}

// entry is a pulled file. The commit is that of the item it holds.
type entry struct {
	CommitSHA string `json:"commitSha,omitempty"`
	SHA256    string `json:"sha256"`
}

func sum(content []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// readState reads what was pulled last. Of a state that somebody else wrote no more counts
// than the workspace, which can only have a pull refused.
func readState(dir string) (state, error) {
	s := state{Files: map[string]entry{}}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer root.Close()
	info, err := root.Lstat(StateName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is a link or no file")
	case err == nil && info.Size() > maxState:
		err = fmt.Errorf("it has more than %d bytes", maxState)
	case err == nil:
		s.text, err = root.ReadFile(StateName)
	}
	if err == nil {
		err = json.Unmarshal(s.text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s is damaged: %w; remove it, and the next pull compares every file", StateName, err)
	}
	if seal, err := s.seal(); err != nil || !hmac.Equal([]byte(seal), []byte(s.Seal)) {
		return state{WorkspaceID: s.WorkspaceID, Files: map[string]entry{}, foreign: true, text: s.text}, nil
	}
	return s, nil
}

func (s state) seal() (string, error) {
	s.Seal = ""
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return statedir.Seal(os.Getenv, text)
}

// edit is what becomes of the file that remembers it. Where there is no place for a secret
// it has no seal, and the next pull compares every file.
func (s state) edit() (datadir.Edit, error) {
	s.Seal, _ = s.seal()
	text, err := json.MarshalIndent(s, "", "  ")
	return datadir.Edit{Path: StateName, Content: append(text, '\n'), Force: true}, err
}
