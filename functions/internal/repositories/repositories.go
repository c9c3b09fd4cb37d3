// Package repositories opens workspaces' repositories over the table and the
// bucket.
//
// What must stay true:
//
//   - Opening makes no request, and what was opened is kept, with its snapshots,
//     for the next request of this instance.
//   - What is kept stays within Settings.SnapshotBytes: the workspace that was
//     not used for longest goes first. A workspace that alone has more is not
//     read: its requests are told what it needs, and the others are served.
package repositories

import (
	"context"
	"errors"
	"fmt"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/heap"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
)

// Repositories are those of all workspaces.
type Repositories struct {
	table  *dynamo.Table
	bucket *bucket.Bucket
	most   int64 // bytes of a workspace that is read
	memory int64 // of the function
	open   *lru.Cache[string, *opened]
}

// Open is about the repositories in the function's table and bucket.
func Open(connect table.AWS, s settings.Settings, rows *dynamo.Table) *Repositories {
	return &Repositories{table: rows, bucket: bucket.New(bucket.Client(connect(bucket.EndpointVariable)), s.Bucket), most: s.SnapshotBytes(), memory: s.Memory, open: lru.New[string, *opened](s.SnapshotBytes())}
}

// opened is a workspace's repository. It is weighed after whatever may have made
// it hold more.
type opened struct {
	*repository.Repository
	objects   *s3.Objects
	all       *Repositories
	workspace string
}

// emptyBytes is about what a repository takes that holds nothing yet.
const emptyBytes = 1 << 10

func (o *opened) weigh() {
	o.all.open.Weigh(o.workspace, emptyBytes+o.Bytes()+o.objects.Bytes())
}

// Snapshot implements control.Repository.
func (o *opened) Snapshot(ctx context.Context, head repository.Head) (*repository.Snapshot, error) {
	defer o.weigh()
	s, err := o.Repository.Snapshot(ctx, head)
	return s, o.all.explain(err)
}

// Commit implements control.Repository.
func (o *opened) Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	defer o.weigh()
	s, err := o.Repository.Commit(ctx, base, draft)
	return s, o.all.explain(err)
}

// explain tells what a workspace needs that is too large for this function.
func (r *Repositories) explain(err error) error {
	var large *repository.TooLarge
	if !errors.As(err, &large) {
		return err
	}
	return &repository.Unavailable{Cause: err, Message: fmt.Sprintf(
		"the workspace has %d MB of documents, and %d MB are the most that can be served with a MemorySize of %d MB; the service's operator has to deploy it with one of %d MB or more",
		(large.Bytes+1<<20-1)>>20, large.Max>>20, r.memory>>20, heap.MemorySizeFor(large.Bytes))}
}

// At implements control.Repository.
func (o *opened) At(ctx context.Context, head repository.Head, path, revision string) (sha string, content []byte, err error) {
	defer o.weigh()
	return o.Repository.At(ctx, head, path, revision)
}

// Find is control.Settings.Repository.
func (r *Repositories) Find(_ context.Context, workspace string) (control.Repository, error) {
	return r.open.Share(workspace, emptyBytes, func() *opened {
		ledger := r.table.Ledger(access.ID(workspace))
		objects := s3.New(r.bucket, s3.Prefix(workspace), ledger.Packs).Within(r.most)
		objects.BeforeLoading(func(bytes int64) { r.open.Weigh(workspace, bytes) })
		return &opened{repository.New(ledger, objects), objects, r, workspace}
	}), nil
}
