package embedded

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/workspace"
)

// Audit is who made, revoked and changed which key, role and environment,
// oldest first: the newest so many events, or with 0 all. Another process may be serving
// the data directory.
func Audit(ctx context.Context, dir string, newest int) ([]audit.Event, error) {
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return nil, err
	}
	events, err := auditOf(ctx, registry.Registry, filepath.Join(dir, local.RepositoryName), newest)
	return events, errors.Join(err, registry.Close())
}

func auditOf(ctx context.Context, registry *access.Registry, git string, newest int) ([]audit.Event, error) {
	entries, err := registry.Audit(ctx, newest)
	if err != nil {
		return nil, err
	}
	environments, err := environmentEvents(ctx, git)
	return audit.Events(entries, environments, newest), err
}

// environmentEvents are those of the commits that changed the workspace file.
func environmentEvents(ctx context.Context, git string) ([]audit.Event, error) {
	head, err := local.HeadOf(git)
	if err != nil || head == "" {
		return nil, err
	}
	objects, err := disk.Open(git)
	if err != nil {
		return nil, err
	}
	reader := objects.Reader(ctx)
	defer reader.Close()
	trees := revwalk.NewTrees(reader)
	way := revwalk.Walk[repository.Commit]{Trees: trees, Begin: func(c repository.Commit, _ []object.ID) repository.Commit { return c }}
	var events []audit.Event
	err = way.Each(ctx, object.ParseID(head), func(n *revwalk.Node[repository.Commit], touched []repository.Touch) error {
		i := slices.IndexFunc(touched, func(t repository.Touch) bool { return t.Path == workspace.File })
		if i < 0 {
			return nil
		}
		before, err := declarationBefore(trees, reader, n.Parents)
		if err != nil {
			return err
		}
		var after []byte
		if touched[i].Blob != "" {
			if after, err = object.ReadAs(reader.Read, object.ParseID(touched[i].Blob), object.Blob); err != nil {
				return err
			}
		}
		c := n.Row
		c.SHA = n.ID.String()
		events = append(events, audit.EnvironmentEvents(c, before, after)...)
		return nil
	})
	return events, err
}

// declarationBefore is the workspace file of a commit's first parent.
func declarationBefore(trees *revwalk.Trees, reader *odb.Reader, parents []object.ID) ([]byte, error) {
	if len(parents) == 0 {
		return nil, nil
	}
	parent, err := trees.Commit(parents[0])
	if err != nil {
		return nil, err
	}
	blob, there, err := trees.Find(parent.Tree, workspace.File)
	if err != nil || !there {
		return nil, err
	}
	return object.ReadAs(reader.Read, blob, object.Blob)
}
