package apitest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/infra/command"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// drill is a service to which something happens, as infra/README.md has it.
type drill struct {
	*testing.T
	*service
	dir       string
	key, late string // late was made after the backup
}

// newDrill is a service with the flag before; then a backup was made, and a key and the
// flag after.
func newDrill(t *testing.T) *drill {
	files := map[string]string{"svc.json": `{"environments": ["production"]}`}
	d := &drill{T: t, service: create(t, files, 1), dir: t.TempDir()}
	d.operator()
	d.key = d.keys[0]
	d.make("before")
	d.admin("backup", "acme.tar")
	d.late = d.issueKey(t, "late", "late@example.com", "engineer")
	d.make("after")
	d.has(d.late, "after", "before")
	return d
}

// admin runs svcadmin, which has to succeed, and returns what it prints.
func (d *drill) admin(args ...string) string {
	d.Helper()
	status, out := d.try(args...)
	if status != 0 {
		d.Fatalf("svcadmin %s: status %d\n%s", strings.Join(args, " "), status, out)
	}
	return out
}

func (d *drill) try(args ...string) (status int, out string) {
	d.Helper()
	var b bytes.Buffer
	env := map[string]string{"SVC_TABLE": d.Table, "SVC_BUCKET": d.Bucket, "SVC_AUTHOR": "Ada <ada@example.com>"}
	began := time.Now()
	status = command.Main(background(d), args, cli.Caller{Stdin: strings.NewReader(""), Stdout: &b, Stderr: &b,
		Getenv: func(name string) string { return env[name] }, Workdir: d.dir, Now: time.Now})
	d.Logf("svcadmin %s (%d ms)\n%s", strings.Join(args, " "), time.Since(began).Milliseconds(), b.String())
	return status, b.String()
}

// ask asks an instance that has nothing in memory.
func (d *drill) ask(key, method, path, body string) (status int, text string) {
	d.Helper()
	api := must.Get(d.New(background(d), nil, slog.New(slog.DiscardHandler)))(d)
	r := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(background(d))
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (d *drill) want(key, method, path, body string, status int) string {
	d.Helper()
	got, text := d.ask(key, method, path, body)
	if got != status {
		d.Errorf("%s %s: %d where %d belongs: %s", method, path, got, status, text)
	}
	return text
}

// operator gives svcadmin the region and the credentials that the stand-ins take.
func (d *drill) operator() {
	d.Setenv("AWS_REGION", standin.Region)
	d.Setenv("AWS_ACCESS_KEY_ID", standin.AccessKey)
	d.Setenv("AWS_SECRET_ACCESS_KEY", standin.SecretKey)
}

func (d *drill) make(flag string) {
	d.Helper()
	d.want(d.key, "POST", "/v1/flags", fmt.Sprintf(`{"key": %q}`, flag), 200)
}

// has demands that these are the flags.
func (d *drill) has(key string, flags ...string) {
	d.Helper()
	d.want(key, "GET", "/v1/flags/"+flags[0], "", 200)
	if got := keysIn(d.want(key, "GET", "/v1/flags", "", 200)); !slices.Equal(got, flags) {
		d.Errorf("the flags are %v, want %v", got, flags)
	}
}

func keysIn(list string) (keys []string) {
	for _, found := range regexp.MustCompile(`"key":"([a-z0-9-]+)"`).FindAllStringSubmatch(list, -1) {
		keys = append(keys, found[1])
	}
	slices.Sort(keys)
	return keys
}

// whole demands that everything works again.
func (d *drill) whole(key string) {
	d.Helper()
	d.admin("fsck")
	d.want(key, "POST", "/v1/flags", `{"key": "again"}`, 200)
	d.want(key, "GET", "/v1/flags/before/history", "", 200)
	d.admin("fsck")
}

// newestTip is the first commit that tips lists.
func (d *drill) newestTip() string {
	d.Helper()
	found := regexp.MustCompile(`(?m)^\S+Z +([0-9a-f]{40}) .*whole`).FindStringSubmatch(d.admin("tips"))
	if found == nil {
		d.Fatal("no commit could be the head")
	}
	return found[1]
}

// otherTable is what point-in-time recovery makes: a table of another name, with the rows
// that there are now, or none.
func (d *drill) otherTable(copied bool) (name string) {
	d.Helper()
	db := standin.DynamoDBClient(d)
	name = standin.Table(d, db)
	cfg := must.Get(standin.OperatorConfig(background(d), lead, d.DynamoDB, d.S3))(d)
	must.Do(d, admin.Open(cfg, name, d.Bucket).CreateTable(background(d)))
	for pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &d.Table}); copied && pages.HasMorePages(); {
		page := must.Get(pages.NextPage(background(d)))(d)
		for _, row := range page.Items {
			must.Get(db.PutItem(background(d), &dynamodb.PutItemInput{TableName: &name, Item: row}))(d)
		}
	}
	return name
}

// otherBucket is one with the objects that there are now.
func (d *drill) otherBucket() (name string) {
	d.Helper()
	objects := standin.S3Client(d)
	name = standin.Bucket(d, objects)
	from, to := bucket.New(objects, d.Bucket), bucket.New(objects, name)
	for info, err := range from.List(background(d), "") {
		must.Do(d, err)
		content, _, err := from.Get(background(d), info.Key)
		must.Do(d, err)
		must.Get(to.Put(background(d), info.Key, bucket.Bytes(content)))(d)
	}
	return name
}

// deleteObjects deletes those of the bucket that are to go.
func (d *drill) deleteObjects(gone func(key string) bool) {
	d.Helper()
	b := bucket.New(standin.S3Client(d), d.Bucket)
	for info, err := range b.List(background(d), "") {
		must.Do(d, err)
		if gone(info.Key) {
			must.Do(d, b.Delete(background(d), info.Key))
		}
	}
}

func (d *drill) loseTable() {
	d.Helper()
	db := standin.DynamoDBClient(d)
	must.Get(db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &d.Table}))(d)
	d.want(d.key, "GET", "/v1/flags/before", "", 503)
	d.want(d.key, "POST", "/v1/flags", `{"key": "lost"}`, 503)
	d.Table = d.otherTable(false)
}

func TestTheTableIsLost(t *testing.T) {
	d := newDrill(t)
	newest := d.admin("tips")
	d.loseTable()
	d.admin("restore", "acme.tar")
	d.has(d.key, "before")
	d.want(d.late, "GET", "/v1/flags", "", 401)
	if tips := d.admin("tips"); strings.Contains(tips, "the head") || !strings.Contains(newest, d.newestTip()) {
		t.Errorf("the head is a tip, or the newest is not:\n%s\n%s", tips, newest)
	}
	d.admin("reindex", "--head", d.newestTip())
	d.has(d.key, "after", "before")
	d.want(d.late, "GET", "/v1/flags", "", 401)
	d.whole(d.key)
}

func TestTheBucketIsLost(t *testing.T) {
	d := newDrill(t)
	d.deleteObjects(func(string) bool { return true })
	d.unserved("after", "before")
	was := d.Bucket
	d.Bucket = standin.Name() // one that is not there
	d.unserved("after", "before")
	d.want(d.key, "POST", "/v1/flags", `{"key": "lost"}`, 503)
	d.Bucket = was
	// The table has all documents still: what is written now would be lost with the head.
	d.admin("workspace", "provisioning", "on")
	d.want(d.key, "POST", "/v1/flags", `{"key": "lost"}`, 503)
	if status, out := d.try("restore", "acme.tar"); status != 1 || !strings.Contains(out, "--git") {
		t.Errorf("%d: %s", status, out)
	}
	d.admin("restore", "acme.tar", "--git")
	d.want(d.key, "GET", "/v1/flags", "", 503)
	d.admin("workspace", "provisioning", "off")
	d.has(d.late, "before")
	d.whole(d.key)
	// A backup that is as new as the table leaves the head where it is.
	d.admin("backup", "acme.tar")
	d.deleteObjects(func(string) bool { return true })
	d.admin("restore", "acme.tar", "--git")
	d.has(d.late, "again", "before")
	d.admin("fsck")
}

// unserved demands that reads say what the table's head has, or that they cannot be
// answered.
func (d *drill) unserved(flags ...string) {
	d.Helper()
	for _, path := range []string{"/v1/flags", "/v1/flags/before", "/v1/flags/before/history", "/v1/activity"} {
		status, text := d.ask(d.key, "GET", path, "")
		if status != 503 && (status != 200 || path == "/v1/flags" && !slices.Equal(keysIn(text), flags)) {
			d.Errorf("GET %s: %d: %s", path, status, text)
		}
		d.Logf("GET %s: %d", path, status)
	}
}

// TestTheTableIsOlder: point-in-time recovery has made a table of an hour ago, whose rows
// name packs that were merged since, and are gone.
func TestTheTableIsOlder(t *testing.T) {
	d := newDrill(t)
	older := d.otherTable(true)
	for i := range 3 {
		d.make(fmt.Sprint("later-", i))
	}
	d.admin("compact", "--all")
	merged := regexp.MustCompile(`pack-[0-9a-f]{40}`)
	named := map[string]bool{}
	packs := must.Get(dynamo.New(standin.DynamoDBClient(t), d.Table).Ledger(access.ID(d.workspace.ID)).Packs(background(t)))(t)
	for _, p := range packs {
		named["pack-"+p] = true
	}
	d.deleteObjects(func(key string) bool { p := merged.FindString(key); return p != "" && !named[p] })
	d.Table = older
	d.unserved("after", "before")
	d.admin("backup", "older.tar") // which finds the objects in packs that the table does not name
	if status, out := d.try("fsck"); status != 1 {
		t.Errorf("%d: %s", status, out)
	}
	d.admin("reindex", "--head", d.newestTip())
	d.has(d.key, "after", "before", "later-0", "later-1", "later-2")
	d.whole(d.late)
}

// TestTheBucketIsOlder: it was put back to an hour ago, and the table was not.
func TestTheBucketIsOlder(t *testing.T) {
	d := newDrill(t)
	older := d.otherBucket()
	for i := range 3 {
		d.make(fmt.Sprint("later-", i))
	}
	d.Bucket = older
	d.unserved("after", "before", "later-0", "later-1", "later-2")
	d.admin("workspace", "provisioning", "on")
	d.want(d.key, "POST", "/v1/flags", `{"key": "on-top"}`, 503)
	if status, out := d.try("fsck"); status != 1 || !strings.Contains(out, "git lacks what the head") {
		t.Errorf("%d: %s", status, out)
	}
	d.admin("reindex", "--head", d.newestTip())
	d.admin("workspace", "provisioning", "off")
	d.has(d.key, "after", "before")
	d.whole(d.late)
}

// TestNobodyIsServedMeanwhile: while a workspace is being restored its keys are answered
// with 503.
func TestNobodyIsServedMeanwhile(t *testing.T) {
	d := newDrill(t)
	poll := regexp.MustCompile(`svc_pk_\w+`).FindString(d.admin("key", "create", "--kind", "public", "--name", "web", "--environment", "production"))
	d.want(poll, "POST", "/ofrep/v1/evaluate/flags", `{"context": {}}`, 200)
	must.Get(standin.DynamoDBClient(t).UpdateItem(background(t), &dynamodb.UpdateItemInput{TableName: &d.Table,
		Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "head/" + d.workspace.ID}, "sk": &types.AttributeValueMemberS{Value: "head"}},
		UpdateExpression: aws.String("SET #f = :none, restoring = :who"), ExpressionAttributeNames: map[string]string{"#f": "format"}, ExpressionAttributeValues: map[string]types.AttributeValue{":none": &types.AttributeValueMemberN{Value: "0"}, ":who": &types.AttributeValueMemberS{Value: "x"}}}))(t)
	d.want(d.key, "GET", "/v1/flags", "", 503)
	d.want(d.key, "POST", "/v1/flags", `{"key": "x"}`, 503)
	d.want(poll, "POST", "/ofrep/v1/evaluate/flags", `{"context": {}}`, 503)
	for _, args := range [][]string{{"key", "list"}, {"workspace", "provisioning", "off"}, {"reindex"}, {"backup", "x.tar"}} {
		if status, out := d.try(args...); status != 1 || !strings.Contains(out, "it is being restored") {
			t.Errorf("svcadmin %v: %d, %s", args, status, out)
		}
	}
	d.admin("restore", "acme.tar")
	d.has(d.key, "before")
}
