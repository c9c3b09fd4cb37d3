package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is a server under measurement.
type process struct {
	cmd   *exec.Cmd
	host  string
	ready time.Duration // from start to first answer
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// start runs a server and waits for its first answer. The port stands for
// PORT in the arguments.
func start(path, probe string, stdin []byte, args ...string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "PORT", strconv.Itoa(port))
	}
	p := &process{cmd: exec.Command(path, args...), host: fmt.Sprintf("127.0.0.1:%d", port)}
	p.cmd.Stdin = bytes.NewReader(stdin)
	p.cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", probe, p.host)
	for time.Since(begin) < 30*time.Second {
		if a, err := once(p.host, request); err == nil && a.status == http.StatusOK {
			p.ready = time.Since(begin)
			return p, nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	p.stop()
	return nil, fmt.Errorf("%s did not answer within 30 s", path)
}

func (p *process) stop() {
	p.cmd.Process.Signal(os.Interrupt)
	p.cmd.Wait()
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
	return start(self, "/", answer, ceilingCommand, "PORT")
}
