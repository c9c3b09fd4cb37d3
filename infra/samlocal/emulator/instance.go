package emulator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Function is a function to be run.
type Function struct {
	Name    string
	Binary  string
	Env     []string // beside what Lambda sets; of it and nothing else the program knows
	Timeout int      // seconds
	Memory  int      // megabytes; an instance that has more resident is killed
}

// instance is one emulator with the program in it.
type instance struct {
	function Function
	process  *exec.Cmd
	address  string
	ended    chan struct{}

	mu   sync.Mutex
	init time.Duration
	last []string // of what it wrote
	// program is the process that the emulator runs, 0 before it is found; peak
	// is how many bytes it had resident at most, as far as was looked.
	program int
	peak    int64
}

// attempts is how often an emulator is started: another process may take a port
// that was free a moment ago.
const attempts = 3

// startInstance starts an emulator. The program itself starts with the first
// event, as RIE does it.
func startInstance(rie string, f Function, log io.Writer) (i *instance, err error) {
	for range attempts {
		if i, err = tryInstance(rie, f, log); err == nil {
			return i, nil
		}
	}
	return nil, err
}

func tryInstance(rie string, f Function, log io.Writer) (*instance, error) {
	ports := []string{freePort(), freePort()}
	i := &instance{function: f, address: ports[0], ended: make(chan struct{})}
	i.process = exec.Command(rie, "--runtime-interface-emulator-address", ports[0], "--runtime-api-address", ports[1], "--log-level", "info", f.Binary)
	i.process.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir(),
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name, "AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_TIMEOUT=" + strconv.Itoa(f.Timeout), "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(f.Memory),
	}, f.Env...)
	i.process.SysProcAttr = attributes()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	i.process.Stdout, i.process.Stderr = writer, writer
	err = i.process.Start()
	writer.Close()
	if err != nil {
		reader.Close()
		return nil, err
	}
	go i.listen(reader, log)
	go func() {
		i.process.Wait()
		close(i.ended)
	}()
	return i, i.ready(ports)
}

// freePort picks an address below the ports that the system gives to
// connections.
func freePort() string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
}

const startUp = 10 * time.Second

// ready waits until the emulator takes events, and the program can fetch them.
func (i *instance) ready(addresses []string) error {
	for deadline := time.Now().Add(startUp); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if listening(addresses) {
			return nil
		}
		select {
		case <-i.ended:
			return fmt.Errorf("%s: the emulator ended: %s", i.function.Name, i.tail())
		default:
		}
	}
	i.stop()
	return fmt.Errorf("%s: the emulator does not listen: %s", i.function.Name, i.tail())
}

func listening(addresses []string) bool {
	for _, a := range addresses {
		c, err := net.Dial("tcp", a)
		if err != nil {
			return false
		}
		c.Close()
	}
	return true
}

var initReport = regexp.MustCompile(`INIT REPORT\(durationMs: ([0-9.]+)\)`)

// listen takes what emulator and program write: the program's own entries go
// on, the emulator's are looked at.
func (i *instance) listen(r io.ReadCloser, log io.Writer) {
	defer r.Close()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := lines.Text()
		i.mu.Lock()
		if m := initReport.FindStringSubmatch(line); m != nil {
			ms, _ := strconv.ParseFloat(m[1], 64)
			i.init = time.Duration(ms * float64(time.Millisecond))
		}
		if i.last = append(i.last, line); len(i.last) > 20 {
			i.last = i.last[1:]
		}
		i.mu.Unlock()
		if strings.HasPrefix(line, "{") {
			fmt.Fprintf(log, "%s %s\n", i.function.Name, line)
		}
	}
}

func (i *instance) tail() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.last, "\n")
}

func (i *instance) initTime() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.init
}

const invocations = "/2015-03-31/functions/function/invocations"

// ErrMemory: the program had more memory resident than its function may have,
// and was killed for it.
var ErrMemory = errors.New("Runtime exited with error: signal: killed; the function went above its MemorySize")

// watchEvery is the time between two looks at the memory of a program at work.
// The system keeps the peak, so that none between two looks is missed; looking
// often ends a program before it takes the memory of others.
const watchEvery = 5 * time.Millisecond

// invoke hands the program an event, and kills it as soon as it has more memory
// than it may have. An instance that did not answer is of no more use.
func (i *instance) invoke(ctx context.Context, event []byte) ([]byte, error) {
	answered := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for i.withinMemory() {
			select {
			case <-answered:
				return
			case <-time.After(watchEvery):
			}
		}
		i.kill()
	}()
	answer, err := i.post(ctx, event)
	close(answered)
	<-watched
	if !i.withinMemory() { // also when it has answered: Lambda would not have let it
		return nil, fmt.Errorf("%w: %d MB of %d MB", ErrMemory, i.peakBytes()>>20, i.function.Memory)
	}
	return answer, err
}

// withinMemory looks at the memory of the program, and says whether it never
// had more than it may have. That of an instance that has ended is what was
// seen last.
func (i *instance) withinMemory() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	peak := peakOf(i.program)
	if peak == 0 { // it is not known, or was not the one
		i.program = child(i.process.Process.Pid)
		peak = peakOf(i.program)
	}
	i.peak = max(i.peak, peak)
	return i.function.Memory == 0 || i.peak <= int64(i.function.Memory)<<20
}

func (i *instance) peakBytes() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.peak
}

func (i *instance) post(ctx context.Context, event []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+i.address+invocations, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the emulator answered %d %.200s", response.StatusCode, body)
	}
	return body, err
}

func (i *instance) stop() {
	if err := i.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return
	}
	<-i.ended
}

// kill ends the emulator and the program, which would work on for a second or two
// until it asks for the next event, and returns when the program has ended.
func (i *instance) kill() error {
	select {
	case <-i.ended: // its number may be another process's by now
		return os.ErrProcessDone
	default:
	}
	program := child(i.process.Process.Pid)
	err := i.process.Process.Kill()
	if program == 0 {
		return err
	}
	if p, found := os.FindProcess(program); found == nil {
		_ = p.Kill() // it may have ended by itself
	}
	for peakOf(program) != 0 {
		time.Sleep(time.Millisecond)
	}
	return err
}
