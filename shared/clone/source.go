package clone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
)

// Source is a git repository whose history is to be copied.
type Source struct {
	git    string // the bare repository, or the .git of one with a work tree
	commit string
}

// Find looks for a git repository at a directory: as its root, when the
// directory is one, or as what it is nested in.
func Find(dir string) (root *Source, nestedIn string, err error) {
	for _, git := range []string{dir, filepath.Join(dir, ".git")} {
		resolved, err := gitDirectory(git)
		if err != nil {
			return nil, "", err
		}
		if resolved != "" {
			commit, err := local.HeadOf(resolved)
			return &Source{resolved, commit}, "", err
		}
	}
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if _, err := os.Stat(filepath.Join(parent, ".git")); err == nil {
			return nil, parent, nil
		}
	}
	return nil, "", nil
}

// gitDirectory returns the repository at a path: the path itself, what a .git
// file points to, or "" when there is none.
func gitDirectory(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil
	}
	if info.IsDir() {
		_, noHead := os.Stat(filepath.Join(path, "HEAD"))
		_, noObjects := os.Stat(filepath.Join(path, "objects"))
		if noHead != nil || noObjects != nil {
			return "", nil
		}
		return path, nil
	}
	return "", fmt.Errorf("%s is a file: import the repository that this work tree belongs to", path)
}

// Files are the layout's files at the commit to be imported.
func (g *Source) Files(ctx context.Context) (map[string][]byte, error) {
	objects, err := disk.Open(g.git)
	if err != nil {
		return nil, err
	}
	tree, err := objects.Tree(ctx, repository.Head{Commit: g.commit})
	return tree.Files, err
}

// Empty says that the repository has no commit.
func (g *Source) Empty() bool { return g.commit == "" }

// Commit is the one that HEAD names, "" when there is none.
func (g *Source) Commit() string { return g.commit }

// Objects opens the repository's objects, to read them where they are.
func (g *Source) Objects() (*disk.Objects, error) { return disk.Open(g.git) }

// CopyTo copies the objects into a repository, file by file, and makes the
// commit its head. Progress, which may be nil, hears of the bytes.
func (g *Source) CopyTo(target string, progress func(done, total int64)) error {
	files, total, err := g.objectFiles()
	if err != nil {
		return err
	}
	var done int64
	for _, name := range files {
		n, err := copyFile(filepath.Join(target, "objects", name), filepath.Join(g.git, "objects", name))
		if err != nil {
			return fmt.Errorf("copying the repository: %w", err)
		}
		if done += n; progress != nil {
			progress(done, total)
		}
	}
	return setHead(target, g.commit)
}

// objectFiles lists the files of the object store that make it up.
func (g *Source) objectFiles() (names []string, total int64, err error) {
	store := filepath.Join(g.git, "objects")
	if _, err := os.Stat(filepath.Join(store, "info", "alternates")); err == nil {
		return nil, 0, fmt.Errorf("%s borrows objects from another repository (a shared clone): git repack -a -d makes it whole", g.git)
	}
	err = filepath.WalkDir(store, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(store, path)
		if err != nil || !isObjectFile(filepath.ToSlash(name)) {
			return err
		}
		if strings.HasSuffix(name, ".promisor") {
			return fmt.Errorf("%s is a partial clone, which lacks objects: clone it in full", g.git)
		}
		info, err := entry.Info()
		if err == nil {
			names, total = append(names, name), total+info.Size()
		}
		return err
	})
	return names, total, err
}

// isObjectFile says whether a file of the object store holds objects: a loose
// one, or a pack with its index.
func isObjectFile(name string) bool {
	folder, file, _ := strings.Cut(name, "/")
	if folder == "pack" {
		return strings.HasSuffix(file, ".pack") || strings.HasSuffix(file, ".idx") || strings.HasSuffix(file, ".promisor")
	}
	return len(folder) == 2 && len(file) == 38
}

func copyFile(to, from string) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return 0, err
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, in)
	return n, errors.Join(err, out.Sync(), out.Close())
}
