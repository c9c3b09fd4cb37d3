package iam

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"svc.example/svc/shared/testing/template"
)

// Policies are the policies of a template's functions, by the folders of the
// functions.
func Policies(path string, names Names) (map[string]*Policy, error) {
	read, err := template.Read(path)
	if err != nil {
		return nil, err
	}
	functions, err := read.Functions()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := map[string]*Policy{}
	for _, f := range functions {
		if all[f.Group()], err = New(read, f, names); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

// Check returns what is denied of an HTTP request; nil when all of it is allowed.
// It notes which rights the request uses.
func (p *Policy) Check(r *http.Request, body []byte) error {
	all, err := Requests(r, body)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !p.use(one) {
			return fmt.Errorf("not authorized to perform %s on %s with %v", one.Action, one.Resource, one.Keys)
		}
	}
	return nil
}

// Client sends what a policy allows. Denied hears of everything else, with the
// request's context.
type Client struct {
	Policy *Policy
	Next   aws.HTTPClient
	Denied func(context.Context, error)
}

// Do sends a request, or returns why it is denied.
func (c Client) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := c.Policy.Check(r, body); err != nil {
		c.Denied(r.Context(), err)
		return nil, err
	}
	return c.Next.Do(r)
}
