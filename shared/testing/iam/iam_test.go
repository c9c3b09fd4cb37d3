package iam

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"svc.example/svc/shared/testing/template"
)

// clients send to a server, and never twice.
func clients(url string) (*dynamodb.Client, *s3.Client, *sqs.Client) {
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
	return dynamodb.NewFromConfig(cfg), s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }), sqs.NewFromConfig(cfg)
}

func row(pk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: "s"}}
}

func with(row map[string]types.AttributeValue, name string) map[string]types.AttributeValue {
	row[name] = &types.AttributeValueMemberN{Value: "1"}
	return row
}

// TestRequests lets the SDK send each kind of request, and looks at what IAM is
// asked about it.
func TestRequests(t *testing.T) {
	var got []Request
	var failure error
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, failure = Requests(r, body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	db, objects, queues := clients(server.URL)
	ctx, table, bucket, queue := context.Background(), aws.String("t"), aws.String("b"), aws.String(server.URL+"/000000000000/q")
	keys := func(keys ...string) map[string][]string {
		m := map[string][]string{}
		for i := 0; i < len(keys); i += 2 {
			m["dynamodb:"+keys[i]] = append(m["dynamodb:"+keys[i]], keys[i+1])
		}
		return m
	}
	on := func(action string, keys map[string][]string) Request {
		return Request{Action: "dynamodb:" + action, Resource: tableARN("t"), Keys: keys}
	}
	object := func(action, resource string) Request {
		return Request{Action: "s3:" + action, Resource: "arn:aws:s3:::" + resource, Keys: map[string][]string{"s3:prefix": nil}}
	}
	for name, c := range map[string]struct {
		send func()
		want []Request
	}{
		"a row, whole": {
			func() { _, _ = db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: row("head/w")}) },
			[]Request{on("GetItem", keys("LeadingKeys", "head/w", "Select", "ALL_ATTRIBUTES"))},
		},
		"some of rows": {
			func() {
				_, _ = db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"t": {
					Keys: []map[string]types.AttributeValue{row("head/w"), row("access/w")}, ProjectionExpression: aws.String("#s, doc"), ExpressionAttributeNames: map[string]string{"#s": "secret"}}}})
			},
			[]Request{on("BatchGetItem", keys("LeadingKeys", "head/w", "LeadingKeys", "access/w", "Select", "SPECIFIC_ATTRIBUTES", "Attributes", "secret", "Attributes", "doc"))},
		},
		"a query": {
			func() {
				_, _ = db.Query(ctx, &dynamodb.QueryInput{TableName: table, KeyConditionExpression: aws.String("#p = :p AND sk BETWEEN :l AND :h"), ExpressionAttributeNames: map[string]string{"#p": "pk"},
					ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "log/w"}, ":l": &types.AttributeValueMemberS{Value: "0"}, ":h": &types.AttributeValueMemberS{Value: "9"}}})
			},
			[]Request{on("Query", keys("LeadingKeys", "log/w", "Select", "ALL_ATTRIBUTES"))},
		},
		"a scan": {
			func() { _, _ = db.Scan(ctx, &dynamodb.ScanInput{TableName: table}) },
			[]Request{on("Scan", keys("Select", "ALL_ATTRIBUTES"))},
		},
		"a transaction": {
			func() {
				_, _ = db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
					{Update: &types.Update{TableName: table, Key: row("head/w"), UpdateExpression: aws.String("SET #c = :c, n = if_not_exists(n, :c) REMOVE u"), ConditionExpression: aws.String("attribute_not_exists(format) OR #a = :a"),
						ExpressionAttributeNames:  map[string]string{"#c": "commit", "#a": "access"},
						ExpressionAttributeValues: map[string]types.AttributeValue{":c": &types.AttributeValueMemberN{Value: "1"}, ":a": &types.AttributeValueMemberN{Value: "1"}}}},
					{Delete: &types.Delete{TableName: table, Key: row("log/w")}},
				}})
			},
			[]Request{
				on("UpdateItem", keys("LeadingKeys", "head/w", "Attributes", "pk", "Attributes", "sk", "Attributes", "commit", "Attributes", "n", "Attributes", "u", "Attributes", "format", "Attributes", "access", "EnclosingOperation", "TransactWriteItems")),
				on("DeleteItem", keys("LeadingKeys", "log/w", "Attributes", "pk", "Attributes", "sk", "EnclosingOperation", "TransactWriteItems")),
			},
		},
		"expressions as the SDK builds them": {
			func() {
				_, _ = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: row("head/w"), UpdateExpression: aws.String("ADD #1 :0\n"),
					ConditionExpression:       aws.String("(attribute_not_exists (#0)) AND (#2 BETWEEN :1 AND :0)"),
					ExpressionAttributeNames:  map[string]string{"#0": "format", "#1": "fence", "#2": "access"},
					ExpressionAttributeValues: map[string]types.AttributeValue{":0": &types.AttributeValueMemberN{Value: "1"}, ":1": &types.AttributeValueMemberN{Value: "1"}}})
			},
			[]Request{on("UpdateItem", keys("LeadingKeys", "head/w", "Attributes", "pk", "Attributes", "sk", "Attributes", "fence", "Attributes", "format", "Attributes", "access"))},
		},
		"a change that asks for what became of the row": {
			func() {
				_, _ = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: row("head/w"), UpdateExpression: aws.String("REMOVE u"), ReturnValues: types.ReturnValueAllNew})
			},
			[]Request{on("UpdateItem", keys("LeadingKeys", "head/w", "Attributes", "pk", "Attributes", "sk", "Attributes", "u", "ReturnValues", "ALL_NEW"))},
		},
		"a condition that asks for what is there instead": {
			func() {
				_, _ = db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{
					TableName: table, Key: row("head/w"), ConditionExpression: aws.String("attribute_exists(fence)"), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}}}})
			},
			[]Request{on("ConditionCheckItem", keys("LeadingKeys", "head/w", "Attributes", "pk", "Attributes", "sk", "Attributes", "fence", "EnclosingOperation", "TransactWriteItems", "ReturnValues", "ALL_OLD"))},
		},
		"a batch of writes": {
			func() {
				_, _ = db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"t": {
					{PutRequest: &types.PutRequest{Item: with(row("item/w"), "o")}}, {DeleteRequest: &types.DeleteRequest{Key: row("log/w")}}}}})
			},
			[]Request{on("BatchWriteItem", keys("LeadingKeys", "item/w", "LeadingKeys", "log/w", "Attributes", "pk", "Attributes", "sk", "Attributes", "o"))},
		},
		"an object": {
			func() { _, _ = objects.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: aws.String("a/b c")}) },
			[]Request{object("GetObject", "b/a/b c")},
		},
		"an object's size": {
			func() { _, _ = objects.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: aws.String("a")}) },
			[]Request{object("GetObject", "b/a")},
		},
		"an object is stored": {
			func() {
				_, _ = objects.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("text")})
			},
			[]Request{object("PutObject", "b/a")},
		},
		"an object that must not be there": {
			func() {
				_, _ = objects.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("text"), IfNoneMatch: aws.String("*")})
			},
			[]Request{{Action: "s3:PutObject", Resource: "arn:aws:s3:::b/a", Keys: map[string][]string{"s3:if-none-match": {"*"}}}},
		},
		"an object is copied": {
			func() {
				_, _ = objects.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("a"), CopySource: aws.String("c/d")})
			},
			[]Request{object("PutObject", "b/a"), {Action: "s3:GetObject", Resource: "arn:aws:s3:::c/d"}},
		},
		"objects are deleted": {
			func() {
				_, _ = objects.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: bucket, Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("a")}, {Key: aws.String("c")}}}})
			},
			[]Request{object("DeleteObject", "b/a"), object("DeleteObject", "b/c")},
		},
		"the bucket is listed": {
			func() {
				_, _ = objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket, Prefix: aws.String("a/")})
			},
			[]Request{{Action: "s3:ListBucket", Resource: "arn:aws:s3:::b", Keys: map[string][]string{"s3:prefix": {"a/"}}}},
		},
		"messages are sent": {
			func() {
				_, _ = queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: queue, Entries: []sqstypes.SendMessageBatchRequestEntry{{Id: aws.String("1"), MessageBody: aws.String("{}")}}})
			},
			[]Request{{Action: "sqs:SendMessage", Resource: queueARN("q")}},
		},
	} {
		got, failure = nil, errors.New("nothing was sent")
		c.send()
		if failure != nil || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v", name, got, failure)
			continue
		}
		for i := range got {
			if !same(got[i], c.want[i]) {
				t.Errorf("%s: %v, want %v", name, got[i], c.want[i])
			}
		}
	}
	if _, err := Requests(httptest.NewRequest("PATCH", "/b/a", nil), nil); err == nil {
		t.Error("what is not understood passes")
	}
}

// same compares requests, whatever the order of what keys hold.
func same(a, b Request) bool {
	sets := func(keys map[string][]string) map[string]map[string]bool {
		out := map[string]map[string]bool{}
		for key, values := range keys {
			for _, v := range values {
				if out[key] == nil {
					out[key] = map[string]bool{}
				}
				out[key][v] = true
			}
		}
		return out
	}
	return a.Action == b.Action && a.Resource == b.Resource && reflect.DeepEqual(sets(a.Keys), sets(b.Keys))
}

const policies = `
Resources:
  T: {Type: AWS::DynamoDB::Table}
  B: {Type: AWS::S3::Bucket}
  F:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/f
      Policies:
        - Statement:
            - {Sid: Rows, Effect: Allow, Action: 'dynamodb:GetItem', Resource: !GetAtt T.Arn,
               Condition: {'ForAllValues:StringLike': {'dynamodb:LeadingKeys': [head/*]}, 'ForAllValues:StringEquals': {'dynamodb:Attributes': [pk, commit]},
                 StringEqualsIfExists: {'dynamodb:Select': SPECIFIC_ATTRIBUTES}, 'Null': {'dynamodb:Attributes': 'false'}}}
            - {Sid: Together, Effect: Allow, Action: 'dynamodb:PutItem', Resource: !GetAtt T.Arn, Condition: {'ForAnyValue:StringEquals': {'dynamodb:EnclosingOperation': TransactWriteItems}}}
            - {Sid: Objects, Effect: Allow, Action: ['s3:GetObject'], Resource: !Sub '${B.Arn}/w/*/pack/*'}
            - {Sid: New, Effect: Allow, Action: 's3:PutObject', Resource: !Sub '${B.Arn}/*', Condition: {'Null': {'s3:if-none-match': 'false'}}}
`

func policyOf(t *testing.T, text string) (*Policy, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := template.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := read.Functions()
	if err != nil {
		t.Fatal(err)
	}
	return New(read, functions["F"], Names{"T": "t", "B": "b"})
}

func TestAllows(t *testing.T) {
	p, err := policyOf(t, policies)
	if err != nil {
		t.Fatal(err)
	}
	get := func(keys ...string) Request {
		r := Request{Action: "dynamodb:GetItem", Resource: tableARN("t"), Keys: map[string][]string{"dynamodb:LeadingKeys": {"head/w"}}}
		for i := 0; i < len(keys); i += 2 {
			r.add("dynamodb:"+keys[i], keys[i+1])
		}
		return r
	}
	s3 := func(resource string) Request {
		return Request{Action: "s3:GetObject", Resource: "arn:aws:s3:::" + resource}
	}
	for _, c := range []struct {
		name string
		r    Request
		want bool
	}{
		{"attributes that are listed", get("Attributes", "pk", "Attributes", "commit", "Select", "SPECIFIC_ATTRIBUTES"), true},
		{"without Select", get("Attributes", "commit"), true},
		{"another Select", get("Attributes", "commit", "Select", "ALL_ATTRIBUTES"), false},
		{"one that is not listed", get("Attributes", "pk", "Attributes", "secret"), false},
		{"none, which is all", get(), false},
		{"another partition too", get("Attributes", "pk", "LeadingKeys", "access/w"), false},
		{"a put by itself", Request{Action: "dynamodb:PutItem", Resource: tableARN("t")}, false},
		{"a put in a transaction", Request{Action: "dynamodb:PutItem", Resource: tableARN("t"), Keys: map[string][]string{"dynamodb:EnclosingOperation": {"TransactWriteItems"}}}, true},
		{"another table", Request{Action: "dynamodb:PutItem", Resource: tableARN("u"), Keys: map[string][]string{"dynamodb:EnclosingOperation": {"TransactWriteItems"}}}, false},
		{"an object", s3("b/w/1/pack/a"), true},
		{"one in a folder", s3("b/w/1/x/pack/a/b"), true},
		{"another one", s3("b/w/1/HEAD"), false},
		{"another bucket", s3("c/w/1/pack/a"), false},
		{"an object that is new", Request{Action: "s3:PutObject", Resource: "arn:aws:s3:::b/a", Keys: map[string][]string{"s3:if-none-match": {"*"}}}, true},
		{"an object, written over", Request{Action: "s3:PutObject", Resource: "arn:aws:s3:::b/a"}, false},
	} {
		if got := p.Allows(c.r); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRightsThatNothingUses(t *testing.T) {
	p, err := policyOf(t, policies)
	if err != nil {
		t.Fatal(err)
	}
	all := len(p.Rights())
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	if err := p.Judge(r, []byte(`{"TableName": "t", "Key": {"pk": {"S": "head/w"}}, "ProjectionExpression": "pk"}`)); err != nil {
		t.Fatal(err)
	}
	unused := p.Unused()
	if len(unused) != all-3 || !slices.Contains(unused, "Rows: dynamodb:GetItem with dynamodb:Attributes commit") {
		t.Errorf("of %q unused are %q", p.Rights(), unused)
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	for name, change := range map[string][2]string{
		"a denial":           {"Effect: Allow, Action: ['s3", "Effect: Deny, Action: ['s3"},
		"all actions":        {"['s3:GetObject']", "['s3:*']"},
		"another condition":  {"ForAnyValue:StringEquals': {'dynamodb:Enclosing", "ForAnyValue:StringNotEquals': {'dynamodb:Enclosing"},
		"all resources":      {"Resource: !Sub '${B.Arn}/w/*/pack/*'", "Resource: '*'"},
		"another resource":   {"!Sub '${B.Arn}/w", "!Sub '${C.Arn}/w"},
		"more that is there": {"${B.Arn}/w", "${B.Arn}/${T}/w"},
	} {
		text := strings.Replace(policies, change[0], change[1], 1)
		if text == policies {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := policyOf(t, text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
