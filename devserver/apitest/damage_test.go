package apitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
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
	s.p.stop(s.t)
	s.start()
}

// ask sends a request and returns the answer's status and body.
func (s *site) ask(method, path, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(background(s.t), method, s.p.base+path, strings.NewReader(body))
	must(s.t, err)
	r.Header.Set("Authorization", "Bearer "+s.keys[0])
	if strings.HasPrefix(path, "/api/") {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+s.public)))
	}
	response, err := s.client.Do(r)
	must(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(s.t, err)
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
	out, err := cmd.Output()
	must(s.t, err)
	return strings.TrimSpace(string(out))
}

// moveTo makes a tree the next commit of main.
func (s *site) moveTo(tree, message string) {
	s.t.Helper()
	commit := s.bare.Run(s.t, "commit-tree", tree, "-p", "refs/heads/main", "-m", message)
	s.bare.Run(s.t, "update-ref", "refs/heads/main", commit)
}

// put commits files to main as they are; "" deletes one.
func (s *site) put(message string, files map[string]string) {
	s.t.Helper()
	blobs := map[string]string{}
	for path, text := range files {
		if text != "" {
			text = s.object("blob", strings.NewReader(text))
		}
		blobs[path] = text
	}
	s.place(message, blobs)
}

// place is put for blobs that are there.
func (s *site) place(message string, blobs map[string]string) {
	s.t.Helper()
	index := filepath.Join(s.t.TempDir(), "index")
	run := func(args ...string) string {
		cmd := exec.Command(s.bare.Program, args...)
		cmd.Dir, cmd.Env = s.bare.Dir, append(os.Environ(), "GIT_INDEX_FILE="+index)
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("read-tree", "refs/heads/main")
	for path, blob := range blobs {
		if blob == "" {
			run("rm", "-q", "--cached", path)
			continue
		}
		run("update-index", "--add", "--cacheinfo", "100644,"+blob+","+path)
	}
	s.moveTo(run("write-tree"), message)
}

// zeros are so many bytes that compress to a thousandth.
func zeros(n int64) io.Reader { return io.LimitReader(endless{}, n) }

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// peak is the most memory that the server has had, in MiB.
func (s *site) peak() int {
	s.t.Helper()
	if runtime.GOOS != "linux" {
		s.t.Skip("only Linux tells how much memory a process has had")
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.p.Process()))
	must(s.t, err)
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kilobytes, err := strconv.Atoi(strings.Fields(string(rest))[0])
	must(s.t, err)
	return kilobytes >> 10
}

// TestAnEnormousBlobIsNotInflated: whoever may push could end the server, and
// each one that is started after it, with a pack of 1 MB.
func TestAnEnormousBlobIsNotInflated(t *testing.T) {
	s := newSite(t)
	const size = 300 << 20
	huge := s.object("blob", zeros(size))
	s.bare.Run(t, "-c", "core.bigFileThreshold=1g", "repack", "-adq")
	s.place("Huge", map[string]string{"configs/huge.json": huge, "images/huge.png": huge})
	for _, enabled := range []bool{true, false} {
		s.works(enabled)
		s.expect(422, fmt.Sprint(size), "GET", "/v1/configs/huge", "")
		s.expect(422, fmt.Sprint(size), "GET", "/v1/configs/huge/document", "")
		s.expect(200, `"created"`, "GET", "/v1/activity?type=config&key=huge", "")
		if peak := s.peak(); peak > 150 {
			t.Errorf("the server has taken %d MiB", peak)
		}
		s.restart()
	}
}

// TestATreeEntryWithASlash: git writes none, and reads those that others have
// written.
func TestATreeEntryWithASlash(t *testing.T) {
	s := newSite(t)
	tree, err := exec.Command(s.bare.Program, "-C", s.bare.Dir, "cat-file", "tree", "refs/heads/main^{tree}").Output()
	must(t, err)
	blob := s.bare.Run(t, "rev-parse", "refs/heads/main:feature-flags/redesign.json")
	raw := make([]byte, 20)
	for i := range raw {
		n, err := strconv.ParseUint(blob[2*i:2*i+2], 16, 8)
		must(t, err)
		raw[i] = byte(n)
	}
	entry := append([]byte("100644 configs/evil.json\x00"), raw...)
	s.moveTo(s.object("tree", bytes.NewReader(append(entry, tree...))), "Slash")
	for _, enabled := range []bool{true, false} {
		s.works(enabled)
		s.expect(404, "", "GET", "/v1/configs/evil", "")
		s.restart()
	}
}

// TestNoBranchMain: that the branch is gone is no empty workspace.
func TestNoBranchMain(t *testing.T) {
	s := newSite(t)
	before := s.bare.Run(t, "rev-parse", "refs/heads/main")
	s.bare.Run(t, "branch", "-m", "main", "trunk")
	const created = `{"key": "another", "type": "bool"}`
	for range 2 {
		s.expect(503, "no branch main", "GET", poll, "")
		s.expect(503, "no branch main", "GET", "/v1/flags", "")
		s.expect(503, "no branch main", "POST", "/v1/flags", created)
		s.p.stop(t)
		must(t, os.Remove(filepath.Join(s.dir, "history.cache")))
		s.start()
	}
	s.logs("no branch main")
	for _, args := range [][]string{{"export", "--data", s.dir, filepath.Join(t.TempDir(), "out")}, {"key", "create", "--data", s.dir, "--kind", "public", "--name", "x", "--environment", "production"}} {
		if _, err := command(background(t), svcbinary.Swift, args...); err == nil || !strings.Contains(err.Error(), "no branch main") {
			t.Errorf("svc %s: %v", args[0], err)
		}
	}
	s.bare.Run(t, "branch", "-m", "trunk", "main")
	s.expect(200, `"redesign"`, "GET", poll, "")
	s.expect(200, "", "POST", "/v1/flags", created)
	if parent := s.bare.Run(t, "rev-parse", "refs/heads/main^"); parent != before {
		t.Errorf("the new commit is on top of %s, want %s", parent, before)
	}
}

// report is the answer to GET /v1/workspace.
type report struct {
	BrokenDocuments int
	Broken          []struct{ Type, Key, Since, ServedFrom, Problem string }
	CommitSHA       string
	UnreadableHead  *struct{ CommitSHA, Message string }
}

func (s *site) report() report {
	s.t.Helper()
	var r report
	must(s.t, json.Unmarshal([]byte(s.expect(200, "", "GET", "/v1/workspace", "")), &r))
	return r
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

// TestAStartRemovesWhatAKilledProcessWasWriting, however young it is: nobody else
// serves the directory. What is git's stays.
func TestAStartRemovesWhatAKilledProcessWasWriting(t *testing.T) {
	s := newSite(t)
	packs := filepath.Join(s.repository(), "objects", "pack")
	left, theirs := filepath.Join(packs, "svc-tmp-KILLED-pack-LEFT"), filepath.Join(packs, "tmp_pack_LEFT")
	for _, path := range []string{left, theirs} {
		must(t, os.WriteFile(path, []byte("half"), 0o666))
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

// TestBrokenIsDeliveredAsItLastWas: what was pushed broken is served as it was
// before, whoever asks and however often the server is started, while the
// control plane shows what is there.
func TestBrokenIsDeliveredAsItLastWas(t *testing.T) {
	s := newSite(t)
	fixture := apiload.Fixture()
	segment := `{"key": "insiders", "type": "segment", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": true}}]}}`
	inside := strings.Replace(fixture["feature-flags/headline.json"], `{"operator": "ALWAYS_TRUE"}`,
		`{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "insiders"}}`, 1)
	s.put("Good", map[string]string{"segments/insiders.json": segment, "feature-flags/headline.json": inside})
	good := s.bare.Run(t, "rev-parse", "refs/heads/main")
	s.put("Break", map[string]string{
		"feature-flags/redesign.json": `{"key": "redesign",`, "segments/insiders.json": "oops", "svc.json": "[",
	})
	broken := s.bare.Run(t, "rev-parse", "refs/heads/main")
	s.put("Break more", map[string]string{
		"feature-flags/redesign.json": `{"key": "redesign",,`, "feature-flags/never.json": "never good",
	})
	more := s.bare.Run(t, "rev-parse", "refs/heads/main")
	for range 2 {
		s.expect(200, `"redesign":{"value":{"type":"bool","value":false}`, "GET", poll, "")
		s.expect(200, `"headline":{"value":{"type":"string","value":"red"}`, "GET", poll, "")
		s.expect(422, "line 1", "GET", "/v1/flags/redesign", "")
		r := s.report()
		if r.BrokenDocuments != 4 || len(r.Broken) != 4 {
			t.Fatalf("the workspace tells of %+v", r)
		}
		for i, want := range []struct{ kind, key, since, from string }{
			{"feature_flag", "never", more, ""}, {"feature_flag", "redesign", broken, s.bare.Run(t, "rev-parse", good+"^")},
			{"segment", "insiders", broken, good}, {"workspace", "", broken, s.bare.Run(t, "rev-parse", good+"^")},
		} {
			got := r.Broken[i]
			if got.Type != want.kind || got.Key != want.key || got.Since != want.since || got.ServedFrom != want.from || got.Problem == "" {
				t.Errorf("%d: %+v, want %+v", i, got, want)
			}
		}
		s.logs("redesign.json")
		s.logs("since=" + broken)
		s.restart()
	}
	s.put("Mend", map[string]string{"feature-flags/redesign.json": fixture["feature-flags/redesign.json"], "feature-flags/never.json": "",
		"segments/insiders.json": segment, "svc.json": fixture["svc.json"]})
	if r := s.report(); r.BrokenDocuments != 0 {
		t.Errorf("mended, and %+v", r)
	}
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
		must(t, json.Unmarshal([]byte(s.expect(200, "", "GET", path, "")), &p))
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
	s.p.stop(t)
	must(t, os.Remove(filepath.Join(s.dir, "history.cache")))
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
