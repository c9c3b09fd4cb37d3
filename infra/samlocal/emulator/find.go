// Package emulator runs Lambda functions in the runtime interface emulator
// that aws-sam-cli carries: the real binaries, started and invoked as Lambda
// does it, without Docker.
//
// What must stay true:
//
//   - An instance answers one event at a time. When all are busy another is
//     started, up to a bound, and then an event waits: as with Lambda, though
//     Lambda would throttle.
//   - An instance that has more memory resident than its function's MemorySize
//     is killed, also when it is only for a moment, and the event fails, as
//     Lambda does it: by then the program does nothing more. The next event gets
//     a fresh instance. (What Lambda counts beside it, files in /tmp and other
//     processes, a function here has none of.)
//   - Only the loopback interface is listened on.
//   - When the pool is closed, or this process ends however it ends, no process
//     is left behind.
package emulator

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Variable names the emulator where it is not found by itself.
const Variable = "SVC_LAMBDA_RIE"

// ErrMissing: the emulator is not installed.
var ErrMissing = errors.New("the Lambda runtime interface emulator is not installed: make functions installs aws-sam-cli, which brings it (or name it in " + Variable + ")")

// Find looks for the emulator: what the variable names, aws-lambda-rie on the
// PATH, then in the installation of sam.
func Find() (string, error) {
	if named := os.Getenv(Variable); named != "" {
		_, err := os.Stat(named)
		return named, err
	}
	if path, err := exec.LookPath("aws-lambda-rie"); err == nil {
		return path, nil
	}
	sam, err := Tool("sam")
	if err != nil {
		return "", ErrMissing
	}
	name := fmt.Sprintf("aws-lambda-rie-%s", map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH])
	for _, lib := range []string{"lib", "lib64", "Lib"} {
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(sam), "..", lib, "python*", "site-packages", "samcli", "local", "rapid", name))
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return "", ErrMissing
}
