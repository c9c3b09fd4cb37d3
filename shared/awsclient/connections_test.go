package awsclient_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/awsclient"
	"svc.example/svc/shared/testing/must"
)

// late is a connection whose writer finds out that it has written a body when
// the answer is there: as on a machine that lets another goroutine run first.
type late struct {
	net.Conn
	answered chan bool
}

func (l late) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	if bytes.HasPrefix(b, []byte("POST ")) || bytes.HasPrefix(b, []byte("PUT ")) {
		return n, err // the body comes by itself
	}
	select {
	case <-l.answered:
		time.Sleep(10 * time.Millisecond) // the SDK takes the body away
	case <-time.After(time.Second):
	}
	return n, err
}

func (l late) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	select {
	case l.answered <- true:
	default:
	}
	return n, err
}

// connect counts the connections that requests with a body take.
func connect(t *testing.T, answer string, options ...func(*middleware.Stack) error) (*atomic.Int64, aws.Config) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	made := &atomic.Int64{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		made.Add(1)
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return late{c, make(chan bool)}, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return made, aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, APIOptions: options,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:  &http.Client{Transport: transport},
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
}

const requests = 8

// query asks DynamoDB for long answers.
func query(config aws.Config) error {
	client := dynamodb.NewFromConfig(config)
	for i := range requests {
		out, err := client.Query(context.Background(), &dynamodb.QueryInput{
			TableName: aws.String("table"), KeyConditionExpression: aws.String("pk = :pk"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "x"}},
		})
		if err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
		if len(out.Items) != 1 {
			return fmt.Errorf("query %d: %d items", i, len(out.Items))
		}
	}
	return nil
}

func put(config aws.Config) error {
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	for i := range requests {
		_, err := client.PutObject(context.Background(), &s3.PutObjectInput{
			Bucket: aws.String("bucket"), Key: aws.String("key"), Body: bytes.NewReader(make([]byte, 10_000)),
		})
		if err != nil {
			return fmt.Errorf("put %d: %w", i, err)
		}
	}
	return nil
}

var longAnswer = `{"Count": 1, "Items": [{"text": {"S": "` + strings.Repeat("long ", 200_000) + `"}}]}`

func TestConnectionsAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		ask    func(aws.Config) error
	}{
		"DynamoDB": {longAnswer, query},
		"S3":       {"", put},
	} {
		t.Run(name, func(t *testing.T) {
			// net/http waits for the writer for 50 ms, which a busy machine exceeds now and
			// then; without the option no try keeps one.
			var took []int64
			for range 20 {
				made, config := connect(t, c.answer, awsclient.KeepAlive, awsclient.KeepAlive)
				must.Report(t, c.ask(config))
				if took = append(took, made.Load()); made.Load() <= requests/2 {
					return
				}
			}
			t.Errorf("%d requests took %d connections", requests, took)
		})
	}
}

// TestStillNeeded fails once the SDK keeps its connections by itself: then this
// package can go.
func TestStillNeeded(t *testing.T) {
	made, config := connect(t, longAnswer)
	if err := query(config); err == nil && made.Load() == 1 {
		t.Error("the SDK does without this package")
	}
}
