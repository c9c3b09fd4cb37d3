package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestEveryKindHasAStatusAndACode(t *testing.T) {
	seen := map[string]Kind{}
	for k := Internal; k <= Unavailable; k++ {
		if k.Status() < 400 || k.Code() == "" {
			t.Errorf("kind %d has status %d and code %q", k, k.Status(), k.Code())
		}
		if other, taken := seen[k.Code()]; taken {
			t.Errorf("kinds %d and %d share the code %s", k, other, k.Code())
		}
		seen[k.Code()] = k
	}
}

func TestACauseNeverReachesAClient(t *testing.T) {
	cause := errors.New("dial tcp 10.0.0.1: secret")
	for _, err := range []error{
		cause,
		New(Unavailable, "try again").Because(cause),
		fmt.Errorf("reading the head: %w", New(NotFound, "no such flag").Because(cause)),
	} {
		if body, _ := json.Marshal(Of(err).Envelope()); strings.Contains(string(body), "secret") {
			t.Errorf("the client sees %s", body)
		}
		if !strings.Contains(Of(err).Error(), "secret") || !errors.Is(Of(err), cause) {
			t.Errorf("the log misses the cause of %v", err)
		}
	}
}

func TestOfKeepsKindAndDetails(t *testing.T) {
	f := Of(fmt.Errorf("outer: %w", New(Conflict, "stale").With(map[string]any{"code": "STALE_COMMIT_SHA"})))
	body, _ := json.Marshal(f.Envelope())
	if got, want := string(body), `{"error":"CONFLICT","message":"stale","details":{"code":"STALE_COMMIT_SHA"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Of(errors.New("x")).Kind; got != Internal {
		t.Errorf("kind %v", got)
	}
}

func TestWhatASystemRefusesIsNoDefectOfOurs(t *testing.T) {
	for cause, says := range map[error]string{
		syscall.ENOSPC: "disk is full", syscall.EMFILE: "no more files", syscall.ENFILE: "no more files",
		syscall.EROFS: "read-only", syscall.EACCES: "no permission", syscall.EPERM: "no permission",
	} {
		f := Of(fmt.Errorf("moving the head: %w", &fs.PathError{Op: "open", Path: "/secret/place", Err: cause}))
		if f.Kind != Unavailable || !strings.Contains(f.Message, says) || strings.Contains(f.Message, "secret") || !errors.Is(f, cause) {
			t.Errorf("%v: %d %s", cause, f.Kind, f.Message)
		}
	}
	if f := Of(&fs.PathError{Op: "read", Path: "a", Err: syscall.EIO}); f.Kind != Internal {
		t.Error(f)
	}
}
