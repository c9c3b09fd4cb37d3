package standin

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/awsclient"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// What the started servers accept.
const (
	Region    = "us-east-1"
	AccessKey = "standin"
	SecretKey = "standin-secret"
)

// The variables that name a server that runs already.
const (
	DynamoDBVariable = "SVC_TEST_DYNAMODB"
	S3Variable       = "SVC_TEST_S3"
	SQSVariable      = "SVC_TEST_SQS"
)

// onAWS is the value of a variable that asks for AWS itself.
const onAWS = "aws"

// StartDynamoDB returns the endpoint of a DynamoDB, for a program that is no
// test; "" stands for AWS itself. ErrMissing: none is installed.
func StartDynamoDB() (endpoint string, err error) { return find(DynamoDBVariable, startDynoxide) }

// StartS3 returns the endpoint of an S3.
func StartS3() (endpoint string, err error) { return find(S3Variable, startVersitygw) }

// StartSQS returns the endpoint of an SQS.
func StartSQS() (endpoint string, err error) { return find(SQSVariable, startMoto) }

func find(variable string, start func() (string, error)) (string, error) {
	switch named := os.Getenv(variable); named {
	case "":
		return start()
	case onAWS:
		return "", nil
	default:
		return strings.TrimSuffix(named, "/"), nil
	}
}

// DynamoDB is StartDynamoDB for a test, which is skipped when none is
// installed.
func DynamoDB(t testing.TB) (endpoint string) {
	t.Helper()
	return found(t, StartDynamoDB)
}

// S3 is StartS3 for a test.
func S3(t testing.TB) (endpoint string) {
	t.Helper()
	return found(t, StartS3)
}

// SQS is StartSQS for a test.
func SQS(t testing.TB) (endpoint string) {
	t.Helper()
	return found(t, StartSQS)
}

func found(t testing.TB, start func() (string, error)) string {
	t.Helper()
	endpoint, err := start()
	if errors.Is(err, ErrMissing) {
		testenv.Skip(t, err.Error())
	}
	must.Do(t, err)
	return endpoint
}

// Config is the AWS configuration for an endpoint: "" is AWS itself. Tests
// that put something in between, a proxy for example, name its address.
func Config(ctx context.Context, endpoint string) (aws.Config, error) {
	keep := []func(*middleware.Stack) error{awsclient.KeepAlive}
	if endpoint != "" && !ownCredentials() {
		return aws.Config{
			Region:       Region,
			BaseEndpoint: aws.String(endpoint),
			Credentials:  credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, ""),
			APIOptions:   keep,
		}, nil
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithDefaultRegion(Region), config.WithAPIOptions(keep))
	if endpoint != "" {
		c.BaseEndpoint = aws.String(endpoint)
	}
	return c, err
}

// OperatorConfig is the configuration that leads to endpoints as an operator's
// does: by the environment, in which setenv sets what that takes.
func OperatorConfig(ctx context.Context, setenv func(variable, value string), dynamoDB, s3 string) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithDefaultRegion(Region)}
	for variable, endpoint := range map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": dynamoDB, "AWS_ENDPOINT_URL_S3": s3} {
		if endpoint != "" {
			setenv(variable, endpoint)
		}
	}
	if dynamoDB != "" && !ownCredentials() {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, "")))
	}
	return config.LoadDefaultConfig(ctx, options...)
}

// ownCredentials reports whether there are credentials for servers that were not
// started here. Those for the rest of the machine's work do not count.
func ownCredentials() bool {
	outside := os.Getenv(DynamoDBVariable) + os.Getenv(S3Variable)
	return outside != "" && os.Getenv("AWS_ACCESS_KEY_ID") != ""
}

// DynamoDBClient returns a client of DynamoDB.
func DynamoDBClient(t testing.TB, options ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	return dynamodb.NewFromConfig(configured(t, DynamoDB(t)), options...)
}

// S3Client returns a client of S3.
func S3Client(t testing.TB, options ...func(*s3.Options)) *s3.Client {
	t.Helper()
	return s3.NewFromConfig(configured(t, S3(t)), append([]func(*s3.Options){PathStyle}, options...)...)
}

// PathStyle puts a bucket's name into the path, not into the host's name,
// which the loopback interface has none of.
func PathStyle(o *s3.Options) { o.UsePathStyle = true }

func configured(t testing.TB, endpoint string) aws.Config {
	t.Helper()
	c := must.Get(Config(context.Background(), endpoint))(t)
	return c
}

// Name returns a name that no table or bucket has.
func Name() string { return "svc-test-" + strings.ToLower(rand.Text()) }

// Table returns the name of a table that does not exist yet, and deletes the
// table when the test ends.
func Table(t testing.TB, client *dynamodb.Client) string {
	t.Helper()
	name := Name()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Logf("the table %s is left behind: %v", name, err)
		}
	})
	return name
}

// Bucket makes a bucket, and removes it with all it holds when the test ends.
func Bucket(t testing.TB, client *s3.Client) string {
	t.Helper()
	name := Name()
	in := &s3.CreateBucketInput{Bucket: &name}
	if region := client.Options().Region; region != Region {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	must.Get(client.CreateBucket(context.Background(), in))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := discard(ctx, client, name); err != nil {
			t.Logf("the bucket %s is left behind: %v", name, err)
		}
	})
	return name
}

func discard(ctx context.Context, client *s3.Client, bucket string) error {
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		if len(page.Contents) == 0 {
			break
		}
		var all []types.ObjectIdentifier
		for _, o := range page.Contents {
			all = append(all, types.ObjectIdentifier{Key: o.Key})
		}
		if _, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: all}}); err != nil {
			return err
		}
	}
	_, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket})
	return err
}
