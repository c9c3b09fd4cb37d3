package pull

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/workspace"
)

// StateName is the file that remembers what was pulled.
const StateName = ".svc-pull.json"

// state is what was pulled last.
type state struct {
	WorkspaceID string `json:"workspaceId"`
	Tag         string `json:"tag,omitempty"` // of the export that Files are all of
	// CommitSHA is the head at the last pull: what is not in Files was not there then.
	CommitSHA string `json:"commitSha,omitempty"`
	// Stored says that the files hold documents as they are stored: an earlier
	// version made segments from a part of them.
	Stored bool             `json:"stored,omitempty"`
	Files  map[string]entry `json:"files"`
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

func readState(dir directory) (state, error) {
	s := state{Files: map[string]entry{}}
	text, err := dir.read(StateName)
	if err == nil && text == nil {
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

// edit is what becomes of the file that remembers it.
func (s state) edit() (datadir.Edit, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return datadir.Edit{Path: StateName, Content: append(text, '\n'), Force: true}, err
}

// layout reports whether a path is one that may be written: the state is a file
// that anybody may have edited.
func layout(path string) bool {
	_, key, ok := workspace.SplitPath(path)
	return path == workspace.File || ok && workspace.FileNameProblem(key, system) == ""
}
