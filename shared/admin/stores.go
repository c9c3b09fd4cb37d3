package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/awsclient"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/request"
	tabledynamo "svc.example/svc/shared/table/dynamo"
	telemetryrows "svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/webhook"
)

// Stores are where the workspaces of a hosted service lie.
type Stores struct {
	table  *dynamo.Table
	bucket *bucket.Bucket
	usage  *telemetryrows.Store
	rows   *tabledynamo.Table
	// requests are change requests.
	requests request.Store
}

// Open makes no request. A client of an S3 endpoint that is not AWS's own names
// the bucket in the path: such a server has no name for each bucket.
func Open(cfg aws.Config, table, bucketName string) *Stores {
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), awsclient.KeepAlive)
	return New(dynamodb.NewFromConfig(cfg), awss3.NewFromConfig(cfg, func(o *awss3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil || os.Getenv("AWS_ENDPOINT_URL_S3") != "" || os.Getenv("AWS_ENDPOINT_URL") != ""
	}), table, bucketName)
}

// New is Open for clients that are there.
func New(db *dynamodb.Client, objects *awss3.Client, table, bucketName string) *Stores {
	rows := tabledynamo.New(db, table)
	return &Stores{table: dynamo.New(db, table), bucket: bucket.New(objects, bucketName), usage: telemetryrows.New(rows, 0), rows: rows, requests: request.Store{Table: rows}}
}

// CreateTable makes the table, for a stand-in: on AWS the template does.
func (s *Stores) CreateTable(ctx context.Context) error { return s.table.Create(ctx) }

// Workspace is one workspace of a service.
type Workspace struct {
	*provision.Workspace
	stores  *Stores
	ledger  *dynamo.Ledger
	objects *s3.Objects
	repo    *repository.Repository
}

func (s *Stores) workspace(w access.Workspace) *Workspace {
	id := access.ID(w.ID)
	ledger := s.table.Ledger(id)
	objects := s3.New(s.bucket, s3.Prefix(w.ID), ledger.Packs)
	repo := repository.New(ledger, objects)
	return &Workspace{provision.New(w, ledger, repo), s, ledger, objects, repo}
}

func (w *Workspace) id() access.ID { return access.ID(w.ID) }

// prefix is where the workspace's objects lie in the bucket.
func (w *Workspace) prefix() string { return s3.Prefix(w.ID) }

// Registry is the workspace's keys, principals and record.
func (w *Workspace) Registry() *access.Registry { return w.stores.table.Registry(w.id()) }

// Audit is who made, revoked and changed which key, role and environment, oldest first:
// the newest so many events, or with 0 all.
func (w *Workspace) Audit(ctx context.Context, newest int) ([]audit.Event, error) {
	return w.Workspace.Audit(ctx, w.Registry(), newest)
}

// Webhooks are the workspace's, for somebody who manages them.
func (w *Workspace) Webhooks(by string) *webhook.Manager {
	return &webhook.Manager{Sender: &webhook.Sender{Table: w.stores.rows}, Workspace: w.ID, Registry: w.Registry().By(by), Head: func(ctx context.Context) (webhook.Position, error) {
		head, err := w.ledger.Head(ctx)
		return webhook.Position{Commit: head.Commit, Access: head.Access}, err
	}}
}

// Workspaces lists the workspaces, by name. Those that only a newer version can
// read are left out, and come as an error beside the others.
func (s *Stores) Workspaces(ctx context.Context) ([]access.Workspace, error) {
	all, err := s.table.Workspaces(ctx)
	slices.SortStableFunc(all, func(a, b access.Workspace) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// Find finds the workspace that a person names, by id or name. "" is the only
// one there is.
func (s *Stores) Find(ctx context.Context, name string) (*Workspace, error) {
	if _, err := access.ParseID(name); err == nil {
		w, err := s.table.Workspace(ctx, access.ID(name))
		if err == nil {
			return s.workspace(w), nil
		} else if !errors.Is(err, access.ErrNotFound) {
			return nil, err
		}
	}
	all, err := s.Workspaces(ctx)
	if err != nil && !errors.Is(err, repository.ErrNewer) {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(w access.Workspace) bool { return name != "" && w.Name != name && w.ID != name })
	switch {
	case err != nil && (name == "" || len(found) == 0): // perhaps it is the one that cannot be read
		return nil, err
	case len(found) == 1:
		return s.workspace(found[0]), nil
	case len(all) == 0:
		return nil, errors.New("there is no workspace yet; create one with: svcadmin workspace create <name>")
	case len(found) == 0:
		return nil, fmt.Errorf("there is no workspace %q; there are: %s", name, named(all))
	case name == "":
		return nil, fmt.Errorf("there are several workspaces; name one with --workspace: %s", named(all))
	}
	return nil, fmt.Errorf("%d workspaces are called %q; name one by its id: %s", len(found), name, named(found))
}

const maxNamed = 10

func named(all []access.Workspace) string {
	var names []string
	for _, w := range all[:min(len(all), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", w.Name, w.ID))
	}
	if more := len(all) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
