package instance

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/functions"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/testing/apigateway"
	"svc.example/svc/shared/testing/standin"
)

// Site is where an instance works: what a function reads from its environment.
type Site struct {
	DynamoDB, S3  string // endpoints; "" for AWS's own
	Table, Bucket string
	// SQS, Queue and DeadLetters are for maintenance; "" for none.
	SQS, Queue, DeadLetters string
	// WebhookQueue is for webhooks; "" for none.
	WebhookQueue string
	// WebhookAllow are ranges that webhooks may be in beside those of the internet.
	WebhookAllow string
	PublicURL    string // "" for https://svc.test
	// StreamURL is the server of the event streams; "" for none.
	StreamURL string
	// SignIn says with whom people sign in to the console, as the function reads it; "" for nobody.
	SignIn string
}

// Clients are clients of the stores beside an instance's own.
func (s Site) Clients(ctx context.Context) (*dynamodb.Client, *awss3.Client, error) {
	forTable, err := standin.Config(ctx, s.DynamoDB)
	if err != nil {
		return nil, nil, err
	}
	forBucket, err := standin.Config(ctx, s.S3)
	return dynamodb.NewFromConfig(forTable), awss3.NewFromConfig(forBucket, standin.PathStyle), err
}

// variables are what the template sets, but for the limits, which are lifted.
func (s Site) variables(name string) string {
	switch name {
	case "TABLE":
		return s.Table
	case "BUCKET":
		return s.Bucket
	case "PUBLIC_URL":
		return cmp.Or(s.PublicURL, "https://svc.test")
	case "QUEUE":
		return s.Queue
	case "WEBHOOK_QUEUE":
		return s.WebhookQueue
	case "WEBHOOK_ALLOW":
		return s.WebhookAllow
	case "DEAD_LETTERS":
		return s.DeadLetters
	case "STREAM_URL":
		return s.StreamURL
	case "SIGN_IN":
		return s.SignIn
	}
	for _, limit := range []string{"", "POLL_", "TELEMETRY_", "ANONYMOUS_"} {
		if name == limit+"LIMIT_PER_SECOND" || name == limit+"LIMIT_BURST" {
			return "1e9"
		}
	}
	return ""
}

// Functions makes an instance of each function. Faults and meters are put between
// them and the stores by change, which may be nil: it is called for the
// configuration of each function's clients of each store.
func (s Site) Functions(ctx context.Context, change func(function string, c *aws.Config), logger *slog.Logger) (functions.Invoke, error) {
	configs := map[string]aws.Config{}
	for service, endpoint := range map[string]string{functions.DynamoDB: s.DynamoDB, functions.S3: s.S3, functions.SQS: s.SQS} {
		c, err := standin.Config(ctx, endpoint)
		if err != nil {
			return nil, err
		}
		configs[service] = c
	}
	return functions.New(s.variables, func(function, service string) aws.Config {
		c := configs[service].Copy()
		if change != nil {
			change(function, &c)
		}
		return c
	}, logger)
}

// New makes an instance behind the gateway, of what Functions makes.
func (s Site) New(ctx context.Context, change func(function string, c *aws.Config), logger *slog.Logger) (http.Handler, error) {
	invoke, err := s.Functions(ctx, change, logger)
	if err != nil {
		return nil, err
	}
	var routes []apigateway.Route
	for _, r := range endpoints.Routes(httpapi.Endpoints()) {
		routes = append(routes, apigateway.Route{Key: r.Key, Target: r.Function})
	}
	table, err := apigateway.NewRoutes(routes)
	if err != nil {
		return nil, err
	}
	front := &apigateway.Front{Routes: table, Invoke: apigateway.Invoke(invoke), Logger: logger}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		front.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), waiting{}, r.Method+" "+r.URL.Path)))
	}), nil
}

type waiting struct{}

// Waits reports whether a client's request waits for what is asked of a store. None
// waits for the note of the day on which a key was used.
func Waits(ctx context.Context) bool { return ctx.Value(waiting{}) != nil }

// Request is the client's request that waits; "" for none.
func Request(ctx context.Context) string {
	request, _ := ctx.Value(waiting{}).(string)
	return request
}
