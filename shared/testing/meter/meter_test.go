package meter_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/testing/meter"
	"svc.example/svc/shared/testing/standin"
)

var ctx = context.Background()

func TestS3(t *testing.T) {
	m := meter.New()
	client := standin.S3Client(t, func(o *s3.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
	bucket := standin.Bucket(t, client)
	m.Take()
	content := bytes.Repeat([]byte("x"), 5000)
	if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("key"), Body: bytes.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("key"), Range: aws.String("bytes=0-999")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out.Body); err != nil {
			t.Fatal(err)
		}
		_ = out.Body.Close()
	}
	_, _ = client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("missing")})
	counts := m.Take()
	if want := map[string]int{"PutObject": 1, "GetObject": 3}; !maps.Equal(counts.Requests(), want) {
		t.Errorf("counted %v, want %v", counts.Requests(), want)
	}
	// What is sent may be framed in chunks with a checksum behind them.
	if put := counts["S3.PutObject"]; put.Sent < 5000 || put.Sent > 5200 || put.Refused != 0 {
		t.Errorf("the write: %+v", put)
	}
	if get := counts["S3.GetObject"]; get.Received < 2000 || get.Received > 3000 || get.Refused != 1 {
		t.Errorf("the reads: %+v", get)
	}
	if total := counts.Total(); total.Requests != 4 || !strings.Contains(counts.String(), "S3.GetObject") {
		t.Errorf("in total %+v\n%s", total, counts)
	}
	if len(m.Take()) != 0 {
		t.Error("what was taken is counted still")
	}
}

func TestDynamoDB(t *testing.T) {
	m := meter.New()
	client := standin.DynamoDBClient(t, func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
	_, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		standin.Name(): {Keys: []map[string]types.AttributeValue{{"pk": &types.AttributeValueMemberS{Value: "a"}}}},
	}})
	if err == nil {
		t.Fatal("there is such a table")
	}
	one := m.Take()["DynamoDB.BatchGetItem"]
	if one.Requests != 1 || one.Refused != 1 || one.Sent == 0 || one.Received == 0 {
		t.Errorf("counted %+v", one)
	}
}
