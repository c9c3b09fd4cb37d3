package formattest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/webhook"
)

// TestTablesAndBuckets of a hosted workspace.
func TestTablesAndBuckets(t *testing.T) {
	testFormats(t, "hosted", dynamo.Format, func(t *testing.T) store { return newHosted(t) })
}

type hosted struct {
	instance.Site
	stores *admin.Stores
}

func newHosted(t *testing.T) hosted {
	t.Helper()
	h := hosted{Site: instance.Site{DynamoDB: standin.DynamoDB(t), S3: standin.S3(t)}}
	h.Table, h.Bucket = standin.Table(t, standin.DynamoDBClient(t)), standin.Bucket(t, standin.S3Client(t))
	config := must.Get(standin.OperatorConfig(t.Context(), t.Setenv, h.DynamoDB, h.S3))(t)
	h.stores = admin.Open(config, h.Table, h.Bucket)
	must.Do(t, h.stores.CreateTable(t.Context()))
	return h
}

func (h hosted) workspace(t *testing.T) *admin.Workspace {
	t.Helper()
	w := must.Get(h.stores.Find(t.Context(), "shop"))(t)
	return w
}

func (h hosted) create(t *testing.T) {
	must.Get(h.stores.Create(t.Context(), admin.Creation{
		Name: "shop", Source: &source.Source{Name: "the samples", Files: samples()},
		Author: repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()},
	}))(t)
}

func (h hosted) issueKey(t *testing.T, q access.KeyRequest) access.Key {
	key, _, err := h.workspace(t).IssueKey(t.Context(), "Ada", q)
	must.Do(t, err)
	return key
}

func (h hosted) revokeKey(t *testing.T, key access.Key) {
	must.Get(h.workspace(t).Registry().By("Ada").RevokeKey(t.Context(), key.ID(), noon))(t)
}

func (h hosted) events(t *testing.T) int {
	events := must.Get(h.workspace(t).Audit(t.Context(), 0))(t)
	return len(events)
}

func (h hosted) webhooks(t *testing.T, work func(*webhook.Manager) error) {
	must.Do(t, work(h.workspace(t).Webhooks("Ada")))
}

func (h hosted) open(t *testing.T) (http.Handler, func()) {
	handler := must.Get(h.New(t.Context(), nil, slog.New(slog.DiscardHandler)))(t)
	return handler, func() {}
}

// expires: the table forgets contexts by itself.
func (h hosted) expires(path string) bool { return strings.HasPrefix(path, "/v1/contexts") }

// object is what the bucket has beside an object's content.
type object struct {
	Key         string
	ContentType *string
	Metadata    map[string]string
}

func (h hosted) dump(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	keep := func(name string, rows []json.RawMessage) {
		text := must.Get(json.MarshalIndent(rows, "", " "))(t)
		files[name] = text
	}
	table, bucket, err := h.Clients(t.Context())
	must.Do(t, err)
	var rows []json.RawMessage
	for pages := dynamodb.NewScanPaginator(table, &dynamodb.ScanInput{TableName: &h.Table}); pages.HasMorePages(); {
		page := must.Get(pages.NextPage(t.Context()))(t)
		for _, item := range page.Items {
			row := must.Get(attributevalue.MarshalMapJSON(item))(t)
			rows = append(rows, row)
		}
	}
	keep("table.json", rows)
	var objects []json.RawMessage
	for pages := s3.NewListObjectsV2Paginator(bucket, &s3.ListObjectsV2Input{Bucket: &h.Bucket}); pages.HasMorePages(); {
		page := must.Get(pages.NextPage(t.Context()))(t)
		for _, o := range page.Contents {
			got := must.Get(bucket.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &h.Bucket, Key: o.Key}))(t)
			content := must.Get(io.ReadAll(got.Body))(t)
			row := must.Get(json.Marshal(object{*o.Key, got.ContentType, got.Metadata}))(t)
			files[fmt.Sprint("objects/", len(objects))] = content
			objects = append(objects, row)
		}
	}
	keep("bucket.json", objects)
	return files
}

func (h hosted) restore(t *testing.T, files map[string][]byte) {
	table, bucket, err := h.Clients(t.Context())
	must.Do(t, err)
	var rows []json.RawMessage
	must.Do(t, json.Unmarshal(files["table.json"], &rows))
	for _, row := range rows {
		item := must.Get(attributevalue.UnmarshalMapJSON(row))(t)
		must.Get(table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &h.Table, Item: item}))(t)
	}
	var objects []object
	must.Do(t, json.Unmarshal(files["bucket.json"], &objects))
	for i, o := range objects {
		must.Get(bucket.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: &h.Bucket, Key: &o.Key, ContentType: o.ContentType, Metadata: o.Metadata,
			Body: bytes.NewReader(files[fmt.Sprint("objects/", i)]),
		}))(t)
	}
}
