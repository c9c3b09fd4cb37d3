package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/devserver/sample"
	"svc.example/svc/functions"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/iam"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/standin"
)

// service is the hosted service, and a workspace in it.
type service struct {
	instance.Site
	config      aws.Config // an operator's
	credentials aws.Credentials
	stores      *admin.Stores
	workspace   *admin.Workspace
	key         string     // may edit all of the workspace
	oneTime     access.Key // signs its person in, once
	api         http.Handler
	invoke      functions.Invoke
	log         *slog.Logger
}

// start starts the stores and the functions over them. What the functions log, and
// what AWS would deny them, goes to log.
func start(ctx context.Context, template, url string, log io.Writer) (*service, error) {
	s := &service{log: slog.New(slog.NewTextHandler(log, nil))}
	s.PublicURL, s.SignIn = url, os.Getenv("SIGN_IN")
	// Maintenance names what its runs leave for later; here the next run does it.
	s.SQS, s.Queue, s.DeadLetters = "http://127.0.0.1:9", "http://127.0.0.1:9/queue", "http://127.0.0.1:9/dead"
	if err := s.makeStores(ctx); err != nil {
		return nil, err
	}
	if err := s.makeWorkspace(ctx); err != nil {
		return nil, err
	}
	policies, err := iam.Policies(template, iam.Names{"Table": s.Table, "Bucket": s.Bucket, "MaintenanceQueue": "queue", "MaintenanceDeadLetters": "dead", "WebhooksQueue": "webhooks", "WebhooksDeadLetters": "none"})
	if err != nil {
		return nil, err
	}
	judged := func(function string, c *aws.Config) {
		c.HTTPClient = iam.Client{Policy: policies[function], Next: awshttp.NewBuildableClient(), Denied: func(_ context.Context, err error) {
			s.log.Error("AWS would deny this", "function", function, "error", err.Error())
		}}
	}
	if s.api, err = s.New(ctx, judged, s.log); err != nil {
		return nil, err
	}
	s.invoke, err = s.Functions(ctx, judged, s.log)
	return s, err
}

// makeStores starts the servers and makes a table and a bucket.
func (s *service) makeStores(ctx context.Context) (err error) {
	s.Table = standin.Name()
	s.Bucket = s.Table
	if s.DynamoDB, err = standin.StartDynamoDB(); err != nil {
		return err
	}
	if s.S3, err = standin.StartS3(); err != nil {
		return err
	}
	_, objects, err := s.Clients(ctx)
	if err != nil {
		return err
	}
	if _, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.Bucket}); err != nil {
		return fmt.Errorf("making the bucket: %w", err)
	}
	setenv := func(variable, value string) { err = os.Setenv(variable, value) }
	config, problem := standin.OperatorConfig(ctx, setenv, s.DynamoDB, s.S3)
	if problem != nil || err != nil {
		return fmt.Errorf("naming the stores: %w, %w", problem, err)
	}
	s.config = config
	if s.credentials, err = config.Credentials.Retrieve(ctx); err != nil {
		return err
	}
	s.stores = admin.Open(config, s.Table, s.Bucket)
	return s.stores.CreateTable(ctx)
}

// makeWorkspace makes a workspace of the samples, and a key.
func (s *service) makeWorkspace(ctx context.Context) error {
	from := &source.Source{Name: "samples", Files: map[string][]byte{}}
	for _, f := range sample.All() {
		from.Files[f.Path] = f.Content
	}
	var err error
	s.workspace, err = s.stores.Create(ctx, admin.Creation{Name: "local", Source: from, Author: repository.Committer(time.Now().UTC().Truncate(time.Second))})
	if err != nil {
		return err
	}
	you := access.KeyRequest{Kind: access.KindUser, Name: "you", Roles: []string{"admin", "protected_engineer"}}
	key, _, err := s.workspace.IssueKey(ctx, "", you)
	if err != nil {
		return err
	}
	s.key = key.Reveal()
	you.Kind, you.Expires = access.KindOneTime, access.OneTimeFor
	s.oneTime, _, err = s.workspace.IssueKey(ctx, "", you)
	return err
}

// maintain runs maintenance again and again.
func (s *service) maintain(ctx context.Context, every time.Duration) {
	for ctx.Err() == nil {
		if err := s.maintainOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("maintenance failed", "error", err.Error())
		}
		_ = backoff.Sleep(ctx, every) // or the context has ended
	}
}

// maintainOnce has maintenance look after each workspace, as its queue does.
func (s *service) maintainOnce(ctx context.Context) error {
	ids, err := s.stores.WorkspaceIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		message, err := json.Marshal(map[string]any{"Records": []map[string]string{{"messageId": "1", "body": fmt.Sprintf(`{"workspace":%q}`, id)}}})
		if err != nil {
			return err
		}
		answer, err := s.invoke(ctx, "maintenance", message)
		if err != nil || strings.Contains(string(answer), "itemIdentifier") {
			return fmt.Errorf("the workspace %s: %s, %w", id, answer, err)
		}
	}
	return nil
}
