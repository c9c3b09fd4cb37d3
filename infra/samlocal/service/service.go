// Package service runs the whole hosted service on this machine: the functions
// of a template in the emulator, their gateway, and servers that stand in for
// DynamoDB, S3 and SQS.
//
// What must stay true: the functions get what the template gives them, and
// only that: settings by the same names, time and memory, and the messages of
// its queues.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"svc.example/svc/infra/samlocal/apigateway"
	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/template"
)

// Options are what a service is made of.
type Options struct {
	Template  string // path of template.yaml
	Binaries  string // directory with a bootstrap below each function's group
	RIE       string // path of the emulator
	Instances int    // of each function, at most
	Log       io.Writer
	Settings  Settings
}

// Settings are what the functions are told.
type Settings struct {
	Table, Bucket     string
	Queues            map[string]string // addresses by the queues' names in the template
	DynamoDB, S3, SQS string            // endpoints
	Region            string
	AccessKey, Secret string
	PublicURL         string
	PerSecond, Burst  int // the rate limit; 0 is the template's default
	More              []string
}

// Service is a running service.
type Service struct {
	http.Handler
	Pool      *emulator.Pool
	Functions map[string]template.Function // by their names in the template

	stop   context.CancelFunc
	taking sync.WaitGroup
}

// New starts a service. Its functions start with their first requests.
func New(o Options) (*Service, error) {
	t, err := template.Read(o.Template)
	if err != nil {
		return nil, err
	}
	functions, err1 := t.Functions()
	routes, err2 := t.Routes()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Template, err)
	}
	var keys []apigateway.Route
	for _, r := range routes {
		keys = append(keys, apigateway.Route{Key: r.Key, Target: r.Function})
	}
	table, err := apigateway.NewRoutes(keys)
	if err != nil {
		return nil, err
	}
	s := &Service{Functions: functions}
	var run []emulator.Function
	for id, f := range functions {
		run = append(run, emulator.Function{
			Name: id, Binary: filepath.Join(o.Binaries, f.Group(), "bootstrap"), Env: append(o.Settings.Environment(), o.Settings.queuesOf(f)...),
			Timeout: f.Timeout, Memory: f.Memory,
		})
	}
	s.Pool = emulator.NewPool(o.RIE, run, o.Instances, o.Log)
	if err := s.takeMessages(t, o); err != nil {
		s.Close()
		return nil, err
	}
	s.Handler = &apigateway.Front{Routes: table, Invoke: s.Pool.Invoke, Logger: slog.New(slog.NewTextHandler(o.Log, nil))}
	return s, nil
}

// Close ends everything that New has started.
func (s *Service) Close() {
	if s.stop != nil {
		s.stop()
	}
	if s.Pool != nil {
		s.Pool.Close()
	}
	s.taking.Wait()
}

// Sorted are the functions by their groups.
func (s *Service) Sorted() []template.Function {
	return slices.SortedFunc(maps.Values(s.Functions), func(a, b template.Function) int { return strings.Compare(a.Group(), b.Group()) })
}

// Invoke invokes a function as a schedule does.
func (s *Service) Invoke(ctx context.Context, function string) (string, error) {
	answer, err := s.Pool.Invoke(ctx, function, []byte(`{}`))
	return string(answer), err
}

// Environment is what the functions are told, as environment variables.
func (s Settings) Environment() []string {
	out := []string{
		"TABLE=" + s.Table, "BUCKET=" + s.Bucket, "PUBLIC_URL=" + s.PublicURL, "BASE_PATH=/v1", "LOG_LEVEL=INFO",
		"AWS_REGION=" + s.Region, "AWS_ACCESS_KEY_ID=" + s.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.Secret,
		"AWS_ENDPOINT_URL_DYNAMODB=" + s.DynamoDB, "AWS_ENDPOINT_URL_S3=" + s.S3, "AWS_ENDPOINT_URL_SQS=" + s.SQS,
	}
	if s.PerSecond > 0 {
		out = append(out, fmt.Sprint("LIMIT_PER_SECOND=", s.PerSecond), fmt.Sprint("LIMIT_BURST=", s.Burst))
	}
	return append(out, s.More...)
}
