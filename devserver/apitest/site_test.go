package apitest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// site is a workplace under a server, whose repository others write to without
// asking anybody: git in the bare repository itself runs no hook.
type site struct {
	workplace
	t      *testing.T
	p      *process
	client *http.Client
	bare   apiload.Git
	public string // a key of the environment production
}

func newSite(t *testing.T) *site {
	w := newWorkplace(t, apiload.Fixture(), 1)
	s := &site{workplace: w, t: t, client: apiload.NewHTTPClient(t), bare: gitIn(t, w.repository())}
	s.public = w.issueKey(t, access.KeyRequest{Kind: access.KindPublicSDK, Name: "web", Environment: "production"})
	s.start()
	return s
}

func (s *site) start() {
	s.t.Helper()
	s.p = launch(s.t, svcbinary.Swift, s.workplace, freeport.Take())
}

func (s *site) restart() {
	s.t.Helper()
	must.Do(s.t, s.p.Stop())
	s.start()
}

// ask sends a request and returns the answer's status and body.
func (s *site) ask(method, path, body string) (int, string) {
	s.t.Helper()
	r := must.Get(http.NewRequestWithContext(background(s.t), method, s.p.base+path, strings.NewReader(body)))(s.t)
	r.Header.Set("Authorization", "Bearer "+s.keys[0])
	if strings.HasPrefix(path, "/api/") {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+s.public)))
	}
	response := must.Get(s.client.Do(r))(s.t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(s.t)
	return response.StatusCode, string(text)
}

// expect demands a status and words in the body.
func (s *site) expect(status int, words, method, path, body string) string {
	s.t.Helper()
	got, text := s.ask(method, path, body)
	if got != status || !strings.Contains(text, words) {
		s.t.Errorf("%s %s: %d %s, want %d and %q", method, path, got, text, status, words)
	}
	return text
}

const (
	poll   = "/api/v2/configs/eval-with-context/e30"
	toggle = `{"enabled": %t}`
)

// works demands that the service reads, serves and writes.
func (s *site) works(enabled bool) {
	s.t.Helper()
	s.expect(200, `"redesign"`, "GET", "/v1/flags", "")
	s.expect(200, `"redesign"`, "GET", poll, "")
	s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, enabled))
}

// object stores a git object, unchecked.
func (s *site) object(kind string, content io.Reader) string {
	s.t.Helper()
	cmd := exec.Command(s.bare.Program, "-c", "core.compression=1", "hash-object", "-w", "--literally", "--stdin", "-t", kind)
	cmd.Dir, cmd.Stdin = s.bare.Dir, content
	out := must.Get(cmd.Output())(s.t)
	return strings.TrimSpace(string(out))
}

// logs waits until the server's log has words.
func (s *site) logs(words string) {
	s.t.Helper()
	for deadline := time.Now().Add(apiload.Patience); !strings.Contains(s.p.Log.String(), words); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the log does not have %q:\n%s", words, s.p.Log)
		}
	}
}

// slashed is a tree with an entry that git would not write, on top of a commit's.
func (s *site) slashed(commit string) string {
	s.t.Helper()
	tree := must.Get(exec.Command(s.bare.Program, "-C", s.bare.Dir, "cat-file", "tree", commit+"^{tree}").Output())(s.t)
	entry := append([]byte("100644 configs/evil.json\x00"), tree[len(tree)-20:]...)
	return s.object("tree", bytes.NewReader(append(entry, tree...)))
}

// TestATreeEntryWithASlash: git writes none, and reads those that others have written.
func TestATreeEntryWithASlash(t *testing.T) {
	s := newSite(t)
	commit := s.bare.Run(t, "commit-tree", s.slashed("refs/heads/main"), "-p", "refs/heads/main", "-m", "Slash")
	s.bare.Run(t, "update-ref", "refs/heads/main", commit)
	for _, enabled := range []bool{true, false} {
		s.works(enabled)
		s.expect(404, "", "GET", "/v1/configs/evil", "")
		s.restart()
	}
}

// TestAStartRemovesWhatAKilledProcessWasWriting, however young it is: nobody else
// serves the directory. What is git's stays.
func TestAStartRemovesWhatAKilledProcessWasWriting(t *testing.T) {
	s := newSite(t)
	packs := filepath.Join(s.repository(), "objects", "pack")
	left, theirs := filepath.Join(packs, "svc-tmp-KILLED-pack-LEFT"), filepath.Join(packs, "tmp_pack_LEFT")
	for _, path := range []string{left, theirs} {
		must.Do(t, os.WriteFile(path, []byte("half"), 0o666))
	}
	s.restart()
	for deadline := time.Now().Add(apiload.Patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(left); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what a killed process was writing is still there")
		}
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	s.works(true)
}

// TestACursorOutlivesTheCache: the index of the history may be deleted at any
// time, and sequences begin at another number then.
func TestACursorOutlivesTheCache(t *testing.T) {
	s := newSite(t)
	for n := range 6 {
		s.works(n%2 == 0)
	}
	s.bare.Run(t, "update-ref", "refs/heads/main", "refs/heads/main^") // forced: sequences go on above the old ones
	for n := range 4 {
		s.works(n%2 == 1)
	}
	type page struct {
		Activity, History []struct{ SHA string }
		NextCursor        string
	}
	get := func(path string) page {
		t.Helper()
		var p page
		must.Do(t, json.Unmarshal([]byte(s.expect(200, "", "GET", path, "")), &p))
		return p
	}
	shas := func(p page) string {
		var all []string
		for _, e := range append(p.Activity, p.History...) {
			all = append(all, e.SHA)
		}
		return strings.Join(all, " ")
	}
	lists := []string{"/v1/activity?", "/v1/activity?type=feature_flag&key=redesign&", "/v1/flags/redesign/history?"}
	cursors, rest := map[string]string{}, map[string]string{}
	for _, list := range lists {
		cursors[list] = get(list + "limit=2").NextCursor
		rest[list] = shas(get(list + "limit=100&cursor=" + cursors[list]))
	}
	must.Do(t, s.p.Stop())
	must.Do(t, os.Remove(filepath.Join(s.dir, "history.cache")))
	s.start()
	for _, list := range lists {
		if got := shas(get(list + "limit=100&cursor=" + cursors[list])); got != rest[list] {
			t.Errorf("%s: the cursor goes on with %s, want %s", list, got, rest[list])
		}
	}
	s.bare.Run(t, "update-ref", "refs/heads/main", "refs/heads/main~4")
	for _, list := range lists {
		s.expect(400, "?cursor", "GET", list+"limit=100&cursor="+cursors[list], "")
	}
}

// TestAHeadThatCannotBeRead: readers and applications go on from the last one that could
// be read, also after a restart; writers are told why they cannot and how to go back, and
// that works. The ledger's own tests have more kinds of damage.
func TestAHeadThatCannotBeRead(t *testing.T) {
	s := newSite(t)
	s.works(true)
	good := s.bare.Run(t, "rev-parse", "refs/heads/main")
	const who = "Grace <grace@example.com> 1700000000 +0000"
	bad := s.object("commit", strings.NewReader("tree "+strings.Repeat("4", 40)+"\nparent "+good+"\nauthor "+who+"\ncommitter "+who+"\n\nHarm\n"))
	must.Do(t, os.WriteFile(filepath.Join(s.repository(), "refs", "heads", "main"), []byte(bad+"\n"), 0o666))
	recovery := "git update-ref refs/heads/main " + good
	var told struct {
		CommitSHA      string
		UnreadableHead *struct{ CommitSHA, Message string }
	}
	for range 2 {
		s.expect(200, `"redesign"`, "GET", "/v1/flags", "")
		s.expect(200, `"redesign"`, "GET", poll, "")
		s.expect(200, "", "GET", "/v1/activity", "")
		s.expect(503, recovery, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, false))
		must.Do(t, json.Unmarshal([]byte(s.expect(200, "", "GET", "/v1/workspace", "")), &told))
		if u := told.UnreadableHead; told.CommitSHA != good || u == nil || u.CommitSHA != bad || !strings.Contains(u.Message, recovery) {
			t.Errorf("the workspace: %+v, %+v", told, u)
		}
		if n := strings.Count(s.p.Log.String(), "refs/heads/main is unreadable"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, s.p.Log)
		}
		s.restart()
	}
	s.bare.Run(t, strings.Fields(recovery)[1:]...)
	s.works(false)
}

// unlimited lifts the rate limit.
var unlimited = ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}

// workplace is a data directory and the keys of those who work on it.
type workplace struct {
	dir  string
	keys []string // of clients, by their number
}

// gitIn is the git of this machine in a directory.
func gitIn(t testing.TB, dir string) apiload.Git {
	t.Helper()
	return apiload.Git{Program: testenv.Program(t, "install git", "git"), Dir: dir}
}

func (w workplace) repository() string { return filepath.Join(w.dir, local.RepositoryName) }

// newWorkplace makes a data directory that holds files, for so many clients,
// of which two each share a key.
func newWorkplace(t testing.TB, files map[string]string, clients int) workplace {
	t.Helper()
	w := workplace{dir: filepath.Join(t.TempDir(), "data")}
	c := embedded.Creation{Name: "shop", Source: "the test's files", Files: map[string][]byte{}}
	for path, text := range files {
		c.Files[path] = []byte(text)
	}
	must.Get(embedded.Create(background(t), w.dir, c))(t)
	for i := range clients {
		if i%2 == 1 { // the twin of the one before
			w.keys = append(w.keys, w.keys[i-1])
			continue
		}
		w.keys = append(w.keys, w.issueKey(t, access.KeyRequest{
			Kind: access.KindUser, Name: fmt.Sprint("client ", i), Email: apiload.AuthorOf(i), Roles: []string{"protected_engineer"},
		}))
	}
	return w
}

func (w workplace) issueKey(t testing.TB, m access.KeyRequest) string {
	t.Helper()
	key, _, err := embedded.IssueKey(background(t), w.dir, "", m)
	must.Do(t, err)
	return key.Reveal()
}

// process is svc api as a process of its own.
type process struct {
	*svcbinary.Server
	base string
}

// launch starts svc api and waits until it listens.
func launch(t testing.TB, binary func() (string, error), w workplace, port string) *process {
	t.Helper()
	path := must.Get(binary())(t)
	server := must.Get(svcbinary.Start(path, "api", "--data", w.dir, "--port", port, "--rate-limit", "1000000", "--rate-burst", "1000000", "--anonymous-limit", "1000000", "--anonymous-burst", "1000000"))(t)
	t.Cleanup(server.Kill) // should the test end early
	return &process{server, "http://127.0.0.1:" + port}
}

// kill ends the process in the middle of what it does. It must have reported nothing.
func (p *process) kill(t testing.TB) {
	t.Helper()
	p.Kill()
	must.Report(t, p.Log.Quiet())
}

// stop asks the process to end, which it must do well, having reported nothing.
func (p *process) stop(t testing.TB) {
	t.Helper()
	must.Report(t, errors.Join(p.Stop(), p.Log.Quiet()))
}

// command runs another svc beside the one that serves.
func command(ctx context.Context, args ...string) (string, error) {
	path, err := svcbinary.Swift()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("svc %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func TestMain(m *testing.M) { os.Exit(svcbinary.Run(m.Run)) }

func background(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*apiload.Patience)
	t.Cleanup(cancel)
	return ctx
}
