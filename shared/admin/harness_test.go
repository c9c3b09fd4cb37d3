package admin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/versions"
)

var ctx = context.Background()

// service is a table and a bucket of a test's own.
type service struct {
	*Stores
	db         *dynamodb.Client
	table      string
	bucketName string
}

func newService(t *testing.T) *service {
	t.Helper()
	db, s3 := standin.DynamoDBClient(t), standin.S3Client(t)
	s := &service{db: db, table: standin.Table(t, db), bucketName: standin.Bucket(t, s3)}
	cfg := must.Get(standin.OperatorConfig(ctx, t.Setenv, standin.DynamoDB(t), standin.S3(t)))(t)
	s.Stores = Open(cfg, s.table, s.bucketName)
	must.Do(t, s.CreateTable(ctx))
	return s
}

// asking opens the stores once more, where ask is called before each request and may
// refuse it.
func (s *service) asking(t testing.TB, ask func() error) *Stores {
	t.Helper()
	cfg := must.Get(standin.OperatorConfig(ctx, t.Setenv, standin.DynamoDB(t), standin.S3(t)))(t)
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Ask", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, data middleware.Metadata, err error) {
			if err = ask(); err != nil {
				return out, data, err
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
	return Open(cfg, s.table, s.bucketName)
}

func ada() repository.Signature {
	return repository.Signature{Name: "Ada", Email: "ada@acme.example", When: time.Now()}
}

var git = realgit.Run

func write(t testing.TB, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, filepath.FromSlash(path))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
}

// flag is a document that verifies.
func flag(key string, on bool) string {
	return fmt.Sprintf(`{
  "key": %q,
  "type": "feature_flag",
  "valueType": "bool",
  "tags": [],
  "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": %v}}]},
  "environments": [],
  "variants": [{"value": {"type": "bool", "value": false}}, {"value": {"type": "bool", "value": true}}]
}
`, key, on)
}

const declared = `{"environments": ["development", {"name": "production", "protected": true}]}`

// directory is a config directory with some flags.
func directory(t testing.TB, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "svc.json", declared)
	for _, key := range flags {
		write(t, dir, "feature-flags/"+key+".json", flag(key, false))
	}
	return dir
}

// create makes a workspace from a directory or a repository.
func (s *service) create(t testing.TB, name, from string) *Workspace {
	t.Helper()
	source := must.Get(source.Read(ctx, from, plainPath))(t)
	return must.Get(s.Create(ctx, Creation{Name: name, Source: &source, Author: ada()}))(t)
}

// edit commits some edits, one by one.
func (s *service) edit(t testing.TB, w *Workspace, n int) {
	t.Helper()
	for i := range n {
		base := must.Get(w.Snapshot(ctx))(t)
		text := strings.Replace(flag("a", i%2 == 0), `"tags": []`, fmt.Sprintf(`"tags": ["t%d"]`, i), 1)
		must.Get(w.repo.Commit(ctx, base, repository.Draft{
			Changes: []repository.Change{{Path: "feature-flags/a.json", Content: []byte(text)}},
			Author:  ada(), Committer: ada(), Message: fmt.Sprintf("Edit %d\n", i),
		}))(t)
	}
}

// rows returns the rows whose partition begins so.
func (s *service) rows(t testing.TB, prefix string) []map[string]types.AttributeValue {
	t.Helper()
	var found []map[string]types.AttributeValue
	pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: &s.table})
	for pages.HasMorePages() {
		page := must.Get(pages.NextPage(ctx))(t)
		for _, row := range page.Items {
			if strings.HasPrefix(row["pk"].(*types.AttributeValueMemberS).Value, prefix) {
				found = append(found, row)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("there are no rows of %s", prefix)
	}
	return found
}

func (s *service) deleteRow(t testing.TB, row map[string]types.AttributeValue) {
	t.Helper()
	must.Get(s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.table, Key: map[string]types.AttributeValue{"pk": row["pk"], "sk": row["sk"]}}))(t)
}

func (s *service) putRow(t testing.TB, row map[string]types.AttributeValue) {
	t.Helper()
	must.Get(s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: row}))(t)
}

// clean fails the test when fsck finds anything.
func clean(t testing.TB, w *Workspace) Checked {
	t.Helper()
	found := must.Get(w.Check(ctx, Checking{}))(t)
	for _, p := range found.Problems {
		t.Errorf("fsck: %s", p.What)
	}
	return found
}

func plainPath(path string) string { return path }

func key(t testing.TB, w *Workspace) access.Key {
	t.Helper()
	k, _, err := w.IssueKey(ctx, "", access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@acme.example", Roles: []string{"engineer"}})
	must.Do(t, err)
	return k
}

// TestVersionsAreToldOfEveryCommit: else clients take everything again, twice.
func TestVersionsAreToldOfEveryCommit(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	told := func() string {
		t.Helper()
		head := must.Get(w.ledger.Head(ctx))(t)
		known, found := versions.Find(head.Versions, "production")
		if !found {
			t.Fatal("no versions are told")
		}
		return known.SDK.String()
	}
	first := told()
	must.Get(w.EditEnvironment(ctx, provision.EnvironmentEdit{Name: "qa", Add: true}, ada()))(t)
	if added := told(); added != first {
		t.Errorf("%s became %s with another environment", first, added)
	}
	must.Get(w.Reindex(ctx, "", Checking{}))(t)
	if again := told(); again != first {
		t.Errorf("%s became %s with new rows", first, again)
	}
}

// TestWhatGitCallsBrokenIsNotImported, and all of it is told, as far as people read: see
// package source.
func TestWhatGitCallsBrokenIsNotImported(t *testing.T) {
	blob := gitobjects.Blob("x")
	var entries []object.TreeEntry
	for range 60 {
		entries = append(entries, object.TreeEntry{Mode: object.ModeFile, Name: "..", ID: blob.ID})
	}
	inner := gitobjects.Tree(t, entries...)
	tree := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: inner.ID}, object.TreeEntry{Mode: object.ModeFile, Name: "configs", ID: blob.ID})
	commit := gitobjects.Commit(tree)
	from := must.Get(disk.Init(t.TempDir()))(t)
	gitobjects.Store(t, from, blob, inner, tree, commit)
	reader := from.Reader(t.Context())
	defer reader.Close()
	_, err := repack(t.Context(), reader, commit.ID.String(), nil)
	for _, want := range []string{"commit " + commit.ID.String() + `, "configs": there are two entries of that name`, `"configs/..": its name leads to a folder above`, "and 11 more"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAnEnormousFileIsNotImported: a history is read object by object, and one
// of them must not take all memory.
func TestAnEnormousFileIsNotImported(t *testing.T) {
	for size, want := range map[int]string{5 << 20: "", revwalk.LargestFile + 1: "huge.png: object"} {
		from := must.Get(disk.Init(t.TempDir()))(t)
		blob := gitobjects.Blob(strings.Repeat("x", size))
		tree := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "huge.png", ID: blob.ID})
		commit := gitobjects.Commit(tree)
		gitobjects.Store(t, from, blob, tree, commit)
		reader := from.Reader(t.Context())
		defer reader.Close()
		reader.MaxBlob(revwalk.LargestFile)
		p, err := repack(t.Context(), reader, commit.ID.String(), nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a file of %d bytes: %v, want %q", size, err, want)
		}
		if err == nil {
			p.close()
		}
	}
}
