package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"svc.example/svc/shared/checkout"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// Repository is a git repository whose history is to be copied.
type Repository struct {
	git    string // the bare repository, or the .git of one with a work tree
	commit string
	own    bool // svc has written it
}

// FindRepository looks for a git repository at a directory: as its root, when the
// directory is one, or as what it is nested in. One whose files lie elsewhere is
// an error.
func FindRepository(dir string) (root *Repository, nestedIn string, err error) {
	for _, git := range []string{filepath.Join(dir, ".git"), dir} {
		resolved, err := gitDirectory(git)
		if err != nil {
			return nil, "", err
		}
		if resolved != "" {
			// Files of a repository that lie among the documents of a directory may have come
			// with them, and its history would be imported in the place of theirs.
			for _, name := range append([]workspace.Folder{workspace.File}, workspace.Folders...) {
				if _, err := os.Lstat(filepath.Join(git, string(name))); err == nil {
					_, why := workspace.Obeyed("HEAD", false)
					return nil, "", fmt.Errorf("%s has HEAD and objects beside %s: %s", git, name, why)
				}
			}
			if err := checkInside(dir, resolved); err != nil {
				return nil, "", err
			}
			commit, err := local.HeadOf(resolved)
			return &Repository{git: resolved, commit: commit}, "", err
		}
	}
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if _, err := os.Stat(filepath.Join(parent, ".git")); err == nil {
			return nil, parent, nil
		}
	}
	return nil, "", nil
}

// RepositoryAt is the history up to a commit of svc's own repository, whose links
// are followed.
func RepositoryAt(git, commit string) *Repository { return &Repository{git, commit, true} }

// gitDirectory returns the repository at a path, or "" when there is none. One
// that cannot be read is an error: without it, its history would be left behind.
func gitDirectory(path string) (string, error) {
	info, err := stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is a file: import the repository that this work tree belongs to", path)
	}
	for _, name := range []string{"HEAD", "objects"} {
		if _, err := stat(filepath.Join(path, name)); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		} else if err != nil {
			return "", err
		}
	}
	return path, nil
}

// stat is os.Stat, but for a link that leads nowhere: that is not nothing.
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a symbolic link that leads nowhere", path)
		}
	}
	return info, err
}

// Tree is what the commit to be imported has.
func (r *Repository) Tree(ctx context.Context) (repository.Tree, error) {
	objects, err := disk.Open(r.git)
	if err != nil {
		return repository.Tree{}, err
	}
	return objects.Tree(ctx, repository.Head{Commit: r.commit})
}

// Empty says that the repository has no commit.
func (r *Repository) Empty() bool { return r.commit == "" }

// Commit is the one that HEAD names, "" when there is none.
func (r *Repository) Commit() string { return r.commit }

// Objects opens the repository's objects, to read them where they are.
func (r *Repository) Objects() (*disk.Objects, error) { return disk.Open(r.git) }

// CopyTo copies the objects into a repository, file by file, and makes the
// commit its head. Progress, which may be nil, hears of the bytes. Of a repository that
// svc has not written, a history in which an object is damaged, or has another content
// than its id stands for, is an error.
//
// Packs may be merged meanwhile, by svc or by git. What replaces them is there
// before they go, so the directory is read again until it shows nothing new.
func (r *Repository) CopyTo(ctx context.Context, target string, progress func(done, total int64)) error {
	c := copying{from: filepath.Join(r.git, "objects"), to: filepath.Join(target, "objects"), has: map[string]bool{}, progress: progress}
	if _, err := stat(c.from); err != nil {
		return fmt.Errorf("copying the repository: %w", err)
	}
	for c.again = true; c.again; {
		if err := c.pass(); err != nil {
			return fmt.Errorf("copying the repository: %w", err)
		}
	}
	if err := c.dropHalves(); err != nil {
		return err
	}
	if !r.own {
		if err := verifyHistory(ctx, target, r.commit); err != nil {
			return fmt.Errorf("the history of %s cannot be imported: %w", r.git, err)
		}
	}
	return checkout.SetMain(target, r.commit)
}

func verifyHistory(ctx context.Context, git, commit string) error {
	objects, err := disk.Open(git)
	if err != nil {
		return err
	}
	reader := objects.Reader(ctx)
	defer reader.Close()
	var flaws revwalk.Flaws
	err = revwalk.Verify(ctx, reader, &flaws, object.ParseID(commit))
	if lost := (*object.Lost)(nil); errors.As(err, &lost) {
		return fmt.Errorf("the object %s is missing, damaged, or not what its name says: git fsck in the repository tells more, and a clone of an undamaged copy can be imported", lost.ID)
	}
	return cmp.Or(err, flaws.Err())
}

// whole refuses a repository that does not have all of its objects itself.
func (r *Repository) whole() error {
	store := filepath.Join(r.git, "objects")
	if _, err := os.Stat(filepath.Join(store, "info", "alternates")); err == nil {
		return fmt.Errorf("%s borrows objects from another repository (a shared clone): git repack -a -d makes it whole", r.git)
	}
	promised, err := fs.Glob(os.DirFS(store), "pack/*.promisor")
	if err != nil {
		return err
	}
	if len(promised) > 0 {
		return fmt.Errorf("%s is a partial clone, which lacks objects: clone it in full", r.git)
	}
	return nil
}

// copying copies the files of an object store that others write to.
type copying struct {
	from, to    string
	has         map[string]bool // what was copied, by its path
	again       bool            // there was something new
	done, total int64
	progress    func(done, total int64)
}

// pass copies what is not there yet.
func (c *copying) pass() error {
	c.again = false
	folders, err := os.ReadDir(c.from)
	if err != nil {
		return err
	}
	var found []string
	for _, folder := range folders {
		if folder.Name() != "pack" && len(folder.Name()) != 2 {
			continue
		}
		info, err := c.stat(folder.Name())
		if err != nil {
			return err
		}
		if info == nil || !info.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(c.from, folder.Name()))
		if err = c.present(err); err != nil {
			return err
		}
		for _, file := range files {
			name := filepath.Join(folder.Name(), file.Name())
			if c.has[name] || !isObjectFile(folder.Name(), file.Name()) {
				continue
			}
			info, err := c.stat(name)
			if err != nil {
				return err
			}
			if info != nil {
				found, c.total = append(found, name), c.total+info.Size()
			}
		}
	}
	for _, name := range found {
		if err := c.present(c.file(name)); err != nil {
			return err
		}
	}
	return nil
}

// stat is nil for what is gone. Some keep the objects of their repositories on
// another disk by a link.
func (c *copying) stat(name string) (fs.FileInfo, error) {
	info, err := stat(filepath.Join(c.from, name))
	return info, c.present(err)
}

// present makes nothing of it that a file is gone: what it held lies elsewhere,
// where another pass finds it.
func (c *copying) present(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		c.again = true
		return nil
	}
	return err
}

func (c *copying) file(name string) error {
	c.again = true
	in, err := os.OpenFile(filepath.Join(c.from, name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, errNoFile(in.Name()))
	}
	to := filepath.Join(c.to, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	c.has[name] = true
	if c.done += n; c.progress != nil {
		c.progress(c.done, c.total)
	}
	return nil
}

// dropHalves removes packs of which only the pack or only the index was still
// there when its turn came.
func (c *copying) dropHalves() error {
	other := map[string]string{".pack": ".idx", ".idx": ".pack"}
	var problems []error
	for name := range c.has {
		extension := filepath.Ext(name)
		if half, packed := other[extension]; packed && !c.has[strings.TrimSuffix(name, extension)+half] {
			problems = append(problems, os.Remove(filepath.Join(c.to, name)))
		}
	}
	return errors.Join(problems...)
}

// isObjectFile reports whether a file in a folder of the object store holds
// objects: a loose one, or a pack with its index.
func isObjectFile(folder, file string) bool {
	if folder == "pack" {
		return strings.HasSuffix(file, ".pack") || strings.HasSuffix(file, ".idx")
	}
	return len(folder) == 2 && len(file) == 38
}
