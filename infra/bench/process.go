package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a server under measurement.
type process struct {
	cmd    *exec.Cmd
	host   string
	ready  time.Duration // from start to first answer
	exited chan struct{}
}

// launch is how a server is started.
type launch struct {
	path  string
	args  []string // the port stands for PORT
	stdin []byte
	probe string // the path that is asked for until it answers
	key   string // to ask with, if any
	quiet bool   // what it says is shown only if it fails to start
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// patience is how long an answer may take; a long history is imported in it.
const patience = 5 * time.Minute

// start runs a server and waits for its first answer.
func start(l launch) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := slices.Clone(l.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "PORT", strconv.Itoa(port))
	}
	p := &process{cmd: exec.Command(l.path, args...), host: fmt.Sprintf("127.0.0.1:%d", port), exited: make(chan struct{})}
	said := &muffler{}
	p.cmd.Stdin, p.cmd.Stderr = bytes.NewReader(l.stdin), said
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.awaitAnswer(get(p.host, l.probe, l.key), begin); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w\n%s", l.path, err, said.held.String())
	}
	said.mu.Lock()
	defer said.mu.Unlock()
	said.lifted = !l.quiet
	return p, nil
}

func (p *process) awaitAnswer(request []byte, begin time.Time) error {
	for time.Since(begin) < patience {
		a, err := once(p.host, request)
		if err == nil && a.status == http.StatusOK {
			p.ready = time.Since(begin)
			return nil
		}
		select {
		case <-p.exited:
			return errors.New("it ended before it answered")
		case <-time.After(200 * time.Microsecond):
		}
	}
	return fmt.Errorf("it did not answer within %v", patience)
}

// muffler holds back what a server says while it starts: it matters only when
// the start fails. What comes later is passed on.
type muffler struct {
	mu     sync.Mutex
	held   bytes.Buffer
	lifted bool
}

func (m *muffler) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lifted {
		return os.Stderr.Write(b)
	}
	return m.held.Write(b)
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.exited
}

// worked is the processor time that the process has used.
func (p *process) worked() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name, which may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("no times in the status of process %d", p.cmd.Process.Pid)
	}
	const tick = 10 * time.Millisecond
	var total time.Duration
	for _, field := range fields[11:13] { // user, system
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		total += time.Duration(n) * tick
	}
	return total, nil
}

// resident is the memory the process holds, in bytes.
func (p *process) resident() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in the status of process %d", p.cmd.Process.Pid)
}

const ceilingCommand = "ceiling"

// fixed is the answer of a ceiling.
type fixed struct {
	Status int
	Header map[string]string
	Body   []byte
}

// runCeiling gives the answer that comes on standard input, from memory, to
// every request.
func runCeiling(args []string) error {
	var f fixed
	if err := json.NewDecoder(os.Stdin).Decode(&f); err != nil {
		return err
	}
	return http.ListenAndServe("127.0.0.1:"+args[0], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			return
		}
		header := w.Header()
		for name, value := range f.Header {
			header.Set(name, value)
		}
		w.WriteHeader(f.Status)
		w.Write(f.Body)
	}))
}

// startCeiling runs this program as the ceiling: the same answer byte for
// byte, less the work of finding it.
func startCeiling(a answer) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	delete(a.header, "Date")
	answer, err := json.Marshal(fixed{a.status, a.header, a.body})
	if err != nil {
		return nil, err
	}
	return start(launch{path: self, args: []string{ceilingCommand, "PORT"}, stdin: answer, probe: "/"})
}
