package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/meter"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/standin"
)

var ctx = context.Background()

const prefix = "workspaces/0123456789abcdef"

func openBucket(t *testing.T, options ...func(*sdk.Options)) *bucket.Bucket {
	t.Helper()
	client := standin.S3Client(t, options...)
	return bucket.New(client, standin.Bucket(t, client))
}

func open(t *testing.T) (*s3.Objects, *bucket.Bucket) {
	t.Helper()
	b := openBucket(t)
	o := s3.New(b, prefix, nil)
	must.Do(t, o.Init(ctx))
	return o, b
}

func write(dir, path string, content []byte) error {
	path = filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// download copies a prefix into a directory, and sets its branch: that makes
// it an ordinary repository.
func download(t *testing.T, b *bucket.Bucket, head string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for info, err := range b.List(ctx, prefix+"/") {
		must.Do(t, err)
		content, _, err := b.Get(ctx, info.Key)
		if err == nil {
			err = write(dir, strings.TrimPrefix(info.Key, prefix+"/"), content)
		}
		must.Do(t, err)
	}
	must.Do(t, write(dir, "refs/heads/main", []byte(head+"\n")))
	return dir
}

var git = realgit.Run

var _ repository.Checkpoints = (*s3.Objects)(nil)

// history makes commits and returns the repository's head.
type history struct {
	t       *testing.T
	ledger  *repositorytest.Memory
	objects *s3.Objects
	repo    *repository.Repository
	at      *repository.Snapshot
	made    int
}

func begin(t *testing.T, objects *s3.Objects) *history {
	t.Helper()
	h := &history{t: t, ledger: repositorytest.NewMemory(), objects: objects}
	h.repo = repository.New(h.ledger, objects)
	h.at = must.Get(h.repo.Snapshot(ctx, repository.Head{}))(t)
	return h
}

func (h *history) commit(changes ...repository.Change) {
	h.t.Helper()
	h.at = must.Get(h.repo.Commit(ctx, h.at, draft(changes...)))(h.t)
}

// grow makes n commits, each of one document out of a few, and returns the
// packs in their order.
func (h *history) grow(n int) (packs []string) {
	h.t.Helper()
	for i := h.made; i < h.made+n; i++ {
		h.commit(change(fmt.Sprintf("feature-flags/flag-%03d.json", i%37), fmt.Sprintf("{\n  \"n\": %d\n}\n%s", i, strings.Repeat("line\n", i%50))))
	}
	h.made += n
	commits := must.Get(h.ledger.Since(ctx, h.at.Head, 0))(h.t)
	for _, c := range commits {
		packs = append(packs, c.Pack)
	}
	return packs
}

var change = repositorytest.Put

func TestACopyIsAnOrdinaryRepository(t *testing.T) {
	objects, b := open(t)
	h := begin(t, objects)
	packs := h.grow(60)
	must.Do(t, objects.PutSnapshot(ctx, strings.Repeat("ab", 32), []byte("a snapshot")))
	check := func() {
		t.Helper()
		dir := download(t, b, h.at.Head.Commit)
		if out, err := realgit.Command(t, dir, "fsck", "--strict", "--full", "--no-dangling").CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("git fsck says %s", out)
		}
		if n := strings.TrimSpace(git(t, dir, "rev-list", "--count", "HEAD")); n != "60" {
			t.Errorf("git counts %s commits", n)
		}
		for path, text := range repositorytest.Texts(h.at) {
			if got := git(t, dir, "cat-file", "blob", "HEAD:"+path); got != text {
				t.Errorf("git has %q at %s, want %q", got, path, text)
			}
		}
	}
	check()
	merged := must.Get(objects.Merge(ctx, packs, 0, nil))(t)
	check()
	must.Get(objects.SweepAll(ctx, s3.Keep{Packs: []string{merged.Name}}))(t)
	check()
}

func TestInitTwice(t *testing.T) {
	objects, b := open(t)
	must.Get(b.Put(ctx, prefix+"/config", bucket.Bytes([]byte("mine"))))(t)
	must.Report(t, objects.Init(ctx))
	if got, _, err := b.Get(ctx, prefix+"/config"); err != nil || string(got) != "mine" {
		t.Errorf("the settings became %q, %v", got, err)
	}
}

func TestSnapshots(t *testing.T) {
	objects, _ := open(t)
	name := strings.Repeat("0f", 32)
	for range 2 {
		must.Do(t, objects.PutSnapshot(ctx, name, []byte("content")))
	}
	if got, err := objects.Snapshot(ctx, name); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "../HEAD", strings.Repeat("g", 64), strings.Repeat("0", 64)} {
		if _, err := objects.Snapshot(ctx, bad); err == nil {
			t.Errorf("there is a snapshot %q", bad)
		}
	}
	if err := objects.PutSnapshot(ctx, "short", nil); err == nil {
		t.Error("a snapshot was stored under a name that is none")
	}
}

// TestWhatIsTooLargeIsNotRead: neither a snapshot, packed or unpacked, nor a tree.
func TestWhatIsTooLargeIsNotRead(t *testing.T) {
	objects, _ := open(t)
	packs, plain := strings.Repeat("0f", 32), strings.Repeat("f0", 32)
	noise := make([]byte, 1000)
	rand.Read(noise)
	for name, content := range map[string][]byte{packs: bytes.Repeat([]byte("x"), 1000), plain: noise} {
		must.Do(t, objects.PutSnapshot(ctx, name, content))
	}
	h := begin(t, objects)
	h.commit(change("configs/a.json", strings.Repeat("a", 500)), change("configs/b.json", strings.Repeat("b", 500)))
	for _, c := range []struct {
		most  int64
		large bool
	}{{0, false}, {1100, false}, {999, true}, {100, true}} {
		objects.Within(c.most)
		for what, err := range map[string]error{
			"packs well": second(objects.Snapshot(ctx, packs)), "does not": second(objects.Snapshot(ctx, plain)), "tree": second(objects.Tree(ctx, h.at.Head)),
		} {
			var large *repository.TooLarge
			if got := errors.As(err, &large); got != c.large || !got && err != nil || got && (large.Max != c.most || large.Bytes <= c.most) {
				t.Errorf("%s, at most %d bytes: %v", what, c.most, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

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
	if tree, err := cold.Tree(ctx, h.at.Head); err != nil || len(tree.Files) != 37 {
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

// largeDocument is a version of a document of so many lines of 50 bytes.
func largeDocument(lines, version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"key\": \"some-team.a-large-document-of-%d-lines\",\n  \"type\": \"config\",\n", lines)
	state := uint64(lines)
	for i := range lines {
		state = state*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "  \"user-%016x-%016x\": %t,\n", state, state>>7^state<<11, i == version*31%lines)
	}
	return b.String() + "}\n"
}

// TestAVersionIsOneRead: once merged, any version of a document is one request for
// whoever is told its place, the newest takes the bytes that it took before, and
// an old one about twice as many at most.
func TestAVersionIsOneRead(t *testing.T) {
	for _, lines := range []int{100, 1000, 9000} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			m := meter.New()
			b := openBucket(t, func(o *sdk.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
			objects := s3.New(b, prefix, nil)
			h := begin(t, objects)
			const versions = 70
			for i := range versions {
				h.commit(change("configs/large.json", largeDocument(lines, i)), change("configs/small.json", fmt.Sprintln(i)))
			}
			rows := must.Get(h.ledger.Since(ctx, h.at.Head, 0))(t)
			touchOf := func(n int) repository.Touch {
				for _, touch := range rows[n].Touched {
					if touch.Path == "configs/large.json" {
						return touch
					}
				}
				t.Fatal("it was not touched")
				return repository.Touch{}
			}
			blob := func(o *s3.Objects, touch repository.Touch, allowed int) int64 {
				t.Helper()
				m.Take()
				if text, err := o.Blob(ctx, touch); err != nil || object.Hash(object.Blob, text).String() != touch.Blob {
					t.Errorf("%+v: %v", touch, err)
				}
				made := m.Take()
				if requests := made.Requests(); requests["GetObject"] > allowed || len(requests) != 1 {
					t.Errorf("%+v took %v, allowed are %d", touch, made.Requests(), allowed)
				}
				return made.Total().Received
			}
			before := blob(s3.New(b, prefix, never(t)), touchOf(versions-1), 1)
			var packs []string
			for _, c := range rows {
				packs = append(packs, c.Pack)
			}
			merged := must.Get(objects.Merge(ctx, packs, 0, nil))(t)
			if merged.Size > 3*before+versions*2000 {
				t.Errorf("%d versions take %d bytes, one took %d", versions, merged.Size, before)
			}
			for n := range versions {
				touch := touchOf(n)
				place, _ := merged.Place(object.ParseID(touch.Blob))
				touch.Pack, touch.Offset, touch.Length, touch.Base = merged.Name, place.Offset, place.Length, place.Base
				if took := blob(s3.New(b, prefix, never(t)), touch, 1); n == versions-1 && (place.Base != 0 || took != before) || took > 9*before/4 {
					t.Errorf("version %d lies at %+v and takes %d bytes, the newest took %d", n, place, took, before)
				}
				if touch.Base = 0; n == 0 { // what it is a difference from was not noted
					blob(s3.New(b, prefix, never(t)), touch, 3)
				}
			}
		})
	}
}
