package apitest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/svcbinary"
)

// TestARemoteAcrossKills: whenever the server is killed and whatever its remote does, both end
// with every commit of either side, and no write waits for it.
func TestARemoteAcrossKills(t *testing.T) {
	s := &site{workplace: newWorkplace(t, apiload.Fixture(), 1), t: t, client: apiload.NewHTTPClient(t)}
	dir := t.TempDir()
	there := filepath.Join(dir, "flags.git")
	realgit.Run(t, dir, "init", "-q", "--bare", "-b", "main", there)
	realgit.Run(t, there, "config", "http.receivepack", "true")
	git := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(realgit.Run(t, dir, "--exec-path")), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir}}
	const token = "t0ken-of-a-remote"
	var healthy atomic.Bool
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, sent, _ := r.BasicAuth(); sent != token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		kind := rand.N(16)
		if healthy.Load() {
			kind = 2
		}
		switch kind {
		case 0:
			w.WriteHeader(http.StatusBadGateway)
		case 1: // it is done, and nobody hears of it
			git.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			git.ServeHTTP(w, r)
		}
	}))
	defer remote.Close()
	key := filepath.Join(dir, "token")
	must.Do(t, os.WriteFile(key, []byte(token+"\n"), 0o600))
	start := func() {
		t.Helper()
		port := freeport.Take()
		server := must.Get(svcbinary.Start(must.Get(svcbinary.Swift())(t), "api", "--data", s.dir, "--port", port, "--remote", remote.URL+"/flags.git", "--remote-key-file", key,
			"--rate-limit", "1000000", "--rate-burst", "1000000", "--anonymous-limit", "1000000", "--anonymous-burst", "1000000"))(t)
		t.Cleanup(server.Kill)
		s.p = &process{server, "http://127.0.0.1:" + port}
	}
	start()
	arrived := func(what, file string) {
		t.Helper()
		for deadline := time.Now().Add(apiload.Patience); ; time.Sleep(50 * time.Millisecond) {
			if _, err := realgit.Try(t, there, "cat-file", "-e", "main:"+file); err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s did not arrive\n%s", what, s.p.Log)
			}
		}
	}
	var ada apiload.Git // a person with a clone of the remote
	theirs := 0
	for n := range 40 {
		s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, n%2 == 0))
		if n == 3 {
			arrived("the first commits", "svc.json")
			ada = apiload.Git{Program: s.bare.Program, Dir: filepath.Join(dir, "clone")}
			realgit.Run(t, dir, "clone", "-q", there, ada.Dir)
		}
		if n > 3 && n%4 == 1 {
			theirs++
			must.Do(t, os.WriteFile(filepath.Join(ada.Dir, "feature-flags", "theirs.json"), []byte(strings.ReplaceAll(strings.Replace(apiload.Fixture()["feature-flags/redesign.json"], "redesign", "theirs", 1), "checkout", fmt.Sprint("basket", theirs))), 0o600))
			realgit.Run(t, ada.Dir, "add", "-A")
			realgit.Run(t, ada.Dir, "commit", "-q", "-m", fmt.Sprint("By Ada: ", theirs))
			for range 20 { // svc pushes at the same time
				realgit.Run(t, ada.Dir, "pull", "-q", "--rebase")
				if _, err := realgit.Try(t, ada.Dir, "push", "-q"); err == nil {
					break
				}
			}
		}
		if n%10 == 5 {
			time.Sleep(time.Duration(rand.N(900)) * time.Millisecond)
			s.p.Kill()
			start()
		}
	}
	s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, true)) // else the next look is in a minute
	waited := time.Now().Add(apiload.Patience)
	for ; realgit.Run(t, s.repository(), "rev-parse", "refs/heads/main") != realgit.Run(t, there, "rev-parse", "main"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(waited) {
			t.Fatalf("the remote and this differ\n%s", s.p.Log)
		}
	}
	log := realgit.Run(t, there, "log", "--format=%s by %an", "main")
	for n := range theirs {
		if want := fmt.Sprintf("By Ada: %d by Linus\n", n+1); strings.Count(log, want) != 1 {
			t.Errorf("the history lacks %q", want)
		}
	}
	if n := strings.Count(log, "staging: enabled set"); n != 41 || theirs == 0 {
		t.Errorf("%d of 41 changes here are in the history:\n%s", n, log)
	}
	realgit.Run(t, there, "fsck", "--strict")
	s.expect(200, fmt.Sprint("basket", theirs), "GET", "/v1/flags/theirs", "")

	healthy.Store(true)
	// What svc would not take of a push waits there, until it is mended there.
	bad := filepath.Join(ada.Dir, "feature-flags", "theirs.json")
	good := must.Get(os.ReadFile(bad))(t)
	before := realgit.Run(t, s.repository(), "rev-parse", "refs/heads/main")
	for i, text := range []string{"{", string(good)} {
		must.Do(t, os.WriteFile(bad, []byte(text), 0o600))
		for {
			realgit.Run(t, ada.Dir, "pull", "-q", "--ff-only")
			realgit.Run(t, ada.Dir, "commit", "-q", "-a", "-m", fmt.Sprint("Round ", i))
			if _, err := realgit.Try(t, ada.Dir, "push", "-q"); err == nil {
				break
			}
			realgit.Run(t, ada.Dir, "reset", "-q", "--soft", "HEAD^")
		}
		s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, i != 0))
		for waited := time.Now().Add(apiload.Patience); ; time.Sleep(50 * time.Millisecond) {
			if i == 0 && strings.Contains(s.p.Log.String(), "what was committed at the remote is refused: feature-flags/theirs.json:1:") ||
				i == 1 && realgit.Run(t, s.repository(), "rev-parse", "refs/heads/main") == realgit.Run(t, there, "rev-parse", "main") {
				break
			}
			if time.Now().After(waited) {
				t.Fatalf("round %d\n%s", i, s.p.Log)
			}
		}
		if i == 0 && strings.Contains(realgit.Run(t, s.repository(), "log", "--format=%s", strings.TrimSpace(before)+"..main"), "Round") {
			t.Error("a broken document came in")
		}
	}
	if strings.Contains(s.p.Log.String()+s.p.Out.String(), token) {
		t.Errorf("the token is told: %s%s", s.p.Out, s.p.Log)
	}
	must.Do(t, s.p.Stop())
}
