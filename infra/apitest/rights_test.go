package apitest

import (
	"context"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"svc.example/svc/shared/testing/iam"
	"svc.example/svc/shared/testing/instance"
)

// judge holds what instances ask of AWS against what the function may ask that
// asks it.
type judge struct {
	t        *testing.T
	policies map[string]*iam.Policy // by the functions' folders
}

func (h *service) newJudge(t *testing.T) *judge {
	t.Helper()
	policies, err := iam.Policies("../../template.yaml", iam.Names{"Table": h.Table, "Bucket": h.Bucket,
		"MaintenanceQueue": path.Base(h.Queue), "MaintenanceDeadLetters": path.Base(h.DeadLetters)})
	must(t, err)
	return &judge{t, policies}
}

// watch has a function's clients send nothing that its policy does not allow.
func (j *judge) watch(function string, c *aws.Config) {
	c.HTTPClient = iam.Client{Policy: j.policies[function], Next: awshttp.NewBuildableClient(), Denied: func(ctx context.Context, err error) {
		j.t.Errorf("AWS would deny this: for %q %s is %v", instance.Request(ctx), function, err)
	}}
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
