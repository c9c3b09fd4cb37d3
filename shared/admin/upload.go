package admin

import (
	"context"
	"math"
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

// packed is a history in few packs, in a bare repository on disk.
type packed struct {
	dir     string
	commit  string
	objects *disk.Objects
	packs   places
}

func (p *packed) close() { os.RemoveAll(p.dir) }

// maxInPack bounds what is collected for a pack, uncompressed.
const maxInPack = 32 << 20

// repack writes everything that a commit reaches, and nothing else, into a
// temporary repository: the objects as they are, loose ones too.
func repack(ctx context.Context, from revwalk.Reader, commit string, progress Progress) (*packed, error) {
	dir, err := os.MkdirTemp("", "svcadmin-")
	if err != nil {
		return nil, err
	}
	p := &packed{dir: dir, commit: commit}
	if p.objects, err = disk.Init(dir); err == nil {
		err = p.fill(ctx, from, progress)
	}
	if err == nil {
		_, err = p.objects.Compact(ctx)
	}
	if err == nil {
		p.packs = placesIn(p.objects, nil)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *packed) fill(ctx context.Context, from revwalk.Reader, progress Progress) error {
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
		defer p.objects.Release(made.Name)
		return p.objects.PutPack(ctx, made.Name, made.Bytes, made.Index)
	}
	r := &revwalk.Reach{Objects: from, Progress: progress.begin("reading the history", "commits"), Tell: func(o pack.Object) error {
		open = append(open, o)
		if size += len(o.Content); size < maxInPack {
			return nil
		}
		return flush()
	}}
	if err := r.Between(ctx, object.ParseID(p.commit), 0, math.MaxInt); err != nil {
		return err
	}
	return flush()
}

// upload stores a git repository's history in the bucket. No head names it yet.
func (w *Workspace) upload(ctx context.Context, git *source.Repository, progress Progress) (*packed, error) {
	objects, err := git.Objects()
	if err != nil {
		return nil, err
	}
	reader := objects.Reader(ctx)
	defer reader.Close()
	reader.MaxBlob(revwalk.LargestFile)
	p, err := repack(ctx, reader, git.Commit(), progress)
	if err != nil {
		return nil, err
	}
	if err := w.putPacks(ctx, p.dir, p.packs.names(), progress); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func packPath(dir, name, extension string) string {
	return filepath.Join(dir, filepath.FromSlash(odb.PackPath(name, extension)))
}

// importHistory puts the rows of a history into the table and makes its last
// commit the head. The bucket has its packs already.
func (w *Workspace) importHistory(ctx context.Context, p *packed, progress Progress) error {
	reader := p.objects.Reader(ctx)
	defer reader.Close()
	_, err := w.ledger.Import(ctx, reader, p.commit, dynamo.ImportOptions{
		Objects: rebuilt{w.objects, p.objects}, Packs: p.packs.names(), Place: p.packs.of,
		Progress: progress.begin("telling the history", "commits"),
	})
	return err
}
