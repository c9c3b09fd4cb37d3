package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

var ctx = context.Background()

func start(t *testing.T, target string) (*faultproxy.Proxy, aws.Config) {
	t.Helper()
	proxy := must.Get(faultproxy.Start(target, faultproxy.Plan{}))(t)
	t.Cleanup(func() {
		must.Report(t, proxy.Close())
	})
	config := must.Get(standin.Config(ctx, proxy.URL()))(t)
	return proxy, config
}

func openS3(t *testing.T) (*faultproxy.Proxy, *s3.Client, string) {
	t.Helper()
	name := standin.Bucket(t, standin.S3Client(t))
	proxy, config := start(t, standin.S3(t))
	once := func(o *s3.Options) { o.Retryer = aws.NopRetryer{} }
	return proxy, s3.NewFromConfig(config, standin.PathStyle, once), name
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// always is a plan in which each request of an operation has a fault.
func always(kind faultproxy.Kind, operation string) faultproxy.Plan {
	return faultproxy.Plan{Seed: 3, Rates: faultproxy.Rates{kind: 1}, Only: func(r *http.Request) bool { return faultproxy.Operation(r) == operation }}
}

// TestS3Words: each fault as a client sees it, and whether the request was
// carried out.
func TestS3Words(t *testing.T) {
	proxy, client, name := openS3(t)
	for _, test := range []struct {
		kind faultproxy.Kind
		code string
		done bool
		fine bool
	}{
		{faultproxy.Drop, "", false, false},
		{faultproxy.Reset, "", false, false},
		{faultproxy.Error, "InternalError", false, false},
		{faultproxy.Unavailable, "ServiceUnavailable", false, false},
		{faultproxy.Throttle, "SlowDown", false, false},
		{faultproxy.Conflict, "ConditionalRequestConflict", false, false},
		{faultproxy.LostAnswer, "", true, false},
		{faultproxy.LateError, "InternalError", true, false},
		{faultproxy.Delay, "", true, true},
	} {
		key := "key of " + string(test.kind)
		proxy.Set(always(test.kind, "PUT"))
		_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &name, Key: &key, Body: strings.NewReader("text"), IfNoneMatch: aws.String("*")})
		if (err == nil) != test.fine || codeOf(err) != test.code {
			t.Errorf("%s: %v", test.kind, err)
		}
		_, err = client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &name, Key: &key})
		if (err == nil) != test.done {
			t.Errorf("%s: the object is there: %v", test.kind, err == nil)
		}
	}
	if counts := proxy.Counts(); counts.Requests != 18 || counts.Total() != 9 || counts.Injected[faultproxy.Throttle] != 1 {
		t.Errorf("counted %v", counts)
	}
}

func openDynamoDB(t *testing.T) (*faultproxy.Proxy, *dynamodb.Client, string) {
	t.Helper()
	plain := standin.DynamoDBClient(t)
	table := standin.Table(t, plain)
	must.Get(plain.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	}))(t)
	proxy, config := start(t, standin.DynamoDB(t))
	return proxy, dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }), table
}

func row(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}}
}

func transaction(table string, keys ...string) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: row(key)}})
	}
	return in
}

func TestDynamoDBWords(t *testing.T) {
	proxy, client, table := openDynamoDB(t)
	there := func(key string) bool {
		out := must.Get(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: row(key), ConsistentRead: aws.Bool(true)}))(t)
		return out.Item != nil
	}
	codes := map[string]bool{}
	proxy.Set(always(faultproxy.Throttle, "TransactWriteItems"))
	for i := range 20 {
		key := fmt.Sprint("throttled ", i)
		_, err := client.TransactWriteItems(ctx, transaction(table, key, key+"b"))
		if codes[codeOf(err)] = true; err == nil || there(key) {
			t.Errorf("throttled: %v", err)
		}
	}
	want := map[string]bool{"ThrottlingException": true, "ProvisionedThroughputExceededException": true, "TransactionCanceledException": true}
	if !maps.Equal(codes, want) {
		t.Errorf("throttling says %v", codes)
	}

	proxy.Set(always(faultproxy.Conflict, "TransactWriteItems"))
	_, err := client.TransactWriteItems(ctx, transaction(table, "a", "b", "c"))
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != 3 {
		t.Fatalf("a conflict: %v", err)
	}
	guilty := 0
	for _, reason := range cancelled.CancellationReasons {
		if aws.ToString(reason.Code) == "TransactionConflict" {
			guilty++
		}
	}
	if guilty != 1 || there("a") {
		t.Errorf("%d items are in conflict", guilty)
	}
	proxy.Set(always(faultproxy.Conflict, "PutItem"))
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: row("d")})
	var conflict *types.TransactionConflictException
	if !errors.As(err, &conflict) {
		t.Errorf("a conflict of one item: %v", err)
	}
	for kind, done := range map[faultproxy.Kind]bool{faultproxy.LostAnswer: true, faultproxy.LateError: true, faultproxy.Error: false, faultproxy.Unavailable: false, faultproxy.Drop: false, faultproxy.Reset: false, faultproxy.CutOff: true} {
		proxy.Set(always(kind, "TransactWriteItems"))
		if _, err := client.TransactWriteItems(ctx, transaction(table, string(kind))); err == nil || there(string(kind)) != done {
			t.Errorf("%s: %v; carried out: %v", kind, err, there(string(kind)))
		}
	}
}

func TestPartial(t *testing.T) {
	proxy, client, table := openDynamoDB(t)
	proxy.Set(always(faultproxy.Partial, "BatchWriteItem"))
	var writes []types.WriteRequest
	var keys []map[string]types.AttributeValue
	for i := range 5 {
		keys = append(keys, row(fmt.Sprint(i)))
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: keys[i]}})
	}
	wrote, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes}})
	if err != nil || len(wrote.UnprocessedItems[table]) != 1 {
		t.Fatalf("%+v, %v", wrote, err)
	}
	get := map[string]types.KeysAndAttributes{table: {Keys: keys, ConsistentRead: aws.Bool(true)}}
	read, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: get})
	if err != nil || len(read.Responses[table]) != 4 || len(read.UnprocessedKeys) != 0 {
		t.Fatalf("%+v, %v", read, err)
	}
	if _, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: wrote.UnprocessedItems}); err != nil { // of one, which is done
		t.Fatal(err)
	}
	proxy.Set(always(faultproxy.Partial, "BatchGetItem"))
	read, err = client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: get})
	if err != nil || len(read.Responses[table]) != 4 || len(read.UnprocessedKeys[table].Keys) != 1 || !*read.UnprocessedKeys[table].ConsistentRead {
		t.Fatalf("%+v, %v", read, err)
	}
	rest, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: read.UnprocessedKeys})
	if err != nil || len(rest.Responses[table]) != 1 {
		t.Fatalf("%+v, %v", rest, err)
	}
}
