package apitest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/iam"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

// full reports whether runs are as long as the service is promised for.
func full() bool { return os.Getenv("SVC_TEST_FULL") != "" }

// each is how many operations a client sends.
func each(short, long int) int {
	if full() {
		return long
	}
	return short
}

func background(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// service is a workspace on AWS and the keys of those who work on it.
type service struct {
	instance.Site
	stores    *admin.Stores
	workspace *admin.Workspace
	keys      []string // of clients, by their number
}

// lead leads to the stand-ins, which are the same for all tests here.
func lead(variable, value string) { _ = os.Setenv(variable, value) }

// open makes a table and a bucket.
func open(t *testing.T) *service {
	t.Helper()
	h := &service{Site: instance.Site{DynamoDB: standin.DynamoDB(t), S3: standin.S3(t)}}
	h.Table = standin.Table(t, standin.DynamoDBClient(t))
	h.Bucket = standin.Bucket(t, standin.S3Client(t))
	cfg := must.Get(standin.OperatorConfig(background(t), lead, h.DynamoDB, h.S3))(t)
	h.stores = admin.Open(cfg, h.Table, h.Bucket)
	must.Do(t, h.stores.CreateTable(background(t)))
	return h
}

// create makes a workspace that holds files, for so many clients, of which two
// each share a key.
func create(t *testing.T, files map[string]string, clients int) *service {
	t.Helper()
	h := open(t)
	source := source.Source{Name: "the test's files", Files: map[string][]byte{}}
	for path, text := range files {
		source.Files[path] = []byte(text)
	}
	author := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()}
	h.workspace = must.Get(h.stores.Create(background(t), admin.Creation{Name: "shop", Source: &source, Author: author}))(t)
	for i := range clients {
		if i%2 == 1 { // the twin of the one before
			h.keys = append(h.keys, h.keys[i-1])
			continue
		}
		h.keys = append(h.keys, h.issueKey(t, fmt.Sprint("client ", i), apiload.AuthorOf(i), "protected_engineer"))
	}
	return h
}

func (h *service) issueKey(t testing.TB, name, email string, roles ...string) string {
	t.Helper()
	key, _, err := h.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindUser, Name: name, Email: email, Roles: roles})
	must.Do(t, err)
	return key.Reveal()
}

// copied copies the prefix of the workspace to a directory, with main set to
// the head: all that git needs.
func (h *service) copied(t testing.TB) apiload.Git {
	t.Helper()
	ctx, dir := background(t), t.TempDir()
	db, objects, err := h.Clients(ctx)
	must.Do(t, err)
	id := access.ID(h.workspace.ID)
	store, prefix := bucket.New(objects, h.Bucket), s3.Prefix(h.workspace.ID)
	for info, err := range store.List(ctx, prefix) {
		must.Do(t, err)
		content, _, err := store.Get(ctx, info.Key)
		must.Do(t, err)
		put(t, filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(info.Key, prefix))), content)
	}
	head := must.Get(dynamo.New(db, h.Table).Ledger(id).Head(ctx))(t)
	put(t, filepath.Join(dir, "refs", "heads", "main"), []byte(head.Commit+"\n"))
	g := apiload.Git{Program: testenv.Program(t, "install git", "git"), Dir: dir}
	g.Run(t, "multi-pack-index", "write", "--no-progress") // many packs make it slow
	return g
}

func put(t testing.TB, path string, content []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(t, os.WriteFile(path, content, 0o666))
}

// sound demands that git and fsck find nothing wrong, and that the API tells
// the history as git does.
func (h *service) sound(t *testing.T, g apiload.Git, client *http.Client, base string) {
	t.Helper()
	g.Agrees(t, client, base, h.keys[0], apiload.Items...)
	checked := must.Get(h.workspace.Check(background(t), admin.Checking{Dir: t.TempDir()}))(t)
	for _, p := range checked.Problems {
		t.Errorf("svcadmin fsck: %s", p.What)
	}
	t.Logf("fsck: %d commits, %d objects, %d packs, %d of them orphans of lost races", checked.Commits, checked.Objects, checked.Packs, checked.Orphans)
}

// judge holds what instances ask of AWS against what the function may ask that
// asks it.
type judge struct {
	t        *testing.T
	policies map[string]*iam.Policy // by the functions' folders
}

func (h *service) newJudge(t *testing.T) *judge {
	t.Helper()
	policies := must.Get(iam.Policies("../../template.yaml", iam.Names{"Table": h.Table, "Bucket": h.Bucket,
		"MaintenanceQueue": path.Base(h.Queue), "MaintenanceDeadLetters": path.Base(h.DeadLetters), "WebhooksQueue": path.Base(h.WebhookQueue), "WebhooksDeadLetters": "none"}))(t)
	return &judge{t, policies}
}

// watch has a function's clients send nothing that its policy does not allow.
func (j *judge) watch(function string, c *aws.Config) {
	c.HTTPClient = iam.Client{Policy: j.policies[function], Next: awshttp.NewBuildableClient(), Denied: func(ctx context.Context, err error) {
		j.t.Errorf("AWS would deny this: for %q %s is %v", instance.Request(ctx), function, err)
	}}
}

// unused are the rights of the template that no function has used: several have the
// same policies, for the code that they share.
func (j *judge) unused() (rights []string) {
	used := map[string]bool{}
	for _, policy := range j.policies {
		for _, right := range policy.Rights() {
			used[right] = used[right] || !slices.Contains(policy.Unused(), right)
		}
	}
	for _, right := range slices.Sorted(maps.Keys(used)) {
		if !used[right] {
			rights = append(rights, right)
		}
	}
	return rights
}
