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

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/template"
)

// clients send to a server, and never twice.
func clients(url string) (*dynamodb.Client, *s3.Client) {
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
	return dynamodb.NewFromConfig(cfg), s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
}

func row(pk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: "s"}}
}

// TestRequests lets the SDK send requests, and looks at what IAM is asked about them: what
// no test would miss that sends everything under the policies of the template.
func TestRequests(t *testing.T) {
	var got []Request
	var failure error
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, failure = Requests(r, body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	db, objects := clients(server.URL)
	ctx, table, bucket := context.Background(), aws.String("t"), aws.String("b")
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
		"an object that must not be there": {
			func() {
				_, _ = objects.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("a"), Body: strings.NewReader("text"), IfNoneMatch: aws.String("*")})
			},
			[]Request{{Action: "s3:PutObject", Resource: "arn:aws:s3:::b/a", Keys: map[string][]string{"s3:if-none-match": {"*"}}}},
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
            - {Sid: Rows, Effect: Allow, Action: 'dynamodb:GetItem', Resource: !Sub ['arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}', {Name: !Ref T}],
               Condition: {'ForAllValues:StringLike': {'dynamodb:LeadingKeys': [head/*]}, 'ForAllValues:StringEquals': {'dynamodb:Attributes': [pk, commit]},
                 StringEqualsIfExists: {'dynamodb:Select': SPECIFIC_ATTRIBUTES}, 'Null': {'dynamodb:Attributes': 'false'}}}
            - {Sid: Together, Effect: Allow, Action: 'dynamodb:PutItem', Resource: !Sub ['arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}', {Name: !Ref T}], Condition: {'ForAnyValue:StringEquals': {'dynamodb:EnclosingOperation': TransactWriteItems}}}
            - {Sid: Objects, Effect: Allow, Action: ['s3:GetObject'], Resource: !Sub ['arn:${AWS::Partition}:s3:::${Name}/w/*/pack/*', {Name: !Ref B}]}
            - {Sid: New, Effect: Allow, Action: 's3:PutObject', Resource: !Sub ['arn:${AWS::Partition}:s3:::${Name}/*', {Name: !Ref B}], Condition: {'Null': {'s3:if-none-match': 'false'}}}
`

func policyOf(t *testing.T, text string) (*Policy, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	read := must.Get(template.Read(path))(t)
	functions := must.Get(read.Functions())(t)
	return New(read, functions["F"], Names{"T": "t", "B": "b"})
}

func TestRightsThatNothingUses(t *testing.T) {
	p := must.Get(policyOf(t, policies))(t)
	all := len(p.Rights())
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	must.Do(t, p.Check(r, []byte(`{"TableName": "t", "Key": {"pk": {"S": "head/w"}}, "ProjectionExpression": "pk"}`)))
	if unused := p.Unused(); len(unused) != all-3 || !slices.Contains(unused, "Rows: dynamodb:GetItem with dynamodb:Attributes commit") {
		t.Errorf("of %q unused are %q", p.Rights(), unused)
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	for name, change := range map[string][2]string{
		"a denial":           {"Effect: Allow, Action: ['s3", "Effect: Deny, Action: ['s3"},
		"all actions":        {"['s3:GetObject']", "['s3:*']"},
		"another condition":  {"ForAnyValue:StringEquals': {'dynamodb:Enclosing", "ForAnyValue:StringNotEquals': {'dynamodb:Enclosing"},
		"all resources":      {"Resource: !Sub ['arn:${AWS::Partition}:s3:::${Name}/w/*/pack/*', {Name: !Ref B}]", "Resource: '*'"},
		"another resource":   {"*', {Name: !Ref B}]}", "*', {Name: !Ref C}]}"},
		"a table's ARN":      {"!Sub ['arn:${AWS::Partition}:s3:::${Name}/w/*/pack/*', {Name: !Ref B}]", "!GetAtt T.Arn"},
		"more that is there": {"${Name}/w", "${Name}/${T}/w"},
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
