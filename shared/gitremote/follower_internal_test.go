package gitremote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

// here is a workspace's repository, which git commits to, and what follows it.
type here struct {
	*testing.T
	dir string
	*Follower
	before func() // a commit of the remote is taken
}

func workspace(t *testing.T, r *Remote) *here {
	t.Helper()
	h := &here{T: t, dir: t.TempDir()}
	realgit.Run(t, h.dir, "init", "-q", "-b", "main")
	h.Follower = h.following(r, filepath.Join(t.TempDir(), "svc.db"))
	h.commit("svc.json", "{}")
	return h
}

// following is a process that follows the repository, with what an earlier one has noted in a file.
func (h *here) following(r *Remote, noted string) *Follower {
	h.Helper()
	return &Follower{Remote: r, Branch: "main", Table: bolt.New(database.New(noted)), Objects: must.Get(disk.Open(filepath.Join(h.dir, ".git")))(h.T),
		Head: h.position, Take: h.take, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// take is what a workspace does: it has objects put, and its branch moved.
func (h *here) take(ctx context.Context, from repository.Head, to object.ID, made *pack.Pack, read object.Read) error {
	if h.before != nil {
		h.before()
	}
	objects := h.Objects.(*disk.Objects)
	defer objects.Release(made.Name)
	if h.git("rev-parse", "HEAD") != from.Commit {
		return repository.ErrMoved
	}
	if _, err := object.ReadCommit(read, to); err != nil {
		return err
	}
	if err := objects.PutPack(ctx, made.Name, made.Bytes, made.Index); err != nil {
		return err
	}
	h.git("reset", "-q", "--hard", to.String())
	return nil
}

func (h *here) position(context.Context) (repository.Head, error) {
	n, err := strconv.ParseInt(h.git("rev-list", "--count", "HEAD"), 10, 64)
	return repository.Head{Commit: h.git("rev-parse", "HEAD"), Sequence: n}, err
}

func (h *here) git(args ...string) string {
	h.Helper()
	return strings.TrimSpace(realgit.Run(h.T, h.dir, args...))
}

// commit commits a file, and returns the commit.
func (h *here) commit(name, text string) string {
	h.Helper()
	path := filepath.Join(h.dir, name)
	must.Do(h.T, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(h.T, os.WriteFile(path, []byte(text), 0o644))
	h.git("add", "-A")
	h.git("commit", "-q", "-m", "Change "+name+"\n\nRequest-Id: 1")
	return h.git("rev-parse", "HEAD")
}

// pushed demands that a turn ends well.
func (h *here) pushed() {
	h.Helper()
	must.Do(h.T, h.turn(h.Context(), must.Get(h.position(h.Context()))(h.T)))
}

// refused demands that a turn ends with words; waiting may help or not.
func (h *here) refused(waiting bool, words ...string) {
	h.Helper()
	err := h.turn(h.Context(), must.Get(h.position(h.Context()))(h.T))
	if err == nil || errors.As(err, new(*Refusal)) == waiting {
		h.Fatalf("%v", err)
	}
	for _, want := range words {
		if !strings.Contains(err.Error(), want) {
			h.Errorf("%q, want %q", err, want)
		}
	}
	if strings.Contains(err.Error(), token) {
		h.Errorf("the token is told: %v", err)
	}
}

// TestEachCommitIsPushed in order, with its id: over HTTPS behind a token, and over SSH with a
// deploy key.
func TestEachCommitIsPushed(t *testing.T) {
	for name, server := range map[string]func(*testing.T) (*Remote, string){"http": overHTTP, "ssh": overSSH} {
		t.Run(name, func(t *testing.T) {
			r, there := server(t)
			h := workspace(t, r)
			h.commit("feature-flags/a.json", "1")
			h.pushed()
			for i := range 3 {
				h.commit("feature-flags/a.json", fmt.Sprint("two", i))
			}
			h.git("switch", "-q", "-c", "side", "HEAD~4")
			h.commit("configs/b/deep.json", "side")
			h.git("switch", "-q", "main")
			h.git("merge", "-q", "--no-edit", "side")
			h.git("rm", "-q", "svc.json")
			h.commit("a", "b")
			h.pushed()
			if mine, theirs := h.git("log", "--format=%H %s"), strings.TrimSpace(realgit.Run(t, there, "log", "--format=%H %s", "main")); mine != theirs {
				t.Errorf("here:\n%s\nthere:\n%s", mine, theirs)
			}
			realgit.Run(t, there, "fsck", "--strict", "--no-dangling")
			if s := h.Status(); s.Pushed != h.git("rev-parse", "HEAD") || s.Remote != s.Pushed || s.Behind != 0 {
				t.Errorf("%+v", s)
			}
			h.pushed() // nothing to do
		})
	}
}

// TestALongHistoryIsPushedInParts, and goes on where another process was ended.
func TestALongHistoryIsPushedInParts(t *testing.T) {
	r, there := overHTTP(t)
	h := workspace(t, r)
	var stream strings.Builder
	for i := range 2*maxCommits + 1 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter L <l@example.com> %d +0000\ndata 1\nx\n", 1700000000+i)
		if i == 0 {
			fmt.Fprintf(&stream, "from refs/heads/main^0\n")
		}
		fmt.Fprintf(&stream, "M 644 inline n\ndata %d\n%d\n", len(fmt.Sprint(i)), i)
	}
	fast := realgit.Command(t, h.dir, "fast-import", "--quiet")
	fast.Stdin = strings.NewReader(stream.String())
	must.Do(t, fast.Run())
	must.Do(t, h.Objects.(*disk.Objects).Refresh(t.Context()))
	first := &turn{Follower: h.Follower, sequence: 2*maxCommits + 2}
	reader := h.Objects.Reader(t.Context())
	defer reader.Close()
	first.read = reader.Read
	first.head = must.Get(h.head(t.Context()))(t)
	if more, err := first.step(t.Context()); err != nil || !more {
		t.Fatalf("%t, %v", more, err)
	}
	if n := strings.TrimSpace(realgit.Run(t, there, "rev-list", "--count", "main")); n != fmt.Sprint(maxCommits) {
		t.Errorf("%s commits are there", n)
	}
	h.look(must.Get(h.position(t.Context()))(t))
	if behind := h.Status().Behind; behind != maxCommits+2 {
		t.Errorf("behind by %d", behind)
	}
	h.pushed()
	if theirs := strings.TrimSpace(realgit.Run(t, there, "rev-parse", "main")); theirs != h.git("rev-parse", "HEAD") {
		t.Error(theirs)
	}
}

// TestNothingIsPushedOver what the remote has, or what was taken back there.
func TestNothingIsPushedOver(t *testing.T) {
	r, there := overSSH(t)
	h := workspace(t, r)
	before := h.git("rev-parse", "HEAD")
	last := h.commit("a", "1")
	h.pushed()
	realgit.Run(t, there, "update-ref", "refs/heads/main", before)
	h.refused(false, "was taken back from "+last+" to "+before, "Push "+last+" there again")
	h.commit("a", "2")
	h.refused(false, "was taken back")
	realgit.Run(t, there, "update-ref", "-d", "refs/heads/main")
	h.refused(false, "the branch main is gone")
	realgit.Run(t, there, "update-ref", "refs/heads/main", last)
	h.pushed()

	tree := strings.TrimSpace(realgit.Run(t, there, "rev-parse", "main^{tree}"))
	theirs := strings.TrimSpace(realgit.Run(t, there, "commit-tree", "-p", before, "-m", "Rewritten there", tree))
	realgit.Run(t, there, "update-ref", "refs/heads/main", theirs)
	h.refused(false, "was rewritten: it is at "+theirs)
	h.commit("a", "3")
	h.refused(false, "was rewritten")

	other := workspace(t, r) // another server on the same remote
	other.commit("b", "1")
	other.refused(false, "has other commits than the workspace")
}

// TestAPushWhoseAnswerGotLost is found again.
func TestAPushWhoseAnswerGotLost(t *testing.T) {
	for _, path := range []string{"", "our/config"} {
		r, there := overHTTP(t)
		h := workspace(t, r)
		h.Path = path
		h.pushed()
		was := must.Get(h.load(t.Context()))(t)
		h.commit("a", "1")
		h.pushed()
		now := must.Get(h.load(t.Context()))(t)
		was.next, was.nextRemote, was.nextSequence = now.pushed, now.remote, now.sequence
		must.Do(t, h.save(t.Context(), was))
		h.commit("a", "2")
		h.pushed()
		if n := strings.TrimSpace(realgit.Run(t, there, "rev-list", "--count", "main")); n != "3" {
			t.Errorf("below %q there are %s commits", path, n)
		}
	}
}

// TestADirectoryOfARepository: only its files are touched, each commit is one with the same
// author, and names the one here.
func TestADirectoryOfARepository(t *testing.T) {
	r, there := overHTTP(t)
	mono := t.TempDir()
	git := func(args ...string) string {
		return strings.TrimSpace(realgit.Run(t, mono, append([]string{"-c", "protocol.file.allow=always"}, args...)...))
	}
	git("init", "-q", "-b", "main")
	must.Do(t, os.MkdirAll(filepath.Join(mono, "our", "other"), 0o755))
	write(t, mono, "main.go", "package main")
	write(t, mono, "our/other/x", "x")
	git("add", "-A")
	git("commit", "-q", "-m", "Begin")
	git("push", "-q", there, "main")
	h := workspace(t, r)
	h.Path = "our/config"
	h.commit("feature-flags/a.json", "1")
	h.pushed()
	h.git("config", "user.name", "Ada")
	for i := range 3 {
		h.commit("feature-flags/a.json", fmt.Sprint("two", i))
	}
	h.pushed()
	same := func() {
		t.Helper()
		git("pull", "-q", "--no-rebase", there, "main")
		if mine, theirs := h.git("rev-parse", "HEAD^{tree}"), git("rev-parse", "HEAD:our/config"); mine != theirs {
			t.Errorf("here %s, there %s", mine, theirs)
		}
		if got := git("show", "HEAD:main.go") + git("show", "HEAD:our/other/x"); got != "package mainx" {
			t.Errorf("other files are %q", got)
		}
		realgit.Run(t, there, "fsck", "--strict", "--no-dangling")
	}
	same()
	want := h.git("log", "-4", "--format=%an %ae %at %s %H")
	if got := git("log", "-4", "--format=%an %ae %at %s %(trailers:key=Svc-Commit,valueonly,separator=)"); got != want {
		t.Errorf("there:\n%s\nwant:\n%s", got, want)
	}
	if got := git("log", "-1", "--format=%(trailers:only)"); got != "Request-Id: 1\nSvc-Commit: "+h.git("rev-parse", "HEAD") {
		t.Errorf("trailers: %q", got)
	}
	write(t, mono, "README", "others go on")
	git("add", "-A")
	git("commit", "-q", "-m", "Elsewhere")
	git("push", "-q", there, "main")
	h.commit("feature-flags/b.json", "3")
	h.pushed()
	same()
	again := h.following(r, filepath.Join(t.TempDir(), "svc.db")) // equal files are in step
	again.Path = h.Path
	h.Follower = again
	h.pushed()
	h.git("rm", "-q", "feature-flags/b.json")
	h.commit("feature-flags/c.json", "4")
	h.pushed()
	same()
	if n := git("rev-list", "--count", "HEAD"); n != "8" {
		t.Errorf("%s commits", n)
	}

	write(t, mono, "our/config/feature-flags/a.json", "by hand")
	git("commit", "-q", "-a", "-m", "By hand")
	git("push", "-q", there, "main")
	h.refused(false, "our/config was changed in the remote, at commit "+git("rev-parse", "HEAD"))
	must.Do(t, os.Symlink("/etc", filepath.Join(mono, "link")))
	git("add", "-A")
	git("update-index", "--add", "--cacheinfo", "160000,"+git("rev-parse", "HEAD")+",our/config/module")
	git("commit", "-q", "-m", "Traps")
	git("push", "-q", there, "main")
	for path, words := range map[string]string{
		"our/other":         "our/other in the remote holds other files",
		"main.go/below":     "main.go is a file in the remote",
		"link/config":       "link is a symbolic link in the remote",
		"our/config/module": "our/config/module is a submodule in the remote",
	} {
		h.Follower = h.following(r, filepath.Join(t.TempDir(), "svc.db"))
		h.Path = path
		h.refused(false, words)
	}
}

// TestWhatAServerRefuses is told in its words.
func TestWhatAServerRefuses(t *testing.T) {
	r, there := overHTTP(t)
	h := workspace(t, r)
	hook := filepath.Join(there, "hooks", "pre-receive")
	must.Do(t, os.WriteFile(hook, []byte("#!/bin/sh\necho 'main is protected: ask ada'\nexit 1\n"), 0o755))
	h.refused(false, "the remote refuses the push: pre-receive hook declined", "main is protected: ask ada")
	must.Do(t, os.Remove(hook))
	h.pushed()
	h.KeyFileIs("wrong")
	h.refused(false, "refuses the token (401)")
	h.Remote.KeyFile = ""
	h.refused(false, "wants a token (401)")
	h.KeyFileIs(token)
	h.commit("a", "1")
	h.pushed() // the file was read anew
	for path, words := range map[string]string{"elsewhere/": "leads on to http://127.0.0.1:", "nothing.git": "is not there (404)"} {
		elsewhere := *r
		elsewhere.Address.path = "/" + path
		h.Follower = h.following(&elsewhere, filepath.Join(t.TempDir(), "svc.db"))
		h.refused(false, words)
	}
}

// KeyFileIs puts a token into the key file.
func (h *here) KeyFileIs(text string) { h.Remote.KeyFile = write(h.T, h.TempDir(), "token", text) }

// TestAHostIsWhoItWas, or nothing is sent to it.
func TestAHostIsWhoItWas(t *testing.T) {
	r, _ := overSSH(t)
	h := workspace(t, r)
	h.pushed()
	pinned, key := r.KnownHosts, r.KeyFile
	other, private := newKey(t)
	host, _, _ := strings.Cut(string(must.Get(os.ReadFile(pinned))(t)), " ")
	r.KnownHosts = write(t, t.TempDir(), "known", host+" "+other)
	h.refused(false, "shows another key than the one that is pinned", "SHA256:")
	r.KnownHosts = write(t, t.TempDir(), "known", "other.example "+other)
	h.refused(false, "shows a key that is not in", "SHA256:")
	r.KnownHosts = ""
	h.refused(false, "--remote-known-hosts")
	r.KnownHosts = pinned
	r.KeyFile = write(t, t.TempDir(), "key", private)
	h.refused(false, "refuses the deploy key")
	r.KeyFile = write(t, t.TempDir(), "key", "none")
	h.refused(false, "holds no private key")
	r.KeyFile = key
	r.Address.path = "/nothing.git"
	h.Follower = h.following(r, filepath.Join(t.TempDir(), "svc.db"))
	h.refused(false, "does not appear to be a git repository")
}

// TestAServerThatIsAway costs nothing and is tried again: it is down, slow, or stops half way.
func TestAServerThatIsAway(t *testing.T) {
	for words, answer := range map[string]http.HandlerFunc{
		"answers 503 Service Unavailable": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"answers 507 Insufficient Storage": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(507)
		},
		"timeout":    func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"ends early": half("001f# service=git-receive-pack\n0000"),
		"makes no sense": half("001f# service=git-receive-pack\n0000" +
			"zzzz"),
		"EOF": func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		},
	} {
		h := workspace(t, answering(t, answer))
		h.refused(true, words)
	}
	h := workspace(t, answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, token) }))
	h.refused(false, "answers no git")
	h.Remote.Address.host = "127.0.0.1:1"
	h.refused(true, "cannot be reached")
}

// half is an answer that ends in the middle.
func half(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-receive-pack-advertisement")
		fmt.Fprint(w, text)
	}
}

func (h *here) head(ctx context.Context) (id object.ID, err error) {
	head, err := h.position(ctx)
	return object.ParseID(head.Commit), err
}

// clone is a person's clone of the remote.
func clone(t *testing.T, there string) *here {
	t.Helper()
	dir := t.TempDir()
	realgit.Run(t, dir, "clone", "-q", there, ".")
	return &here{T: t, dir: dir}
}

// TestWhatWasCommittedThere comes here with its authors, as it is or merged by item, and what
// both sides have changed waits.
func TestWhatWasCommittedThere(t *testing.T) {
	for name, server := range map[string]func(*testing.T) (*Remote, string){"http": overHTTP, "ssh": overSSH} {
		t.Run(name, func(t *testing.T) {
			r, there := server(t)
			h := workspace(t, r)
			h.commit("feature-flags/a.json", "1")
			h.commit("feature-flags/b.json", "1")
			h.pushed()
			ada := clone(t, there)
			ada.git("config", "user.name", "Ada")
			same := func() {
				t.Helper()
				h.pushed()
				if mine, theirs := h.git("rev-parse", "HEAD"), strings.TrimSpace(realgit.Run(t, there, "rev-parse", "main")); mine != theirs {
					t.Errorf("here %s, there %s", mine, theirs)
				}
				realgit.Run(t, there, "fsck", "--strict", "--no-dangling")
				h.git("fsck", "--strict", "--no-dangling")
			}
			ada.commit("feature-flags/a.json", "2")
			last := ada.commit("feature-flags/c/d.json", "2")
			ada.git("push", "-q")
			same()
			if h.git("rev-parse", "HEAD") != last {
				t.Error("nothing had happened here, and there is a merge")
			}

			h.commit("feature-flags/b.json", "3")
			h.git("rm", "-q", "svc.json")
			h.commit("configs/x.json", "3")
			ada.git("rm", "-q", "feature-flags/c/d.json")
			last = ada.commit("feature-flags/a.json", "4")
			ada.git("push", "-q")
			others := 3 // who commit while it is merged
			h.before = func() {
				if others--; others >= 0 {
					h.commit("configs/y.json", fmt.Sprint(others))
				}
			}
			same()
			h.before = nil
			if got := h.git("ls-files"); got != "configs/x.json\nconfigs/y.json\nfeature-flags/a.json\nfeature-flags/b.json" {
				t.Errorf("files:\n%s", got)
			}
			if got := h.git("log", "-1", "--format=%P|%an|%s"); !strings.HasSuffix(got, " "+last+"|svc|Merge what was committed at the remote: 1") {
				t.Errorf("the merge is %s", got)
			}

			const document = `{"key":"e","type":"feature_flag","environments":[{"id":"one","rules":[1]},{"id":"two","rules":[1]}]}`
			h.commit("feature-flags/e.json", document)
			same()
			ada.git("pull", "-q", "--ff-only")
			h.commit("feature-flags/e.json", strings.Replace(document, "[1]", "[2]", 1))
			ada.commit("feature-flags/e.json", strings.Replace(document, "[1]}]", "[3]}]", 1))
			ada.git("push", "-q")
			same()
			if got := h.git("show", "HEAD:feature-flags/e.json"); !strings.Contains(got, "[2]") || !strings.Contains(got, "[3]") {
				t.Errorf("e is %s", got)
			}

			ada.git("pull", "-q", "--ff-only", h.dir, "main") // from here too
			h.commit("feature-flags/a.json", "5")
			ada.commit("feature-flags/a.json", "6")
			ada.git("push", "-q")
			h.refused(false, "changed here and at the remote: feature-flags/a.json. Until that is decided nothing is pushed")
			h.commit("configs/x.json", "7")
			h.refused(false, "feature-flags/a.json")
			ada.git("pull", "-q", "--no-rebase", "-s", "ours", "--no-edit", h.dir, "main")
			h.git("pull", "-q", "--ff-only", ada.dir, "main") // as a push here
			same()
			if got := h.git("show", "HEAD:feature-flags/a.json"); got != "6" {
				t.Errorf("a is %s", got)
			}
		})
	}
}
