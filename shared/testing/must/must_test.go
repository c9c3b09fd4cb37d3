package must_test

import (
	"errors"
	"slices"
	"testing"

	"svc.example/svc/shared/testing/must"
)

// noted notes what a test is told.
type noted []string

func (*noted) Helper()          {}
func (n *noted) Fatal(a ...any) { *n = append(*n, "fatal "+a[0].(error).Error()) }
func (n *noted) Error(a ...any) { *n = append(*n, "error "+a[0].(error).Error()) }

func TestErrorsAreTold(t *testing.T) {
	var said noted
	for _, err := range []error{nil, errors.New("x")} {
		must.Do(&said, err)
		must.Report(&said, err)
		if got := must.Get(7, err)(&said); got != 7 {
			t.Errorf("the value is %d", got)
		}
	}
	if want := []string{"fatal x", "error x", "fatal x"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}
