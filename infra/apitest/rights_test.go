package apitest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"svc.example/svc/infra/samlocal/iam"
	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/testing/instance"
)

// judge holds what instances ask of AWS against what the function may ask that
// asks it. infra/samlocal/service does the same to the functions' own binaries.
type judge struct {
	t        *testing.T
	policies map[string]*iam.Policy // by the functions' folders
}

func (h *service) newJudge(t *testing.T) *judge {
	t.Helper()
	read, err := template.Read("../../template.yaml")
	must(t, err)
	functions, err := read.Functions()
	must(t, err)
	j := &judge{t: t, policies: map[string]*iam.Policy{}}
	names := iam.Names{"Table": h.Table, "Bucket": h.Bucket, "MaintenanceQueue": path.Base(h.Queue), "MaintenanceDeadLetters": path.Base(h.DeadLetters)}
	for _, f := range functions {
		j.policies[f.Group()], err = iam.New(read, f, names)
		must(t, err)
	}
	return j
}

// watch has a function's clients send nothing that its policy does not allow.
func (j *judge) watch(function string, c *aws.Config) {
	c.HTTPClient = judging{j, function, awshttp.NewBuildableClient()}
}

// unused are the rights of the template that no function has used: several have the
// same policies, for the code that they share.
func (j *judge) unused() (rights []string) {
	used := map[string]bool{}
	for _, policy := range j.policies {
		for _, right := range policy.Rights() {
			used[right] = used[right] || !slices.Contains(policy.Unused(), right)
		}
	}
	for _, right := range slices.Sorted(maps.Keys(used)) {
		if !used[right] {
			rights = append(rights, right)
		}
	}
	return rights
}

type judging struct {
	judge    *judge
	function string
	next     aws.HTTPClient
}

func (c judging) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := c.judge.policies[c.function].Judge(r, body); err != nil {
		c.judge.t.Errorf("AWS would deny this: for %q %s is %v", instance.Request(r.Context()), c.function, err)
		return nil, err
	}
	return c.next.Do(r)
}
