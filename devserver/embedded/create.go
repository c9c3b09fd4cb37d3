package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
)

// Creation is a workspace to be made.
type Creation struct {
	Name string
	// Files are what its first commit holds. With Git they are left out.
	Files map[string][]byte
	// By is who makes it, for the audit trail.
	By string
	// Source is what the files come from, in words, for the commit's message.
	Source string
	// Git is a repository whose history becomes the workspace's.
	Git *source.Repository
	// KeepKey puts the first key into the file FirstKeyName of the directory,
	// for its owner alone.
	KeepKey bool
	// Progress hears of a long import.
	Progress func(done, total int64)
}

// Bootstrap is the first key of a workspace, and what signs its owner in to the console, shown
// once.
type Bootstrap struct {
	Key       access.Key
	OneTime   access.Key
	Principal access.Principal
	Workspace access.ID
}

// bootstrapRoles may edit everything, and manage people and keys.
var bootstrapRoles = []string{"admin", "protected_engineer"}

// Create makes a data directory with a workspace and a first key. It is made
// beside its place and moved there when it is complete.
func Create(ctx context.Context, dir string, c Creation) (Bootstrap, error) {
	var b Bootstrap
	if _, err := os.Lstat(dir); err == nil {
		if err := os.Remove(dir); err != nil { // only an empty directory goes
			return b, fmt.Errorf("%s is not a data directory and not empty; name another with --data", dir)
		}
	}
	unfinished, discard, err := atomicfile.Unfinished(dir)
	if err != nil {
		return b, fmt.Errorf("making the data directory %s: %w", dir, atomicfile.Named(err, dir))
	}
	defer discard()
	if b, err = fill(ctx, unfinished, c); err != nil {
		return Bootstrap{}, err
	}
	if err := markOwn(unfinished, dir); err != nil {
		return Bootstrap{}, err
	}
	return b, local.Install(unfinished, dir)
}

func fill(ctx context.Context, dir string, c Creation) (Bootstrap, error) {
	var b Bootstrap
	record, err := access.NewWorkspace(rand.Reader, c.Name)
	if err != nil {
		return b, err
	}
	if err := local.Create(dir, record); err != nil {
		return b, err
	}
	if err := local.KeepOutOfGit(dir); err != nil {
		return b, err
	}
	if c.Git != nil {
		if err := c.Git.CopyTo(ctx, filepath.Join(dir, local.RepositoryName), c.Progress); err != nil {
			return b, err
		}
	}
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return b, err
	}
	b.Workspace = access.ID(record.ID)
	b.Key, b.Principal, err = registry.By(c.By).IssueKey(ctx, access.KeyRequest{
		Kind: access.KindUser, Name: "bootstrap", Email: "bootstrap@localhost", Roles: bootstrapRoles,
	})
	if err == nil {
		b.OneTime, _, err = registry.By(c.By).IssueKey(ctx, access.KeyRequest{Kind: access.KindOneTime, Name: "first start", Principal: b.Principal.ID, Expires: access.OneTimeFor})
	}
	err = errors.Join(err, registry.Close())
	if err == nil && c.KeepKey {
		err = writeNew(filepath.Join(dir, FirstKeyName), b.Key.Reveal()+"\n", 0o600)
	}
	if err != nil || len(c.Files) == 0 || c.Git != nil {
		return b, err
	}
	return b, Provision(ctx, dir, func(w *provision.Workspace) error {
		return w.Import(ctx, c.Source, c.Files, repository.Committer(time.Now()))
	})
}
