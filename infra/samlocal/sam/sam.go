// Package sam runs the functions of a SAM template in sam local: SAM's own
// gateway, and containers in a Docker engine that keep to a function's memory.
//
// What must stay true:
//
//   - Functions reach the servers that the variables AWS_ENDPOINT_URL_* name,
//     though those listen on this machine's loopback interface: the addresses
//     are rewritten to what containers reach. Of the variables SAM hands on
//     those that the template names.
//   - No registry is asked. SAM is given an image that holds nothing but the
//     runtime interface emulator, which SAM brings itself: functions are
//     statically linked. It stays in the engine, as svc-sam-local-*.
//   - SAM ends with the process that started it, and no container is left.
//
// SAM's gateway is not AWS's, which the package apigateway describes. Where the
// two are known to differ, SAM
//
//   - decodes a path once and not twice: a key with a question mark is reached
//     as %3F, and %253F is %3F for the function; no % is an error;
//   - keeps runs of slashes within a path: /v1//flags is unknown;
//   - takes GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS for ANY. Other
//     methods (TRACE) are 403 with {"message": "Missing Authentication Token"};
//   - has no bound for headers. A body of more than 6 MB is 500, one that is
//     not UTF-8 is 502, whatever its type; both in SAM's own words;
//   - gives every answer a Content-Type, a 204 too;
//   - knows a header X-Amz-Tenant-Id, and answers 400;
//   - names headers with capitals, and leaves X-Forwarded-For as it came;
//   - has one container for each function, which takes one request at a time.
//     Others wait.
package sam

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/engine"
	"svc.example/svc/infra/samlocal/lifeline"
)

// Options say what SAM runs.
type Options struct {
	Template    string   // whose functions are built
	Port        int      // on the loopback interface
	Environment []string // of the functions, beside what Lambda sets
	Parameters  []string // of the template, Name=Value
	Log         io.Writer
}

// SAM is sam local start-api, running.
type SAM struct {
	engine  *engine.Engine
	process *lifeline.Process
	log     *log
	dir     string
}

// Installed says why there is no SAM; nil when there is.
func Installed() error {
	_, err := emulator.Tool("sam")
	return err
}

// grace is how long SAM may take to remove its containers.
const grace = 20 * time.Second

// Start starts SAM and waits until it listens.
func Start(ctx context.Context, e *engine.Engine, o Options) (*SAM, error) {
	s := &SAM{engine: e, log: &log{next: o.Log}}
	var err error
	if s.dir, err = os.MkdirTemp("", "svc-sam-"); err != nil {
		return nil, err
	}
	args, env, err := prepare(ctx, e, o, s.dir)
	if err == nil {
		args = append([]string{args[0], "local", "start-api", "--port", strconv.Itoa(o.Port), "--warm-containers", "LAZY"}, args[1:]...)
		s.process, err = lifeline.Start(lifeline.Program{Args: args, Env: env, Output: s.log, Grace: grace, Clean: `rm -rf "$__SAM_CLI_APP_DIR"`})
	}
	if err == nil {
		err = s.await(ctx, o.Port)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

const patience = 2 * time.Minute

func (s *SAM) await(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return c.Close()
		}
		select {
		case <-s.process.Ended():
			return fmt.Errorf("sam local start-api does not start: %w\n%s", s.process.Err(), s.log.tail())
		case <-ctx.Done():
			return fmt.Errorf("sam local start-api does not listen: %w\n%s", ctx.Err(), s.log.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Ended is closed when SAM has ended.
func (s *SAM) Ended() <-chan struct{} { return s.process.Ended() }

// Containers are those that SAM has made, the first first.
func (s *SAM) Containers() []string { return s.log.containers() }

// Stop ends SAM and its containers.
func (s *SAM) Stop() error {
	if s.process != nil {
		s.process.Stop()
	}
	// It removes them itself, unless it had to be killed.
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return errors.Join(s.engine.Remove(ctx, s.Containers()...), os.RemoveAll(s.dir))
}

// Invoke invokes a function with an event, in a container of its own, as a
// schedule or a queue does.
func Invoke(ctx context.Context, e *engine.Engine, o Options, function string, event []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "svc-sam-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args, env, err := prepare(ctx, e, o, dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "event.json")
	if err := os.WriteFile(file, event, 0o600); err != nil {
		return nil, err
	}
	log := &log{next: o.Log}
	cmd := exec.CommandContext(ctx, args[0], append([]string{"local", "invoke", function, "--event", file}, args[1:]...)...)
	cmd.Env, cmd.Stderr = env, log
	out, err := cmd.Output()
	err = errors.Join(err, e.Remove(context.WithoutCancel(ctx), log.containers()...))
	if err != nil {
		err = fmt.Errorf("sam local invoke %s: %w\n%s", function, err, log.tail())
	}
	return bytes.TrimSpace(out), err
}

// prepare returns the program, the arguments that all of its commands take,
// and its environment.
func prepare(ctx context.Context, e *engine.Engine, o Options, dir string) (args, env []string, err error) {
	program, err := emulator.Tool("sam")
	if err != nil {
		return nil, nil, err
	}
	base, err := importImage(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	variables := map[string]string{}
	env = append(e.Environ(), "SAM_CLI_TELEMETRY=0", "__SAM_CLI_APP_DIR="+dir, "SAM_CLI_CONTAINER_CONNECTION_TIMEOUT=60")
	for _, v := range o.Environment {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "AWS_ENDPOINT_URL") && value != "" {
			if value, err = e.Reach(value); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		variables[name] = value
		// Region and credentials SAM takes from its own environment.
		if strings.HasPrefix(name, "AWS_") && !strings.HasPrefix(name, "AWS_ENDPOINT_URL") {
			env = append(env, v)
		}
	}
	settings := filepath.Join(dir, "env.json")
	err = errors.Join(
		writeJSON(settings, map[string]any{"Parameters": variables}),
		// It has looked for a newer version of itself, and need not again.
		writeJSON(filepath.Join(dir, "metadata.json"), map[string]any{"lastVersionCheck": float64(time.Now().Unix())}),
	)
	args = []string{program, "--template", o.Template, "--env-vars", settings, "--skip-pull-image", "--invoke-image", base}
	if len(o.Parameters) > 0 {
		args = append(append(args, "--parameter-overrides"), o.Parameters...)
	}
	return args, env, err
}

func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// Architecture is this machine's, in AWS's words.
func Architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// importImage makes the image that functions run in, and returns what SAM is
// to be told: from that it makes the name of the one with the emulator in it.
func importImage(ctx context.Context, e *engine.Engine) (base string, err error) {
	rie, err := emulator.Find()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(rie)
	if err != nil {
		return "", err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, dir := range []string{"tmp/", "var/", "var/rapid/", "var/runtime/", "var/task/"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: dir, Mode: 0o1777, Typeflag: tar.TypeDir}))
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{Name: "var/rapid/aws-lambda-rie", Mode: 0o755, Size: int64(len(content))}))
	_, err1 := w.Write(content)
	if err = errors.Join(err, err1, w.Close()); err != nil {
		return "", err
	}
	repository := fmt.Sprintf("svc-sam-local-%x", sha256.Sum256(content))[:26]
	return repository + ":latest", e.Import(ctx, repository+":rapid-"+Architecture(), &archive)
}

// log passes on what SAM writes, and remembers its end and the containers.
type log struct {
	next io.Writer

	mu   sync.Mutex
	rest []byte // of a line that is not complete
	last []string
	ids  []string
}

var containerID = regexp.MustCompile(`SAM_CONTAINER_ID: ([0-9a-f]{12,64})`)

const lastLines = 30

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := append(l.rest, b...)
	end := bytes.LastIndexByte(text, '\n') + 1
	l.rest = bytes.Clone(text[end:])
	for lines := bufio.NewScanner(bytes.NewReader(text[:end])); lines.Scan(); {
		if m := containerID.FindStringSubmatch(lines.Text()); m != nil {
			l.ids = append(l.ids, m[1])
		}
		if l.last = append(l.last, lines.Text()); len(l.last) > lastLines {
			l.last = l.last[1:]
		}
	}
	if l.next == nil {
		return len(b), nil
	}
	return l.next.Write(b)
}

func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(append(l.last, string(l.rest)), "\n")
}

func (l *log) containers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.ids...)
}
