package s3_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/meter"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
)

// TestRequests counts what goes over the wire, with few packs and with many.
func TestRequests(t *testing.T) {
	for _, n := range []int{10, 120} {
		m := meter.New()
		b := openBucket(t, func(o *sdk.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
		objects := s3.New(b, prefix, never(t))
		h := begin(t, objects)
		packs := h.grow(n)
		want := func(what string, allowed map[string]int) {
			t.Helper()
			if made := m.Take().Requests(); !maps.Equal(made, allowed) {
				t.Errorf("with %d packs, %s took %v, allowed are %v", n, what, made, allowed)
			}
		}
		commits := must.Get(h.ledger.Since(ctx, h.at.Head, 0))(t)
		touch := commits[n/2].Touched[0]
		blob := func(o *s3.Objects, touch repository.Touch) {
			t.Helper()
			if text, err := o.Blob(ctx, touch); err != nil || object.Hash(object.Blob, text).String() != touch.Blob {
				t.Errorf("%+v: %v", touch, err)
			}
		}
		m.Take()
		h.commit(change("configs/a.json", "{}\n"))
		want("a write", map[string]int{"PutObject": 2})
		blob(s3.New(b, prefix, never(t)), touch)
		want("a blob whose place is told", map[string]int{"GetObject": 1})
		blob(objects, repository.Touch{Blob: touch.Blob})
		want("a blob in a pack that is known", map[string]int{"GetObject": 1})

		merged := must.Get(objects.Merge(ctx, packs, 0, nil))(t)
		must.Get(objects.SweepAll(ctx, s3.Keep{Packs: []string{merged.Name}}))(t)
		cold := s3.New(b, prefix, listed([]string{merged.Name}))
		m.Take()
		blob(cold, touch)
		want("a blob whose place is told wrongly", map[string]int{"GetObject": 3}) // the old place, the index, the new place
		blob(cold, repository.Touch{Blob: touch.Blob})
		want("a blob after that", map[string]int{"GetObject": 1})
	}
}

// TestTreeInFewRequests: what lies together is read together.
func TestTreeInFewRequests(t *testing.T) {
	m := meter.New()
	b := openBucket(t, func(o *sdk.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
	objects := s3.New(b, prefix, nil)
	h := begin(t, objects)
	merged := must.Get(objects.Merge(ctx, h.grow(100), 0, nil))(t)
	cold := s3.New(b, prefix, listed([]string{merged.Name}))
	m.Take()
	tree, err := cold.Tree(ctx, h.at.Head)
	if err != nil || len(tree.Files) != 37 {
		t.Fatalf("%d files, %v", len(tree.Files), err)
	}
	if made := m.Take().Requests(); made["GetObject"] > 6 || len(made) != 1 {
		t.Errorf("a tree of 37 files in one pack took %v", made)
	}
}

// counted is a ledger that counts how often it is asked.
type counted struct {
	*repositorytest.Memory
	asked int
}

func (c *counted) Since(ctx context.Context, head repository.Head, after int64) ([]repository.Commit, error) {
	c.asked++
	return c.Memory.Since(ctx, head, after)
}

func (c *counted) LastTouches(ctx context.Context, head repository.Head) (map[string]repository.Commit, error) {
	c.asked++
	return c.Memory.LastTouches(ctx, head)
}

// TestAWorkspaceThatIsTooLargeIsReadOnce for each head: asking for it again
// costs nothing.
func TestAWorkspaceThatIsTooLargeIsReadOnce(t *testing.T) {
	m := meter.New()
	b := openBucket(t, func(o *sdk.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
	h := begin(t, s3.New(b, prefix, nil))
	h.grow(10)
	ledger := &counted{Memory: h.ledger}
	repo := repository.New(ledger, s3.New(b, prefix, nil).Within(100))
	ask := func(what string, head repository.Head, reads bool) {
		t.Helper()
		m.Take()
		ledger.asked = 0
		_, err := repo.Snapshot(ctx, head)
		if large := (*repository.TooLarge)(nil); !errors.As(err, &large) {
			t.Errorf("%s: %v", what, err)
		}
		if made := m.Take().Requests(); (len(made) > 0) != reads || (ledger.asked > 0) != reads {
			t.Errorf("%s: %v were made, and the ledger was asked %d times", what, made, ledger.asked)
		}
	}
	at := h.at.Head
	ask("at first", at, true)
	ask("again", at, false)
	at.Access++
	ask("after a key was made", at, false)
	h.commit(change("configs/z.json", "{}"))
	ask("after a commit", h.at.Head, true)
	ask("after that", h.at.Head, false)
}

// TestCancelledMerge leaves nothing behind that is named.
func TestCancelledMerge(t *testing.T) {
	objects, _ := open(t)
	packs := begin(t, objects).grow(3)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := objects.Merge(cancelled, packs, 0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, err := objects.List(ctx); err != nil || len(left) != 3 {
		t.Errorf("%d packs, %v", len(left), err)
	}
}
