package service

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/devserver/sample"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/standin"
)

// Stores are a table and a bucket on the servers that stand in for AWS's.
type Stores struct {
	Admin    *admin.Stores
	Settings Settings // without PublicURL and limits
}

// NewStores starts the servers and makes a table and a bucket.
func NewStores(ctx context.Context) (*Stores, error) {
	rows, err := standin.StartDynamoDB()
	if err != nil {
		return nil, err
	}
	objects, err := standin.StartS3()
	if err != nil {
		return nil, err
	}
	name := "svc-local-" + strings.ToLower(rand.Text()[:8])
	queues, err := standin.StartSQS()
	if err != nil {
		return nil, err
	}
	s := &Stores{Settings: Settings{Table: name, Bucket: name, DynamoDB: rows, S3: objects, SQS: queues,
		Region: standin.Region, AccessKey: standin.AccessKey, Secret: standin.SecretKey}}
	s3config, err := standin.Config(ctx, objects)
	if err != nil {
		return nil, err
	}
	if _, err := s3.NewFromConfig(s3config, standin.PathStyle).CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil {
		return nil, fmt.Errorf("making the bucket: %w", err)
	}
	both := s3config.Copy()
	both.BaseEndpoint, both.ConfigSources = nil, []any{endpoints{"DynamoDB": rows, "S3": objects}}
	s.Admin = admin.Open(both, name, name)
	return s, s.Admin.CreateTable(ctx)
}

// endpoints are services' own endpoints, as the variables AWS_ENDPOINT_URL_S3
// and the like would name them.
type endpoints map[string]string

// GetServiceBaseEndpoint is what clients of the SDK ask for.
func (e endpoints) GetServiceBaseEndpoint(_ context.Context, service string) (string, bool, error) {
	endpoint, found := e[service]
	return endpoint, found, nil
}

// Workspace makes a workspace of the samples, and a key that may edit all of
// it.
func (s *Stores) Workspace(ctx context.Context, name string) (*admin.Workspace, access.Key, error) {
	source := &source.Source{Name: "samples", Files: map[string][]byte{}}
	for _, f := range sample.All() {
		source.Files[f.Path] = f.Content
	}
	author := repository.Committer(time.Now().UTC().Truncate(time.Second))
	w, err := s.Admin.Create(ctx, admin.Creation{Name: name, Source: source, Author: author})
	if err != nil {
		return nil, access.Key{}, err
	}
	key, _, err := w.IssueKey(ctx, "", access.KeyRequest{Kind: access.KindUser, Name: "you", Roles: []string{"protected_engineer"}})
	return w, key, err
}
