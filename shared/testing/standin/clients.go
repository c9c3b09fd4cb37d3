// Package standin gives tests and benchmarks the real servers that stand for
// AWS: dynoxide for DynamoDB, versitygw for S3, moto for SQS; and a PostgreSQL.
// Programs that are shipped never import it.
//
// A test asks for an endpoint or for a ready client:
//
//	client := standin.DynamoDBClient(t)
//	table := standin.Table(t)            // a name; create the table yourself
//
//	client := standin.S3Client(t)
//	bucket := standin.Bucket(t, client)  // made, and removed with all it holds
//
//	url := standin.Postgres(t)           // use a schema of your own in it
//
// Where the server comes from:
//
//   - SVC_TEST_POSTGRES, when set, is the URL of a PostgreSQL that runs already.
//   - SVC_TEST_DYNAMODB, SVC_TEST_S3 and SVC_TEST_SQS, when set, are the
//     endpoint of a server that runs already, or "aws" for AWS itself. Credentials and region come
//     from where the AWS SDK finds them then (AWS_ACCESS_KEY_ID, AWS_REGION, a
//     profile); against another endpoint those below are taken when
//     AWS_ACCESS_KEY_ID is not set. With credentials, name all servers.
//   - Else dynoxide or versitygw is started from PATH, or moto_server from the
//     tools of infra/samlocal, once for each process, on a free port of the
//     loopback interface.
//   - Else the test is skipped and says how to install what is missing
//     (install.sh does it); with CI=true it fails.
//
// What must stay true: no server outlives the process that started it, however
// that ends. A shell watches a pipe whose other end only that process holds;
// when the pipe breaks, it kills the server and removes its directory. (Linux
// could kill a child with its parent, but does so when the thread ends that
// started it, and nobody would remove the directory.)
package standin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	"svc.example/svc/shared/testing/freeport"
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
	return must.Get(Config(context.Background(), endpoint))(t)
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

// program is a server that can be started.
type program struct {
	name    string                          // on PATH
	find    func() (path string, err error) // where it lies; nil: on PATH
	install string                          // how to get it
	prepare func(dir string) error          // what its directory needs; nil: nothing
	args    func(port string, dir string) []string
	env     []string
	script  string // of a shell that starts it, as $0; "": it is started itself
	end     string // the signal that ends it; "" is KILL
	serves  func(ctx context.Context, address string) bool
}

var dynoxide = program{
	name:    "dynoxide",
	install: "shared/testing/standin/install.sh, or: cargo install --locked dynoxide-rs",
	args: func(port string, _ string) []string {
		return []string{"serve", "--host", "127.0.0.1", "--port", port, "--log", "quiet"}
	},
	serves: answersOK("/"),
}

var versitygw = program{
	name:    "versitygw",
	install: "shared/testing/standin/install.sh, or: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0",
	args: func(port string, dir string) []string {
		return []string{"--port", "127.0.0.1:" + port, "--region", Region, "--quiet", "--keep-alive", "--health", "/health", "posix", dir}
	},
	env:    []string{"ROOT_ACCESS_KEY_ID=" + AccessKey, "ROOT_SECRET_ACCESS_KEY=" + SecretKey},
	serves: answersOK("/health"),
}

// motoServer keeps queues in memory. It comes with the tools of infra/samlocal.
var motoServer = program{
	name:    "moto_server",
	find:    func() (string, error) { return Tool("moto_server") },
	install: "make tools",
	args: func(port string, _ string) []string {
		return []string{"--host", "127.0.0.1", "--port", port}
	},
	serves: answersOK("/moto-api/"),
}

// ErrMissing says that a server is not installed.
var ErrMissing = errors.New("not installed")

var (
	startDynoxide  = sync.OnceValues(dynoxide.start)
	startVersitygw = sync.OnceValues(versitygw.start)
	startMoto      = sync.OnceValues(motoServer.start)
)

// start returns the endpoint of a new server that speaks HTTP.
func (p program) start() (endpoint string, err error) {
	address, err := p.startFound()
	return "http://" + address, err
}

// startFound returns the address of a new server. What is no test may take the port
// that was free a moment ago, hence the attempts.
func (p program) startFound() (address string, err error) {
	find := p.find
	if find == nil {
		find = func() (string, error) { return exec.LookPath(p.name) }
	}
	path, err := find()
	if err != nil {
		return "", fmt.Errorf("%s is %w: %s", p.name, ErrMissing, p.install)
	}
	for range 3 {
		if address, err = p.startAt(path, freeport.Take()); err == nil {
			return address, nil
		}
	}
	return "", err
}

// guard runs a server until its own input ends, then removes what the server
// left. Signals from the terminal go to the whole group; it ignores them,
// because the input ends soon after.
const guard = `trap '' INT TERM HUP
dir=$1 end=$2; shift 2
exec 3<&0
"$@" >"$dir/log" 2>&1 3<&- &
server=$!
(cat <&3 >/dev/null; kill -$end $server) &
watch=$!
wait $server
kill -9 $watch
rm -rf "$dir"
`

func (p program) startAt(path string, port string) (string, error) {
	dir, err := os.MkdirTemp("", "svc-standin-")
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", err
	}
	if p.prepare != nil {
		if err := p.prepare(dir); err != nil {
			return "", err
		}
	}
	command := []string{path}
	if p.script != "" {
		command = []string{"/bin/sh", "-c", p.script, path}
	}
	cmd := exec.Command("/bin/sh", slices.Concat([]string{"-c", guard, "sh", dir, cmp.Or(p.end, "KILL")}, command, p.args(port, data))...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir = dir
	dieWithParent, err := cmd.StdinPipe() // open until this process ends
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	address := "127.0.0.1:" + port
	if err := p.await(address, ended); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) // for the message only
		_ = dieWithParent.Close()
		return "", fmt.Errorf("starting %s: %w\n%s", p.name, err, log)
	}
	return address, nil
}

const patience = 20 * time.Second

func (p program) await(address string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		select {
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v", patience)
		case <-time.After(20 * time.Millisecond):
		}
		if p.serves(ctx, address) {
			return nil
		}
	}
}

// answersOK reports whether a path answers 200.
func answersOK(path string) func(context.Context, string) bool {
	return func(ctx context.Context, address string) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			return false
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
}

// Tool finds a program of aws-sam-cli's environment: on the PATH, or where make
// installs it, in this repository.
func Tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.EvalSymlinks(path)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		installed := filepath.Join(dir, "infra", "samlocal", ".venv", "bin", name)
		if _, err := os.Stat(installed); err == nil {
			return installed, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is %w: make tools", name, ErrMissing)
		}
	}
}
