package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
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

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(testenv.Program(t, "apt-get install git", "git"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

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

func texts(s *repository.Snapshot) map[string]string {
	all := map[string]string{}
	for _, f := range s.Files {
		all[f.Path] = string(f.Text)
	}
	return all
}

func change(path, text string) repository.Change {
	return repository.Change{Path: path, Content: []byte(text)}
}

func TestACopyIsAnOrdinaryRepository(t *testing.T) {
	objects, b := open(t)
	h := begin(t, objects)
	packs := h.grow(60)
	must.Do(t, objects.PutSnapshot(ctx, strings.Repeat("ab", 32), []byte("a snapshot")))
	check := func() {
		t.Helper()
		dir := download(t, b, h.at.Head.Commit)
		if out := git(t, dir, "fsck", "--strict", "--full", "--no-dangling"); out != "" {
			t.Errorf("git fsck says %s", out)
		}
		if n := strings.TrimSpace(git(t, dir, "rev-list", "--count", "HEAD")); n != "60" {
			t.Errorf("git counts %s commits", n)
		}
		for path, text := range texts(h.at) {
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
