package prereceive_test

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/devserver/prereceive"
	"svc.example/svc/shared/repository/disk"
)

const (
	none = "0000000000000000000000000000000000000000"
	id   = "1111111111111111111111111111111111111111"
)

// TestUpdatesAreReadToTheirEnd, or the push is refused.
func TestUpdatesAreReadToTheirEnd(t *testing.T) {
	repository := filepath.Join(t.TempDir(), "repository.git")
	if _, err := disk.Init(repository); err != nil {
		t.Fatal(err)
	}
	branch := none + " " + id + " refs/heads/" + strings.Repeat("a", 900) + "\n"
	for _, test := range []struct {
		name    string
		updates io.Reader
		words   string
	}{
		{"many branches", strings.NewReader(strings.Repeat(branch, 1200)), ""},
		{"another reference behind them", strings.NewReader(strings.Repeat(branch, 1200) + none + " " + id + " refs/replace/" + id + "\n"), "refs/replace/" + id + " is neither a branch"},
		{"main behind them", strings.NewReader(strings.Repeat(branch, 1200) + id + " " + none + " refs/heads/main\n"), "deletes the branch main"},
		{"no end of branches", &endless{line: branch}, "updates more references than can be checked"},
	} {
		err := prereceive.Check(t.Context(), prereceive.Push{Repository: repository, Updates: test.updates})
		if test.words == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if !errors.As(err, new(*prereceive.Refusal)) || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %q", test.name, err, test.words)
		}
	}
}

// endless is a line again and again.
type endless struct{ line, rest string }

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.line
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}
