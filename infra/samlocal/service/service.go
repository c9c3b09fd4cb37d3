// Package service runs the whole hosted service on this machine: the functions
// of a template in the emulator, their gateway, and servers that stand in for
// DynamoDB, S3 and SQS.
//
// What must stay true: the functions get what the template gives them, and
// only that: settings by the same names, time, memory, permissions, and the
// messages of its queues.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/infra/samlocal/apigateway"
	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/iam"
	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/backoff"
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
	Denied    iam.Denied                   // requests of functions that AWS would deny, which are denied here too

	guards []*iam.Guard
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
	endpoints := map[string]Settings{} // as each function sees them
	for id, f := range functions {
		settings, err := s.guard(t, f, o)
		if err != nil {
			s.Close()
			return nil, err
		}
		endpoints[id] = settings
		run = append(run, emulator.Function{
			Name: id, Binary: filepath.Join(o.Binaries, f.Group(), "bootstrap"), Env: append(settings.Environment(), settings.queuesOf(f)...),
			Timeout: f.Timeout, Memory: f.Memory,
		})
	}
	s.Pool = emulator.NewPool(o.RIE, run, o.Instances, o.Log)
	if err := s.takeMessages(t, o, endpoints); err != nil {
		s.Close()
		return nil, err
	}
	s.Handler = &apigateway.Front{Routes: table, Invoke: s.Pool.Invoke, Logger: slog.New(slog.NewTextHandler(o.Log, nil))}
	return s, nil
}

// guard puts guards before the stores of a function, which deny it what its
// policies do not allow. It returns the settings that lead to them.
func (s *Service) guard(t *template.Template, f template.Function, o Options) (Settings, error) {
	settings := o.Settings
	names := iam.Names{"Table": settings.Table, "Bucket": settings.Bucket}
	for _, q := range t.Queues() {
		names[q.ID] = path.Base(settings.Queues[q.ID])
	}
	policy, err := iam.New(t, f, names)
	if err != nil {
		return settings, err
	}
	denied := func(err error) {
		fmt.Fprintf(o.Log, "%s is %v\n", f.ID, err)
		s.Denied.Add(fmt.Errorf("%s is %w", f.ID, err))
	}
	for _, endpoint := range []*string{&settings.DynamoDB, &settings.S3, &settings.SQS} {
		if *endpoint == "" { // AWS's own, which has guards of its own
			continue
		}
		g, err := iam.NewGuard(policy, *endpoint, denied)
		if err != nil {
			return settings, err
		}
		s.guards = append(s.guards, g)
		*endpoint = g.URL
	}
	return settings, nil
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
	for _, g := range s.guards {
		g.Close()
	}
}

// Sorted are the functions by their groups.
func (s *Service) Sorted() []template.Function {
	return slices.SortedFunc(maps.Values(s.Functions), func(a, b template.Function) int { return strings.Compare(a.Group(), b.Group()) })
}

// Schedule invokes a function as a schedule does, at once and then again and again,
// until the context ends. Failed hears of what fails.
func (s *Service) Schedule(ctx context.Context, function string, every time.Duration, failed func(error)) {
	s.taking.Go(func() {
		for ctx.Err() == nil {
			if answer, err := s.Invoke(ctx, function); ctx.Err() == nil && (err != nil || strings.Contains(answer, "errorMessage")) {
				failed(fmt.Errorf("%s: %s: %w", function, answer, err))
			}
			_ = backoff.Sleep(ctx, every)
		}
	})
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
