package gitremote

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/testenv"
)

const token = "t0p/secret+token"

// write writes a file of a test, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// bare is a new repository on a server.
func bare(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "flags.git")
	realgit.Run(t, dir, "init", "-q", "--bare", "-b", "main", path)
	for _, setting := range []string{"uploadpack.allowFilter", "http.receivepack"} {
		realgit.Run(t, path, "config", setting, "true")
	}
	return path
}

// overHTTP is a repository behind nginx, which wants a token, and git http-backend.
func overHTTP(t *testing.T) (r *Remote, repository string) {
	t.Helper()
	testenv.Slow(t)
	dir := t.TempDir()
	repository = bare(t, dir)
	backend := filepath.Join(strings.TrimSpace(realgit.Run(t, dir, "--exec-path")), "git-http-backend")
	git := httptest.NewServer(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=svc", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir}})
	t.Cleanup(git.Close)
	port := freeport.Take()
	write(t, dir, "users", "x-access-token:{PLAIN}"+token+"\n")
	must.Do(t, os.Chmod(filepath.Join(dir, "users"), 0o644))
	config := write(t, dir, "nginx.conf", fmt.Sprintf(`
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events {}
http {
	access_log off;
	client_max_body_size 64m;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen 127.0.0.1:%[2]s;
		location /elsewhere/ { return 301 http://127.0.0.1:%[2]s/flags.git/info/refs; }
		location / { auth_basic git; auth_basic_user_file %[1]s/users; proxy_pass %[3]s; }
	}
}
`, dir, port, git.URL))
	serve(t, port, exec.Command(testenv.Program(t, "on Debian, apt-get install nginx", "nginx"), "-p", dir, "-c", config))
	address := must.Get(ParseAddress("http://127.0.0.1:" + port + "/flags.git"))(t)
	return &Remote{Address: address, KeyFile: write(t, dir, "token", token+"\n")}, repository
}

// overSSH is a repository behind sshd, which takes one deploy key, and a file with its host's key.
func overSSH(t *testing.T) (r *Remote, repository string) {
	t.Helper()
	testenv.Slow(t)
	dir := t.TempDir()
	repository = bare(t, dir)
	program := testenv.Program(t, "on Debian, apt-get install openssh-server", "sshd", "/usr/sbin/sshd")
	if os.Getuid() == 0 { // where sshd wants a folder of its own
		must.Do(t, os.MkdirAll("/run/sshd", 0o755))
	}
	host, hostKey := newKey(t)
	client, clientKey := newKey(t)
	port := freeport.Take()
	write(t, dir, "authorized", client)
	config := write(t, dir, "sshd_config", fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n",
		port, write(t, dir, "host", hostKey), filepath.Join(dir, "authorized")))
	serve(t, port, exec.Command(program, "-D", "-e", "-f", config))
	me := must.Get(user.Current())(t)
	address := must.Get(ParseAddress("ssh://" + me.Username + "@127.0.0.1:" + port + repository))(t)
	return &Remote{Address: address, KeyFile: write(t, dir, "deploy", clientKey), KnownHosts: write(t, dir, "known", "[127.0.0.1]:"+port+" "+host)}, repository
}

// newKey makes a key for SSH.
func newKey(t *testing.T) (public, private string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must.Do(t, err)
	half := must.Get(ssh.NewPublicKey(key.Public()))(t)
	return string(ssh.MarshalAuthorizedKey(half)), string(pem.EncodeToMemory(must.Get(ssh.MarshalPrivateKey(key, ""))(t)))
}

// serve starts a server, and waits until it listens.
func serve(t *testing.T, port string, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("%s:\n%.3000s", filepath.Base(cmd.Path), said.String())
		}
	})
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s: %s", cmd.Path, said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// answering is a remote that answers over HTTP as it is told to.
func answering(t *testing.T, answer http.HandlerFunc) *Remote {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return &Remote{Address: must.Get(ParseAddress(server.URL + "/flags.git"))(t), KeyFile: write(t, t.TempDir(), "token", token), Idle: 200 * time.Millisecond}
}
