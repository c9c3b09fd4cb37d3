package svcbinary

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"svc.example/svc/devserver/command"
	"svc.example/svc/shared/cli"
)

// patience is how long a server may take to start, and to end. It is a way out
// for one that hangs, not a measure.
const patience = 2 * time.Minute

// Server is an svc that serves.
type Server struct {
	Log *Log // what it writes to its standard error
	Out *Log // to its standard output, in a process of its own after the first line

	cmd    *exec.Cmd
	end    context.CancelFunc // of one in this process
	ended  chan struct{}
	status int // once it has ended
}

// Start starts an svc that serves, and waits until it listens. The error says
// what it wrote instead. Whoever started it ends it.
func Start(path string, args ...string) (*Server, error) {
	s := &Server{Log: &Log{}, Out: &Log{}, cmd: exec.Command(path, args...)}
	// A program with the race detector otherwise waits a second before it ends.
	s.cmd.Env = append(os.Environ(), "SVC_ENVIRONMENT=", "SVC_DIR=", "GORACE=atexit_sleep_ms=0")
	s.cmd.Stderr = s.Log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	impatient := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	impatient.Stop()
	if !strings.HasPrefix(line, "Listening") {
		s.Kill()
		return nil, fmt.Errorf("svc %s says %q, %v\n%s", args[0], line, err, s.Log)
	}
	go func() { _, _ = io.Copy(s.Out, lines) }()
	return s, nil
}

// Here is Start without a process: the same command line, in this one. It is there at once,
// and the race detector of the tests watches it.
func Here(args ...string) (*Server, error) {
	ctx, end := context.WithCancel(context.Background())
	s := &Server{Log: &Log{}, Out: &Log{}, end: end, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.status = command.Main(ctx, args, caller(s.Out, s.Log))
	}()
	for began := time.Now(); !strings.HasPrefix(s.Out.String(), "Listening"); time.Sleep(time.Millisecond) {
		select {
		case <-s.ended:
			end()
			return nil, fmt.Errorf("svc %s ends with status %d, and says %q\n%s", args[0], s.status, s.Out, s.Log)
		default:
		}
		if time.Since(began) > patience {
			end()
			return nil, fmt.Errorf("svc %s does not listen: %q\n%s", args[0], s.Out, s.Log)
		}
	}
	return s, nil
}

// Do runs a command in this process to its end, and returns what it prints.
func Do(args ...string) (string, error) {
	var out, said Log
	if status := command.Main(context.Background(), args, caller(&out, &said)); status != 0 {
		return "", fmt.Errorf("svc %s: status %d\n%s", strings.Join(args, " "), status, &said)
	}
	return strings.TrimSpace(out.String()), nil
}

func caller(out, said io.Writer) cli.Caller {
	getenv := func(name string) string {
		if strings.HasPrefix(name, "SVC_") {
			return ""
		}
		return os.Getenv(name)
	}
	return cli.Caller{Stdin: strings.NewReader(""), Stdout: out, Stderr: said, Getenv: getenv, Workdir: ".", Now: time.Now}
}

// Console is the address of its console as it is printed, with the token of a directory's;
// "" where none is.
func (s *Server) Console() string {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Millisecond) {
		_, rest, found := strings.Cut(s.Out.String(), "Console ")
		if address, _, whole := strings.Cut(rest, "\n"); found && whole {
			return strings.TrimSpace(address)
		}
	}
	return ""
}

// Process is the server's number.
func (s *Server) Process() int { return s.cmd.Process.Pid }

// Kill ends a server in the middle of whatever it does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
}

// Stop asks a server to end. It is an error if it does not end well.
func (s *Server) Stop() error {
	if s.cmd == nil {
		s.end()
		select {
		case <-s.ended:
			if s.status != 0 {
				return fmt.Errorf("svc, told to stop, ends with status %d\n%s", s.status, s.Log)
			}
			return nil
		case <-time.After(patience):
			return errors.New("svc, told to stop, goes on")
		}
	}
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended, which Wait tells
	impatient := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer impatient.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("svc %s, told to stop: %w\n%s", s.cmd.Args[1], err, s.Log)
	}
	return nil
}

// Log is what a server writes, by several goroutines.
type Log struct {
	lock sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// Quiet is an error if the server had something to report.
func (l *Log) Quiet() error {
	if text := l.String(); strings.Contains(text, "ERROR") || strings.Contains(text, "RACE") || strings.Contains(text, "panic") {
		return errors.New("the server says:\n" + text)
	}
	return nil
}
