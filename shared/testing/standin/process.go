package standin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"svc.example/svc/shared/testing/freeport"
)

// program is a server that can be started.
type program struct {
	name    string                          // on PATH
	find    func() (path string, err error) // where it lies; nil: on PATH
	install string                          // how to get it
	args    func(port string, dir string) []string
	env     []string
	probe   string // a path that answers 200 once the server serves
}

var dynoxide = program{
	name:    "dynoxide",
	install: "shared/testing/standin/install.sh, or: cargo install --locked dynoxide-rs",
	args: func(port string, _ string) []string {
		return []string{"serve", "--host", "127.0.0.1", "--port", port, "--log", "quiet"}
	},
	probe: "/",
}

var versitygw = program{
	name:    "versitygw",
	install: "shared/testing/standin/install.sh, or: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0",
	args: func(port string, dir string) []string {
		return []string{"--port", "127.0.0.1:" + port, "--region", Region, "--quiet", "--keep-alive", "--health", "/health", "posix", dir}
	},
	env:   []string{"ROOT_ACCESS_KEY_ID=" + AccessKey, "ROOT_SECRET_ACCESS_KEY=" + SecretKey},
	probe: "/health",
}

// motoServer keeps queues in memory. It comes with the tools of infra/samlocal.
var motoServer = program{
	name:    "moto_server",
	find:    func() (string, error) { return Tool("moto_server") },
	install: "make tools",
	args: func(port string, _ string) []string {
		return []string{"--host", "127.0.0.1", "--port", port}
	},
	probe: "/moto-api/",
}

// ErrMissing says that a server is not installed.
var ErrMissing = errors.New("not installed")

var (
	startDynoxide  = sync.OnceValues(dynoxide.start)
	startVersitygw = sync.OnceValues(versitygw.start)
	startMoto      = sync.OnceValues(motoServer.start)
)

// start returns the endpoint of a new server. What is no test may take the port
// that was free a moment ago, hence the attempts.
func (p program) start() (endpoint string, err error) {
	find := p.find
	if find == nil {
		find = func() (string, error) { return exec.LookPath(p.name) }
	}
	path, err := find()
	if err != nil {
		return "", fmt.Errorf("%s is %w: %s", p.name, ErrMissing, p.install)
	}
	for range 3 {
		if endpoint, err = p.startAt(path, freeport.Take()); err == nil {
			return endpoint, nil
		}
	}
	return "", err
}

// guard runs a server until its own input ends, then removes what the server
// left. Signals from the terminal go to the whole group; it ignores them,
// because the input ends soon after.
const guard = `trap '' INT TERM HUP
dir=$1; shift
exec 3<&0
"$@" >"$dir/log" 2>&1 3<&- &
server=$!
(cat <&3 >/dev/null; kill -9 $server) &
watch=$!
wait $server
kill -9 $watch
rm -rf "$dir"
`

func (p program) startAt(path string, port string) (string, error) {
	dir, err := os.MkdirTemp("", "svc-standin-")
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "sh", dir, path}, p.args(port, data)...)...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir = dir
	dieWithParent, err := cmd.StdinPipe() // open until this process ends
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	endpoint := "http://127.0.0.1:" + port
	if err := awaitAnswer(endpoint+p.probe, ended); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) // for the message only
		_ = dieWithParent.Close()
		return "", fmt.Errorf("starting %s: %w\n%s", p.name, err, log)
	}
	return endpoint, nil
}

const patience = 20 * time.Second

func awaitAnswer(url string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		select {
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v", patience)
		case <-time.After(20 * time.Millisecond):
		}
		if answers(ctx, url) {
			return nil
		}
	}
}

func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
