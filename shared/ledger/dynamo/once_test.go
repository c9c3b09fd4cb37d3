package dynamo_test

import (
	"errors"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// TestAKeyIsTakenOnce: whatever a writer has read, no second commit lands under an
// id but in the place of the one that it names.
func TestAKeyIsTakenOnce(t *testing.T) {
	s := newShop(t)
	s.fill(3, 1)
	id := strings.Repeat("a", 32)
	version := 10
	write := func(request, instead string) (*repository.Snapshot, error) {
		base, err := s.repo.Snapshot(background, s.enter())
		must.Do(t, err)
		version++
		draft := s.draft(document(1, version))
		draft.Once = &repository.Once{ID: id, Request: strings.Repeat(request, 32), Until: s.now.Add(change.Remembered), Instead: instead}
		return s.repo.Commit(background, base, draft)
	}
	first, err := write("1", "")
	must.Do(t, err)
	other := s.write(s.repo, document(2, 10))
	for _, instead := range []string{"", other.Head.Commit} {
		if _, err := write("2", instead); !errors.Is(err, repository.ErrMoved) {
			t.Errorf("instead of %q: %v, want ErrMoved", instead, err)
		}
	}
	if head := s.enter(); head.Commit != other.Head.Commit {
		t.Errorf("the head is %s, want %s", head.Commit, other.Head.Commit)
	}
	second, err := write("3", first.Head.Commit)
	must.Do(t, err)
	e, err := s.table.Authenticate(background, s.key, id)
	must.Do(t, err)
	if e.Landed == nil || e.Landed.Commit != second.Head.Commit || e.Landed.Request != strings.Repeat("3", 32) || e.Now.IsZero() {
		t.Errorf("found %+v at %v", e.Landed, e.Now)
	}
}
