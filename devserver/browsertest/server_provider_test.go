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

func startApp(t *testing.T, cmd *exec.Cmd) serverApp {
	t.Helper()
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
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
