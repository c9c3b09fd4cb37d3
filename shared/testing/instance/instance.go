package instance

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/standin"
)

// Site is where an instance works: what a function reads from its environment.
type Site struct {
	DynamoDB, S3  string // endpoints; "" for AWS's own
	Table, Bucket string
}

// Clients are what an instance reaches the stores with.
type Clients struct {
	DB *dynamodb.Client
	S3 *awss3.Client
}

// Connect makes clients of an instance's own.
func (s Site) Connect(ctx context.Context) (Clients, error) {
	forTable, err := standin.Config(ctx, s.DynamoDB)
	if err != nil {
		return Clients{}, err
	}
	forBucket, err := standin.Config(ctx, s.S3)
	return Clients{dynamodb.NewFromConfig(forTable), awss3.NewFromConfig(forBucket, standin.PathStyle)}, err
}

// With returns clients that have more options.
func (c Clients) With(forTable func(*dynamodb.Options), forBucket func(*awss3.Options)) Clients {
	return Clients{dynamodb.New(c.DB.Options(), forTable), awss3.New(c.S3.Options(), forBucket)}
}

// unlimited lifts the rate limit.
var unlimited = ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}

// New makes an instance. The table authenticates, or what authenticator makes of it.
func (s Site) New(c Clients, authenticator func(*dynamo.Table) control.Authenticator) (http.Handler, error) {
	const public = "https://svc.test"
	table := dynamo.New(c.DB, s.Table)
	opened := &repositories{table: table, bucket: bucket.New(c.S3, s.Bucket), open: map[string]*repository.Repository{}}
	settings := control.Settings{Authenticator: table, Repository: opened.find, Now: time.Now, PublicURL: public}
	if authenticator != nil {
		settings.Authenticator = authenticator(table)
	}
	plane := control.New(settings)
	routes, notFound, err := httpapi.Routes(httpapi.Options{Service: plane, PublicURL: public, Limit: unlimited}, httpapi.All()...)
	if err != nil {
		return nil, err
	}
	settings.Authenticator = table.WithoutSecret() // as functions/delivery has it
	if authenticator != nil {
		settings.Authenticator = authenticator(table)
	}
	return router.New(append(routes, sdkapi.Routes(sdkapi.Options{Service: control.New(settings)})...), notFound), nil
}

// repositories are those that an instance has opened.
type repositories struct {
	table  *dynamo.Table
	bucket *bucket.Bucket

	lock sync.Mutex
	open map[string]*repository.Repository
}

func (r *repositories) find(_ context.Context, workspace string) (control.Repository, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.open[workspace] == nil {
		ledger := r.table.Ledger(access.ID(workspace))
		objects := s3.New(r.bucket, admin.Prefix(access.ID(workspace)), ledger.Packs)
		r.open[workspace] = repository.New(ledger, objects)
	}
	return r.open[workspace], nil
}
