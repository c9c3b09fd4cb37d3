package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// TestKillsWhileARequestIsApplied: svc api is killed at whatever it does then. A change request is
// applied once, and told as what has become of it.
func TestKillsWhileARequestIsApplied(t *testing.T) {
	files := apiload.Fixture()
	files["svc.json"] = strings.Replace(files["svc.json"], "{", `{"review": {"production": {}}, `, 1)
	w := newWorkplace(t, files, 3)
	port := freeport.Take()
	git := testenv.Program(t, "install git", "git")
	p := launch(t, svcbinary.Swift, w, port)
	ask := func(key, method, path, body string) (answer struct {
		ID, State, CommitSHA string
		Preview              struct{ Digest string }
	}, err error) {
		r := must.Get(http.NewRequest(method, p.base+"/v1/change-requests"+path, strings.NewReader(body)))(t)
		r.Header.Set("Authorization", "Bearer "+key)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			return answer, err
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err == nil && a.StatusCode != 200 {
			err = fmt.Errorf("%s %s: %s %s", method, path, a.Status, text)
		}
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		return answer, err
	}
	rounds := 25
	if testing.Short() {
		rounds = 6
	}
	landed, lost := 0, 0
	for n := range rounds {
		made, err := ask(w.keys[0], "POST", "", fmt.Sprintf(`{"title": "t", "operations": [{"op": "create", "type": "feature_flag", "body": {"key": "new-%d"}}]}`, n))
		must.Do(t, err)
		shown, err := ask(w.keys[2], "GET", "/"+made.ID, "")
		must.Do(t, err)
		_, err = ask(w.keys[2], "POST", "/"+made.ID+"/approvals", fmt.Sprintf(`{"digest": %q}`, shown.Preview.Digest))
		must.Do(t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = ask(w.keys[0], "POST", "/"+made.ID+"/apply", "") // whatever comes of it
		}()
		time.Sleep(time.Duration(rand.IntN(50_000)) * time.Microsecond)
		p.Kill()
		<-ended
		carried := func() int {
			out := must.Get(exec.Command(git, "--git-dir", w.repository(), "log", "--format=%H", "--grep", "^Svc-Request: "+made.ID+"$", "main").Output())(t)
			return strings.Count(string(out), "\n")
		}
		before := carried()
		p = launch(t, svcbinary.Swift, w, port)
		found, err := ask(w.keys[2], "GET", "/"+made.ID, "")
		if err != nil || before > 1 || (before == 1) != (found.State == "applied") || (before == 1) != (found.CommitSHA != "") {
			t.Fatalf("%d commits, and it is %+v, %v", before, found, err)
		}
		again, err := ask(w.keys[0], "POST", "/"+made.ID+"/apply", "")
		if after := carried(); err != nil || again.State != "applied" || after != 1 {
			t.Fatalf("applied again: %+v, %v; %d commits, %d before", again, err, after, before)
		}
		if before == 1 {
			landed++
		} else {
			lost++
		}
	}
	t.Logf("killed after it had landed %d times, before %d times", landed, lost)
	p.stop(t)
}
