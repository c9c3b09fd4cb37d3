// Package repositories opens workspaces' repositories over the table and the
// bucket.
//
// What must stay true: opening makes no request, and what was opened is kept,
// with its snapshot, for the next request of this instance.
package repositories

import (
	"context"
	"sync"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
)

// Repositories are those of all workspaces.
type Repositories struct {
	table  *dynamo.Table
	bucket *bucket.Bucket

	mu   sync.Mutex
	open map[string]*repository.Repository
}

// Open is about the repositories in the function's table and bucket.
func Open(s settings.Settings, rows *dynamo.Table) *Repositories {
	config := table.Config("AWS_ENDPOINT_URL_S3")
	client := awss3.NewFromConfig(config, func(o *awss3.Options) {
		o.UsePathStyle = config.BaseEndpoint != nil // a host of its own for each bucket has only AWS
	})
	return &Repositories{table: rows, bucket: bucket.New(client, s.Bucket), open: map[string]*repository.Repository{}}
}

// Prefix is where a workspace's objects lie in the bucket, as infra/admin puts
// them there. It is written down twice because that package links much that a
// function should not; a test holds the two together.
func Prefix(workspace string) string { return "workspaces/" + workspace + "/" }

// most is how many an instance keeps. Each holds its workspace's documents.
const most = 32

// Find is control.Settings.Repository.
func (r *Repositories) Find(_ context.Context, workspace string) (control.Repository, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.open[workspace]; found != nil {
		return found, nil
	}
	if len(r.open) >= most {
		for other := range r.open {
			delete(r.open, other)
			break
		}
	}
	ledger := r.table.Ledger(access.ID(workspace))
	opened := repository.New(ledger, s3.New(r.bucket, Prefix(workspace), ledger.Packs))
	r.open[workspace] = opened
	return opened, nil
}
