// Package lifeline runs programs that need to tidy up when they end, and that
// must not outlive the process that started them, however that ends.
//
// A shell watches a pipe whose other end only that process holds. When the
// pipe breaks, the shell asks the program to end (SIGTERM), and kills it if it
// does not. Then it cleans up, whether the program ended by itself or not. The
// shell and the program are a process group of their own, so that Ctrl-C in a
// terminal reaches them once, in this order, and not all at the same time.
package lifeline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Program is a program to run.
type Program struct {
	Args   []string
	Dir    string
	Env    []string
	Output io.Writer     // of the program; nil discards it
	Grace  time.Duration // between SIGTERM and SIGKILL
	Clean  string        // shell commands to run afterwards, with the same environment
}

// Process is a running program.
type Process struct {
	lifeline io.Closer
	ended    chan struct{}
	err      error
}

// Descriptor 3 is the other end of the pipe that takes the output. The shell
// only holds it: with nobody at that end, writing would end the program, and
// the shell, before they have tidied up.
//
// The loop ends within a tenth of a second of the program, so nothing is left
// that could hit another process with the same number.
const guard = `clean=$1 tenths=$2; shift 2
exec 4<&0
"$@" 3<&- 4<&- </dev/null &
program=$!
(
  cat <&4
  kill -TERM $program
  while [ $tenths -gt 0 ] && kill -0 $program; do tenths=$((tenths - 1)); sleep 0.1; done
  kill -KILL $program
) >/dev/null 2>&1 &
watch=$!
wait $program
status=$?
kill -KILL $watch
eval "$clean" </dev/null >/dev/null 2>&1
exit $status
`

// Start starts a program.
func Start(p Program) (*Process, error) {
	tenths := strconv.Itoa(int(p.Grace / (100 * time.Millisecond)))
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "sh", p.Clean, tenths}, p.Args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.Dir, p.Env, ownGroup()
	if p.Output == nil {
		p.Output = io.Discard
	}
	out, written, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = written, written, []*os.File{out}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = written.Close() // the shell has it
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		defer out.Close()
		_, _ = io.Copy(p.Output, out)
	}()
	process := &Process{lifeline: in, ended: make(chan struct{})}
	go func() {
		process.err = cmd.Wait()
		select {
		case <-copied:
		case <-time.After(5 * time.Second): // a child of the program holds its output open
		}
		close(process.ended)
	}()
	return process, nil
}

// Ended is closed when the program has ended and what it left is cleaned up.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err says how the program ended, once it has.
func (p *Process) Err() error {
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		return fmt.Errorf("it ended with status %d", exit.ExitCode())
	}
	return p.err
}

// Stop ends the program and waits for it.
func (p *Process) Stop() {
	p.lifeline.Close() //nolint:errcheck // it may be closed already
	<-p.ended
}
