package browsertest

import (
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"
)

// serverApp is a program with a server SDK and its OFREP provider.
type serverApp struct {
	requests *json.Encoder
	answers  *json.Decoder
}

// startServerApp starts the one in Node.js.
func startServerApp(t *testing.T) serverApp {
	t.Helper()
	return startApp(t, node(t, testdata(t, "server-provider.js")))
}

func startApp(t *testing.T, cmd *exec.Cmd) serverApp {
	t.Helper()
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(3*patience, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		stdin.Close() // which ends the program
		io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", cmd.Path, err)
		}
		hung.Stop()
	})
	return serverApp{json.NewEncoder(stdin), json.NewDecoder(stdout)}
}

// serverRequest is a line to the program: the options of a new provider, if
// any, and the questions.
type serverRequest struct {
	Options   map[string]any `json:"options,omitempty"`
	Context   map[string]any `json:"context,omitempty"`
	Questions []question     `json:"questions"`
}

func (app serverApp) ask(t *testing.T, r serverRequest) []details {
	t.Helper()
	if err := app.requests.Encode(r); err != nil {
		t.Fatalf("asking the program: %v", err)
	}
	var answers []details
	if err := app.answers.Decode(&answers); err != nil {
		t.Fatalf("the program's answer: %v", err)
	}
	return answers
}

func TestServerProviderReadsEveryType(t *testing.T) {
	t.Parallel()
	app := startServerApp(t)
	options := map[string]any{"baseUrl": "http://127.0.0.1:" + serve(t, everyTypeDir(t))}
	checkAnswers(t, everyType, app.ask(t, serverRequest{options, member, questions(everyType)}))

	// This provider takes an answer without a value for a broken one. The
	// application gets the default of its code all the same.
	a := app.ask(t, serverRequest{nil, member, []question{noRuleMatches}})[0]
	if a.Value != "default" || a.Reason != "ERROR" || a.ErrorCode != "GENERAL" {
		t.Errorf("no rule matches, and the answer is %+v", a)
	}
}

func TestServerProviderKeys(t *testing.T) {
	t.Parallel()
	app := startServerApp(t)
	base := "http://127.0.0.1:" + serve(t, everyTypeDir(t), "--frontend-sdk-key", "dev-key")
	for _, c := range keyHeaders {
		t.Run(c.name, func(t *testing.T) {
			options := map[string]any{"baseUrl": base}
			if c.header != "" {
				options["headers"] = map[string]string{c.header: c.value}
			}
			want := expectation{proOnly, true, "on", "TARGETING_MATCH", ""}
			if !c.accepted {
				want = expectation{proOnly, false, "", "ERROR", "GENERAL"}
			}
			checkAnswers(t, []expectation{want}, app.ask(t, serverRequest{options, member, []question{proOnly}}))
		})
	}
}
