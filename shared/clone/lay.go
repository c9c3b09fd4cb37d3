package clone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
)

// Fill has work fill a directory that is new or empty. When work fails, the
// directory is as it was.
func Fill(target string, work func() error) error {
	_, err := os.Lstat(target)
	isNew := errors.Is(err, fs.ErrNotExist)
	info, err := os.Stat(target) // a link may lead to a directory
	switch {
	case isNew:
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s exists and is not a directory; name a new one", target)
	default:
		entries, err := os.ReadDir(target)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s is not empty; name a directory that is new", target)
		}
	}
	if err := work(); err != nil {
		return errors.Join(err, empty(target, isNew))
	}
	return nil
}

// empty takes away what work has left.
func empty(target string, whole bool) error {
	if whole {
		return os.RemoveAll(target)
	}
	entries, err := os.ReadDir(target)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(target, entry.Name())))
	}
	return err
}

// Begin makes a directory a repository with a work tree that has neither
// objects nor files yet. What it was cloned from, its origin, may be "".
func Begin(target, origin string) (git string, err error) {
	git = filepath.Join(target, ".git")
	for _, folder := range []string{"refs/heads", "objects/pack"} {
		if err := os.MkdirAll(filepath.Join(git, filepath.FromSlash(folder)), 0o777); err != nil {
			return "", err
		}
	}
	if origin != "" {
		if err := os.MkdirAll(filepath.Join(git, remoteRefs), 0o777); err != nil {
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

// CheckOut makes a commit the head of a repository that Begin has begun, and
// that has all objects by now, and writes its files and git's index.
func CheckOut(ctx context.Context, target, commit string) error {
	git := filepath.Join(target, ".git")
	if err := setHead(git, commit); err != nil {
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
	e := exporter{reader: objects.Reader(ctx), root: root, index: index.Index{Version: 2}}
	defer e.reader.Close()
	e.reader.MaxBlob(largestFile)
	if err := e.commit(ctx, commit); err != nil {
		return err
	}
	return e.writeIndex()
}

// remoteRefs are the branches of what a repository was cloned from.
var remoteRefs = filepath.Join("refs", "remotes", "origin")

func setHead(git, commit string) error {
	err := setRef(filepath.Join(git, "refs", "heads", "main"), commit)
	if _, none := os.Stat(filepath.Join(git, remoteRefs)); err == nil && none == nil {
		err = setRef(filepath.Join(git, remoteRefs, "main"), commit)
	}
	return err
}

// setRef flushes the reference, as the objects are: a branch without content
// would be worse than none.
func setRef(path, commit string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString(commit + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

func quoteConfig(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// largestFile bounds what is written of a tree: it is in memory meanwhile.
const largestFile = 1 << 30

type exporter struct {
	reader *odb.Reader
	root   *os.Root // nothing is written outside it, whatever links say
	index  index.Index
}

func (e *exporter) commit(ctx context.Context, id string) error {
	commit, err := object.ReadCommit(e.reader.Read, id)
	if err != nil {
		return err
	}
	return e.tree(ctx, commit.Tree, "")
}

// tree writes the files of a tree, in git's order, which is the index's.
func (e *exporter) tree(ctx context.Context, id, folder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := object.ReadTree(e.reader.Read, id)
	if err != nil {
		return err
	}
	seen := map[string]object.TreeEntry{}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name)
		other, twice := seen[name]
		if !writable(name) || twice && clash(entry, other) {
			return fmt.Errorf("the tree holds %q, which cannot be written here", folder+entry.Name)
		}
		seen[name] = entry
		if err := e.entry(ctx, entry, folder+entry.Name); err != nil {
			return err
		}
	}
	return nil
}

// clash says whether of two entries of one name, but for its case, the second
// could be written through the first, a link. Many file systems know no case.
func clash(a, b object.TreeEntry) bool {
	return a.Name == b.Name || a.Mode == object.ModeSymlink || b.Mode == object.ModeSymlink
}

// writable refuses names, in lower case, that lead elsewhere, or into git's own
// files; git~1 is what Windows also calls .git.
func writable(name string) bool {
	return name != "" && name != "." && name != ".." && name != ".git" && name != "git~1" && filepath.IsLocal(name) && !strings.ContainsAny(name, `/\\`)
}

func (e *exporter) entry(ctx context.Context, entry object.TreeEntry, path string) error {
	to := filepath.FromSlash(path)
	switch entry.Mode {
	case "40000":
		return e.tree(ctx, entry.ID, path+"/")
	case "160000": // a submodule is its own repository
		return errors.Join(e.root.MkdirAll(to, 0o777), e.note(entry, path, 0))
	}
	content, err := object.ReadAs(e.reader.Read, entry.ID, object.Blob)
	if err != nil {
		return err
	}
	if err := e.root.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	switch entry.Mode {
	case "120000":
		err = e.root.Symlink(string(content), to)
	case "100755":
		err = e.root.WriteFile(to, content, 0o777)
	default:
		err = e.root.WriteFile(to, content, 0o666)
	}
	return errors.Join(err, e.note(entry, path, len(content)))
}

func (e *exporter) note(entry object.TreeEntry, path string, size int) error {
	mode, err := filemode.New(entry.Mode)
	e.index.Entries = append(e.index.Entries, &index.Entry{
		Hash: plumbing.NewHash(entry.ID), Name: path, Mode: mode, Size: uint32(size),
	})
	return err
}

// writeIndex writes git's index, without what git knows of files from the
// file system: it fills that in when it first looks.
func (e *exporter) writeIndex() error {
	f, err := e.root.Create(filepath.Join(".git", "index"))
	if err != nil {
		return err
	}
	return errors.Join(index.NewEncoder(f).Encode(&e.index), f.Close())
}
