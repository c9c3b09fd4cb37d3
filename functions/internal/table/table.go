// Package table connects a function to its DynamoDB table. It links nothing
// of S3.
//
// What must stay true: connecting makes no request, so that a function starts
// in the time that its program needs. The clients' configuration is made here
// of the variables that Lambda sets, and not by the SDK's own loading, which
// links and asks for much that is never there (profiles, single sign-on,
// instance metadata).
package table

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/awsclient"
	"svc.example/svc/shared/lastuse"
	"svc.example/svc/shared/ledger/dynamo"
)

// AWS makes the configuration of a service's clients, by the variable that
// names an endpoint of it that is not AWS's (AWS_ENDPOINT_URL_DYNAMODB).
type AWS func(endpointVariable string) aws.Config

// FromEnvironment is the configuration that Lambda gives a function.
func FromEnvironment(endpointVariable string) aws.Config {
	c := aws.Config{
		Region:      cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		APIOptions:  []func(*middleware.Stack) error{awsclient.KeepAlive},
		Credentials: credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")),
	}
	if endpoint := cmp.Or(os.Getenv(endpointVariable), os.Getenv("AWS_ENDPOINT_URL")); endpoint != "" {
		c.BaseEndpoint = &endpoint
	}
	return c
}

// EndpointVariable is the one of DynamoDB.
const EndpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// Client is a client of DynamoDB.
func (connect AWS) Client() *dynamodb.Client {
	return dynamodb.NewFromConfig(connect(EndpointVariable))
}

// Uses notes on which day a key was used last, beside the requests.
func Uses(rows *dynamo.Table, logger *slog.Logger) func(access.KeyRecord, time.Time) {
	tracker := &lastuse.Tracker{Mark: rows.MarkUsed, Failed: func(err error) {
		logger.Warn("when a key was used last is not noted", "error", err.Error())
	}}
	return tracker.Used
}

// Open is about the function's table.
func (connect AWS) Open(s settings.Settings) *dynamo.Table {
	return dynamo.New(connect.Client(), s.Table)
}

// OpenWithoutSecret is about the function's table, without the secrets by which
// the REST API signs cursors: a function that signs none may not read them.
func (connect AWS) OpenWithoutSecret(s settings.Settings) *dynamo.Table {
	return connect.Open(s).WithoutSecret()
}
