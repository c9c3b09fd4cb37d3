package standin_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"svc.example/svc/shared/testing/standin"
)

var ctx = context.Background()

// TestS3KeepsItsConditions: what the suites rely on.
func TestS3KeepsItsConditions(t *testing.T) {
	client := standin.S3Client(t)
	bucket := standin.Bucket(t, client)
	put := func() error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &bucket, Key: aws.String("a/b"), Body: strings.NewReader("text"), IfNoneMatch: aws.String("*"),
		})
		return err
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
	var api smithy.APIError
	if err := put(); !errors.As(err, &api) || api.ErrorCode() != "PreconditionFailed" {
		t.Errorf("made a second time: %v", err)
	}
}

func TestDynamoDBKeepsItsConditions(t *testing.T) {
	client := standin.DynamoDBClient(t)
	table := standin.Table(t, client)
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            &table,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func() error {
		_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{
			TableName:           &table,
			Item:                map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}},
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}}}})
		return err
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
	var cancelled *types.TransactionCanceledException
	if err := put(); !errors.As(err, &cancelled) || aws.ToString(cancelled.CancellationReasons[0].Code) != "ConditionalCheckFailed" {
		t.Errorf("made a second time: %v", err)
	}
}

// TestNoServerOutlivesItsProcess kills a process that has started a server.
func TestNoServerOutlivesItsProcess(t *testing.T) {
	if os.Getenv("STANDIN_CHILD") != "" {
		t.Setenv(standin.S3Variable, "")
		endpoint := standin.S3(t)
		os.Stdout.WriteString("endpoint=" + endpoint + "\n")
		select {}
	}
	standin.S3(t) // or skip
	temp := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestNoServerOutlivesItsProcess$")
	child.Env = append(os.Environ(), "STANDIN_CHILD=1", "TMPDIR="+temp)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() //nolint:errcheck // it was killed
	defer child.Process.Kill()
	var endpoint string
	for lines := bufio.NewScanner(out); endpoint == "" && lines.Scan(); {
		_, endpoint, _ = strings.Cut(lines.Text(), "endpoint=http://")
	}
	if !listens(endpoint) {
		t.Fatalf("nothing listens at %q", endpoint)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		found, _ := filepath.Glob(filepath.Join(temp, "*"))
		return len(found)
	}
	for range 3000 {
		if !listens(endpoint) && left() == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("after its process was killed the server listens: %v; files are left: %d", listens(endpoint), left())
}

func listens(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// TestNotInstalled: the message says what to do.
func TestNotInstalled(t *testing.T) {
	if os.Getenv("STANDIN_CHILD") != "" {
		if _, err := standin.StartDynamoDB(); !errors.Is(err, standin.ErrMissing) || !strings.Contains(err.Error(), "cargo install") {
			t.Fatalf("without the server: %v", err)
		}
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestNotInstalled$")
	child.Env = append(os.Environ(), "STANDIN_CHILD=1", "PATH="+t.TempDir(), standin.DynamoDBVariable+"=")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
