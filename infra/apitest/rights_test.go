package apitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/infra/samlocal/apigateway"
	"svc.example/svc/infra/samlocal/iam"
	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/testing/instance"
)

// judge holds what instances ask of AWS against what the function may ask that
// the gateway would lead the request to. An instance here is all functions in
// one; infra/samlocal/service does the same to the functions' own binaries.
type judge struct {
	t        *testing.T
	routes   apigateway.Routes
	policies map[string]iam.Policy // by the functions' names in the template
}

func (h *service) newJudge(t *testing.T) *judge {
	t.Helper()
	read, err := template.Read("../../template.yaml")
	must(t, err)
	functions, err := read.Functions()
	must(t, err)
	routes, err := read.Routes()
	must(t, err)
	j := &judge{t: t, policies: map[string]iam.Policy{}}
	names := iam.Names{"Table": h.Table, "Bucket": h.Bucket, "MaintenanceQueue": "queue", "MaintenanceDeadLetters": "dead"}
	for id, f := range functions {
		j.policies[id], err = iam.New(read, f, names)
		must(t, err)
	}
	var keys []apigateway.Route
	for _, r := range routes {
		keys = append(keys, apigateway.Route{Key: r.Key, Target: r.Function})
	}
	j.routes, err = apigateway.NewRoutes(keys)
	must(t, err)
	return j
}

// ask is one request of a client, on whose behalf others are sent.
type ask struct {
	judge    *judge
	function string
	request  string
}

type askKey struct{}

// serve notes in each request's context which function serves it.
func (j *judge) serve(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of := ask{judge: j, function: j.routes.Target(r.Method, r.URL.Path), request: r.Method + " " + r.URL.Path}
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), askKey{}, of)))
	})
}

// judged returns clients whose requests are judged.
func judged(c instance.Clients) instance.Clients {
	return c.With(
		func(o *dynamodb.Options) { o.HTTPClient = judging{o.HTTPClient} },
		func(o *awss3.Options) { o.HTTPClient = judging{o.HTTPClient} },
	)
}

// judging is a client that sends nothing that a policy does not allow.
type judging struct{ next aws.HTTPClient }

func (c judging) Do(r *http.Request) (*http.Response, error) {
	of, found := r.Context().Value(askKey{}).(ask)
	if !found {
		return nil, fmt.Errorf("%s %s is asked on behalf of no request", r.Method, r.URL)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := of.judge.policies[of.function].Judge(r, body); err != nil {
		of.judge.t.Errorf("AWS would deny this: for %s %s is %v", of.request, of.function, err)
		return nil, err
	}
	return c.next.Do(r)
}
