package admin

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/source"
)

// maxInPack bounds what is collected for a pack, uncompressed.
const maxInPack = 32 << 20

// repack writes everything that a commit reaches, and nothing else, into a
// temporary repository: the objects as they are, loose ones too.
func repack(ctx context.Context, from revwalk.Reader, commit string, progress Progress) (*mirror, error) {
	dir, err := os.MkdirTemp("", "svcadmin-")
	if err != nil {
		return nil, err
	}
	m := &mirror{git: dir}
	if m.objects, err = disk.Init(dir); err == nil {
		err = m.fill(ctx, from, commit, progress)
	}
	if err == nil {
		_, err = m.objects.Compact(ctx)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	m.packs = placesIn(m.objects, nil)
	return m, nil
}

func (m *mirror) close() { os.RemoveAll(m.git) }

// fill writes a history in few packs.
func (m *mirror) fill(ctx context.Context, from revwalk.Reader, commit string, progress Progress) error {
	var open []pack.Object
	size := 0
	flush := func() error {
		if len(open) == 0 {
			return nil
		}
		slices.Reverse(open) // the newest first, of which merging makes the whole ones
		made, err := pack.Encode(open)
		open, size = nil, 0
		if err != nil {
			return err
		}
		defer m.objects.Release(made.Name)
		return m.objects.PutPack(ctx, made.Name, made.Bytes, made.Index)
	}
	var flaws revwalk.Flaws
	r := &revwalk.Reach{Objects: from, Flaws: &flaws, Progress: progress.begin("reading the history", "commits"), Tell: func(o pack.Object) error {
		open = append(open, o)
		if size += len(o.Content); size < maxInPack {
			return nil
		}
		return flush()
	}}
	if err := cmp.Or(r.History(ctx, object.ParseID(commit)), flaws.Err()); err != nil {
		return err
	}
	return flush()
}

// upload stores a git repository's history in the bucket. No head names it yet.
func (w *Workspace) upload(ctx context.Context, git *source.Repository, progress Progress) (*mirror, error) {
	objects, err := git.Objects()
	if err != nil {
		return nil, err
	}
	reader := objects.Reader(ctx)
	defer reader.Close()
	reader.MaxBlob(revwalk.LargestFile)
	m, err := repack(ctx, reader, git.Commit(), progress)
	if err != nil {
		return nil, err
	}
	if err := w.putPacks(ctx, m.git, m.packs.names(), progress); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func packPath(dir, name, extension string) string {
	return filepath.Join(dir, filepath.FromSlash(odb.PackPath(name, extension)))
}

// importHistory puts the rows of a history into the table and makes its last
// commit the head. The bucket has its packs already.
func (w *Workspace) importHistory(ctx context.Context, m *mirror, commit string, progress Progress) error {
	reader := m.objects.Reader(ctx)
	defer reader.Close()
	_, err := w.ledger.Import(ctx, reader, commit, dynamo.ImportOptions{
		Objects: rebuilt{w.objects, m.objects}, Packs: m.packs.names(), Place: m.packs.of,
		Progress: progress.begin("telling the history", "commits"),
	})
	return err
}
