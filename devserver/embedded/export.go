package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
)

// Export writes a workspace as an ordinary git clone with a work tree, from a
// data directory that another process may be serving. It returns the commit.
func Export(ctx context.Context, dir, target string) (string, error) {
	git := filepath.Join(dir, local.RepositoryName)
	commit, err := local.HeadOf(git)
	if err != nil {
		return "", err
	}
	if commit == "" {
		return "", errors.New("the workspace has no commit yet")
	}
	if entries, err := os.ReadDir(target); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty; name a directory that is new", target)
	}
	if err := layClone(git, target, commit); err != nil {
		return "", err
	}
	objects, err := disk.Open(filepath.Join(target, ".git"))
	if err != nil {
		return "", err
	}
	e := exporter{reader: objects.Reader(), target: target, index: index.Index{Version: 2}}
	defer e.reader.Close()
	if err := e.commit(ctx, commit); err != nil {
		return "", err
	}
	return commit, e.writeIndex()
}

// layClone copies the objects and writes what makes them a clone.
func layClone(git, target, commit string) error {
	clone := filepath.Join(target, ".git")
	if err := os.MkdirAll(filepath.Join(clone, "refs", "heads"), 0o777); err != nil {
		return err
	}
	source := GitSource{git: git, commit: commit}
	if err := source.copyTo(clone, nil); err != nil {
		return err
	}
	origin, err := filepath.Abs(git)
	if err != nil {
		return err
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = " + quoteConfig(origin) +
		"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	return errors.Join(
		os.WriteFile(filepath.Join(clone, "config"), []byte(config), 0o666),
		os.WriteFile(filepath.Join(clone, "HEAD"), []byte("ref: refs/heads/main\n"), 0o666),
	)
}

func quoteConfig(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

type exporter struct {
	reader *disk.Reader
	target string
	index  index.Index
}

func (e *exporter) commit(ctx context.Context, id string) error {
	_, content, err := e.reader.Read(id)
	if err != nil {
		return err
	}
	commit, err := object.DecodeCommit(content)
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
	_, content, err := e.reader.Read(id)
	if err != nil {
		return err
	}
	entries, err := object.DecodeTree(content)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := e.entry(ctx, entry, folder+entry.Name); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) entry(ctx context.Context, entry object.TreeEntry, path string) error {
	if !filepath.IsLocal(filepath.FromSlash(path)) || strings.EqualFold(strings.SplitN(path, "/", 2)[0], ".git") {
		return fmt.Errorf("the tree holds %q, which can not be written here", path)
	}
	to := filepath.Join(e.target, filepath.FromSlash(path))
	switch entry.Mode {
	case "40000":
		return e.tree(ctx, entry.ID, path+"/")
	case "160000": // a submodule is its own repository
		return errors.Join(os.MkdirAll(to, 0o777), e.note(entry, path, 0))
	}
	_, content, err := e.reader.Read(entry.ID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	switch entry.Mode {
	case "120000":
		err = os.Symlink(string(content), to)
	case "100755":
		err = os.WriteFile(to, content, 0o777)
	default:
		err = os.WriteFile(to, content, 0o666)
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
	f, err := os.Create(filepath.Join(e.target, ".git", "index"))
	if err != nil {
		return err
	}
	return errors.Join(index.NewEncoder(f).Encode(&e.index), f.Close())
}
