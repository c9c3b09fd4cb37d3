package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"svc.example/svc/shared/git"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/workspace"
)

// CheckFree refuses a place where a directory is to be made and something is already, but
// for an empty directory. It reports whether there is nothing yet.
func CheckFree(target string) (isNew bool, err error) {
	if _, err := git.Locate(target); errors.As(err, new(*git.LedOut)) { // by a link that may have come with the repository
		return false, err
	}
	entries, err := os.ReadDir(target) // a link may lead to a directory
	info, unknown := os.Lstat(target)
	switch {
	case err == nil && len(entries) > 0:
		return false, fmt.Errorf("%s is not empty; name a directory that is new", target)
	case err == nil:
		return false, nil
	case errors.Is(unknown, fs.ErrNotExist):
		return true, nil
	case unknown == nil && info.Mode()&fs.ModeSymlink != 0 && errors.Is(err, fs.ErrNotExist):
		leads, _ := os.Readlink(target)
		return false, fmt.Errorf("%s is a symbolic link to %s, which does not exist; name a directory that is new", target, leads)
	case unknown == nil && !info.IsDir():
		return false, fmt.Errorf("%s exists and is not a directory; name a new one", target)
	}
	return false, err
}

// Write makes a directory that is new or empty a repository with a work tree, at a commit.
// What it was cloned from, its origin, may be "". Copy puts all objects into its .git. When
// that fails, the directory is as it was.
func Write(ctx context.Context, target, origin, commit string, copy func(git string) error) error {
	isNew, err := CheckFree(target)
	if err != nil {
		return err
	}
	git, err := Init(target, origin)
	if err == nil {
		err = copy(git)
	}
	if err == nil {
		err = write(ctx, target, commit)
	}
	switch {
	case err == nil:
	case isNew:
		err = errors.Join(err, os.RemoveAll(target))
	default:
		entries, _ := os.ReadDir(target)
		for _, entry := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(target, entry.Name())))
		}
	}
	return err
}

// Init makes a directory a repository that has neither objects nor files yet, and
// returns its .git.
func Init(target, origin string) (git string, err error) {
	git = filepath.Join(target, ".git")
	folders := []string{"refs/heads", "objects/pack"}
	if origin != "" {
		folders = append(folders, remoteRefs)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(git, filepath.FromSlash(folder)), 0o777); err != nil {
			return "", err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if origin != "" {
		config += "[remote \"origin\"]\n\turl = " + quoteConfig(origin) +
			"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	}
	return git, errors.Join(
		os.WriteFile(filepath.Join(git, "config"), []byte(config), 0o666),
		os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o666),
	)
}

// write makes a commit the head of a repository that has all objects by now, and writes its
// files and git's index. It flushes only what SetMain does: a copy that a power cut spoils is
// made again.
func write(ctx context.Context, target, commit string) error {
	git := filepath.Join(target, ".git")
	if err := SetMain(git, commit); err != nil {
		return err
	}
	objects, err := disk.Open(git)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(target)
	if err != nil {
		return err
	}
	defer root.Close()
	w := writer{reader: objects.Reader(ctx), root: root, index: index.Index{Version: 2}}
	defer w.reader.Close()
	w.reader.MaxBlob(largestFile)
	c, err := object.ReadCommit(w.reader.Read, object.ParseID(commit))
	if err == nil {
		err = w.tree(c.Tree, "")
	}
	for _, link := range w.links {
		if err == nil {
			err = root.Symlink(link.to, link.path)
		}
	}
	if err != nil {
		return err
	}
	// Without what git knows of files from the file system: it fills that in
	// when it first looks.
	f, err := root.Create(filepath.Join(".git", "index"))
	if err != nil {
		return err
	}
	return errors.Join(index.NewEncoder(f).Encode(&w.index), f.Close())
}

// remoteRefs are the branches of what a repository was cloned from.
const remoteRefs = "refs/remotes/origin"

// SetMain makes a commit the head of a repository, and that of its origin's
// branch if it has an origin. It flushes these files and nothing else: neither
// their folders, nor objects.
func SetMain(git, commit string) error {
	for _, folder := range []string{"refs/heads", remoteRefs} {
		f, err := os.Create(filepath.Join(git, filepath.FromSlash(folder), "main"))
		if errors.Is(err, fs.ErrNotExist) && folder == remoteRefs {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = f.WriteString(commit + "\n")
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func quoteConfig(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// largestFile bounds what is written of a tree: it is in memory meanwhile.
const largestFile = 1 << 30

type writer struct {
	reader *odb.Reader
	root   *os.Root // nothing is written outside it, whatever links say
	index  index.Index
	// links come last: a file system may take names for the same that are
	// different here, and a file could be written through a link, into .git.
	links []link
}

// link is a symbolic link at a path.
type link struct{ path, to string }

// tree writes the files of a tree, in git's order, which is the index's.
func (w *writer) tree(id object.ID, folder string) error {
	entries, err := object.ReadTree(w.reader.Read, id)
	if err != nil {
		return err
	}
	seen := map[string]object.TreeEntry{}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name)
		if name == workspace.OldJournal {
			continue // for the index too: git says that they are deleted
		}
		other, twice := seen[name]
		if object.CheckName(name) != "" || !filepath.IsLocal(name) || strings.ContainsRune(name, filepath.Separator) || twice && clash(entry, other) {
			return fmt.Errorf("the tree holds %q, which cannot be written here", folder+entry.Name)
		}
		seen[name] = entry
		if err := w.entry(entry, folder+entry.Name); err != nil {
			return err
		}
	}
	return nil
}

// clash reports whether of two entries of one name, but for its case, the second
// could be written through the first, a link. Many file systems know no case.
func clash(a, b object.TreeEntry) bool {
	return a.Name == b.Name || a.Mode == object.ModeSymlink || b.Mode == object.ModeSymlink
}

func (w *writer) entry(entry object.TreeEntry, path string) error {
	to := filepath.FromSlash(path)
	switch entry.Mode {
	case object.ModeFolder:
		return w.tree(entry.ID, path+"/")
	case object.ModeSubmodule: // a submodule is its own repository
		return errors.Join(w.root.MkdirAll(to, 0o777), w.note(entry, path, 0))
	}
	content, err := object.ReadAs(w.reader.Read, entry.ID, object.Blob)
	if err != nil {
		return err
	}
	if err := w.root.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	switch entry.Mode {
	case object.ModeSymlink:
		w.links = append(w.links, link{to, string(content)})
	case object.ModeExecutable:
		err = w.root.WriteFile(to, content, 0o777)
	default:
		err = w.root.WriteFile(to, content, 0o666)
	}
	return errors.Join(err, w.note(entry, path, len(content)))
}

func (w *writer) note(entry object.TreeEntry, path string, size int) error {
	mode, err := filemode.New(entry.Mode)
	w.index.Entries = append(w.index.Entries, &index.Entry{
		Hash: entry.ID, Name: path, Mode: mode, Size: uint32(size),
	})
	return err
}
