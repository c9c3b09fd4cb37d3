package local

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// HeadOf returns the commit that HEAD of a repository names, "" before its
// first commit. The directory is a bare repository or the .git of another. It
// takes no lock and needs no ledger: it is for whoever imports a repository,
// or looks into one that another process serves.
func HeadOf(git string) (string, error) {
	if err := checkRepository(git); err != nil {
		return "", err
	}
	var files filesystem
	content, err := files.read(filepath.Join(git, "HEAD"), mostRef)
	if err != nil {
		return "", fmt.Errorf("%s is no git repository: %w", git, err)
	}
	name, symbolic := strings.CutPrefix(string(bytes.TrimSpace(content)), "ref:")
	if !symbolic {
		return parseLoose(content)
	}
	return reference{files: files, git: git, name: strings.TrimSpace(name)}.read()
}
