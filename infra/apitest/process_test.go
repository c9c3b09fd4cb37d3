package apitest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/instance"
)

// asInstance names the variable that makes of the test's binary an instance of
// the service: it holds its instance.Site.
const asInstance = "SVC_APITEST_INSTANCE"

func TestMain(m *testing.M) {
	if text := os.Getenv(asInstance); text != "" {
		fmt.Fprintln(os.Stderr, beInstance(text))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// invocation is the time that a request has, as a function's has.
const invocation = 8 * time.Second

// beInstance serves until the process is killed, or its parent is gone.
func beInstance(text string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var s instance.Site
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	handler, err := s.New(context.Background(), nil, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), invocation)
		defer cancel()
		handler.ServeHTTP(w, r.WithContext(ctx))
	}))
}

// process is an instance that is a process of its own.
type process struct {
	cmd     *exec.Cmd
	address string
	log     *strings.Builder // to be read when it has ended
}

// spawn starts one.
func spawn(s instance.Site) (*process, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(os.Args[0]), log: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), asInstance+"="+string(text), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = p.log
	if _, err := p.cmd.StdinPipe(); err != nil { // open as long as this process lives
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("an instance did not start: %w\n%s", err, p.log)
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

// kill ends a process in the middle of whatever it does, and waits until it is
// gone. What it has written to its log is a mistake.
func (p *process) kill() (log string) {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return p.log.String()
}
