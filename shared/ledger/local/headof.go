package local

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// MainOf returns the commit that the branch main of a data directory's
// repository names, "" before the first commit. Like HeadOf, it needs no ledger.
func MainOf(git string) (string, error) {
	if err := checkRepository(git); err != nil {
		return "", err
	}
	r := reference{git: git}
	if _, err := r.files.stat(r.path("HEAD")); err != nil {
		return "", fmt.Errorf("%s is no git repository: %w", git, err)
	}
	commit, err := r.read()
	if err != nil || commit != "" {
		return commit, err
	}
	if begun, err := r.hasBegun(); err != nil || !begun && !r.hasPacks() {
		return "", err
	}
	return "", errNoMain
}

// HeadOf returns the commit that HEAD of a repository names, "" before its
// first commit. The directory is a bare repository or the .git of another. It
// takes no lock and needs no ledger: it is for an import,
// or a look into a repository that another process serves.
func HeadOf(git string) (string, error) {
	if err := checkRepository(git); err != nil {
		return "", err
	}
	var files filesystem
	content, err := files.read(filepath.Join(git, "HEAD"), maxRef)
	if err != nil {
		return "", fmt.Errorf("%s is no git repository: %w", git, err)
	}
	name, symbolic := strings.CutPrefix(string(bytes.TrimSpace(content)), "ref:")
	if !symbolic {
		return parseLoose(content)
	}
	name = strings.TrimSpace(name)
	if !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("HEAD of %s names %q, which is no branch", git, name)
	}
	return reference{files: files, git: git, name: name}.read()
}
