package gitremote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/regularfile"
	"svc.example/svc/shared/terminal"
)

// Remote is a git server's repository, and what opens it.
type Remote struct {
	Address Address
	// KeyFile holds a private key for SSH, or a token. It is read for each connection, so
	// that it may be replaced.
	KeyFile string
	// KnownHosts is a file with the host's keys for SSH, as OpenSSH has them.
	KnownHosts string
	// Idle is how long the server may send and take nothing; 0 is a minute.
	Idle time.Duration
}

const (
	receivePack = "git-receive-pack"
	uploadPack  = "git-upload-pack"
	// most bytes of an answer that is no pack.
	maxAnswer  = 32 << 20
	maxKeyFile = 64 << 10
)

// exchange is one conversation with a service of the server.
type exchange struct {
	refs *packp.AdvRefs
	// ask sends a request and reads the answer, which the caller closes.
	ask   func(request []byte) (io.ReadCloser, error)
	close func()
}

// Refusal is what a person has to see to: waiting does not help.
type Refusal struct {
	Message string
	// Request is the number of the change request that decides it; 0 for none.
	Request int64
}

func (r *Refusal) Error() string { return r.Message }

func refuse(format string, args ...any) error { return &Refusal{Message: fmt.Sprintf(format, args...)} }

func (r *Remote) open(ctx context.Context, service string) (*exchange, error) {
	secret, err := r.secret()
	if err != nil {
		return nil, err
	}
	var x *exchange
	if r.Address.IsSSH() {
		x, err = r.openSSH(ctx, service, secret)
	} else {
		x, err = r.openHTTP(ctx, service, string(secret))
	}
	return x, r.inWords(err, secret)
}

// Check says what is wrong with the files before anything is sent.
func (r *Remote) Check() error {
	secret, err := r.secret()
	if err == nil && r.Address.IsSSH() {
		_, err = r.sshSettings(secret)
	}
	return err
}

func (r *Remote) secret() ([]byte, error) {
	if r.KeyFile == "" {
		return nil, nil
	}
	f, err := regularfile.Open(r.KeyFile)
	if err != nil {
		return nil, refuse("the key file cannot be read: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	switch {
	case err != nil:
		return nil, refuse("the key file cannot be read: %v", err)
	case len(text) > maxKeyFile:
		return nil, refuse("the key file %s has more than %d bytes, and is no key or token", r.KeyFile, maxKeyFile)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, refuse("the key file %s is empty", r.KeyFile)
	}
	if !r.Address.IsSSH() {
		text = bytes.TrimSpace(text)
		if bytes.ContainsAny(text, "\r\n") {
			return nil, refuse("the key file %s holds more than one line; for an address with https it holds a token", r.KeyFile)
		}
	}
	return text, nil
}

const maxWords = 600

// inWords is an error without what nobody may see, as one line of bounded length.
func (r *Remote) inWords(err error, secret []byte) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if !r.Address.IsSSH() && len(secret) > 0 {
		text = strings.ReplaceAll(text, string(secret), "xxxxx")
		text = strings.ReplaceAll(text, url.QueryEscape(string(secret)), "xxxxx")
	}
	text = terminal.Cut(terminal.Escape(strings.TrimSpace(strings.ReplaceAll(text, "\n", "; "))), maxWords)
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return &Refusal{text, refusal.Request}
	}
	return errors.New(text)
}

// patient is a connection that fails once nothing has come or gone for a while.
type patient struct {
	net.Conn
	idle time.Duration
}

func (p patient) Read(b []byte) (int, error) {
	_ = p.SetReadDeadline(time.Now().Add(p.idle))
	return p.Conn.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	_ = p.SetWriteDeadline(time.Now().Add(p.idle))
	return p.Conn.Write(b)
}

func (r *Remote) dial(ctx context.Context, network, address string) (net.Conn, error) {
	idle := r.Idle
	if idle == 0 {
		idle = time.Minute
	}
	d := net.Dialer{Timeout: min(idle, 20*time.Second)}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("the remote cannot be reached: %w", err)
	}
	return patient{conn, idle}, nil
}

func (r *Remote) openHTTP(ctx context.Context, service, token string) (*exchange, error) {
	client := &http.Client{
		Transport:     &http.Transport{DialContext: r.dial, Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 1 << 20},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a token goes nowhere else
	}
	send := func(method, below, kind string, body []byte) (io.ReadCloser, error) {
		req, err := http.NewRequestWithContext(ctx, method, r.Address.String()+below, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body != nil {
			req.Header.Set("Content-Type", "application/x-"+service+"-request")
		}
		req.Header.Set("User-Agent", "git/svc") // servers choose their answers by the first word
		if token != "" {
			user := r.Address.user
			if user == "" {
				user = "x-access-token" // GitHub's; GitLab takes any
			}
			req.SetBasicAuth(user, token)
		}
		res, err := client.Do(req)
		if err != nil {
			if inner := (*url.Error)(nil); errors.As(err, &inner) {
				err = inner.Err
			}
			return nil, err
		}
		if err := r.refused(res, "application/x-"+service+"-"+kind); err != nil {
			_ = res.Body.Close()
			return nil, err
		}
		return res.Body, nil
	}
	body, err := send(http.MethodGet, "/info/refs?service="+service, "advertisement", nil)
	if err != nil {
		client.CloseIdleConnections()
		return nil, err
	}
	defer body.Close()
	refs, err := readRefs(body)
	return &exchange{refs: refs, close: client.CloseIdleConnections, ask: func(request []byte) (io.ReadCloser, error) {
		return send(http.MethodPost, "/"+service, "result", request)
	}}, err
}

// refused says what an answer over HTTP that brings nothing means.
func (r *Remote) refused(res *http.Response, kind string) error {
	switch code := res.StatusCode; {
	case code == http.StatusOK && res.Header.Get("Content-Type") == kind:
		return nil
	case code == http.StatusOK:
		return refuse("%s answers no git (%s): is the address right?", r.Address, terminal.Cut(res.Header.Get("Content-Type"), 80))
	case code >= 300 && code < 400:
		to := res.Header.Get("Location")
		if u, err := url.Parse(to); err == nil {
			to = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/info/refs")}).String()
		}
		return refuse("%s leads on to %s, which is not followed: give that address", r.Address, terminal.Cut(baseurl.Redacted(to), 200))
	case code == http.StatusUnauthorized && r.KeyFile == "":
		return refuse("%s wants a token (401): put one into a file, and name it with --remote-key-file", r.Address)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return refuse("%s refuses the token (%d): it has to be valid, and may read and write this repository", r.Address, code)
	case code == http.StatusNotFound:
		return refuse("%s is not there (404), or the token may not see it", r.Address)
	case code == http.StatusRequestEntityTooLarge:
		return refuse("%s takes no push of this size (413): raise what it takes", r.Address)
	}
	return fmt.Errorf("%s answers %d %s", r.Address, res.StatusCode, http.StatusText(res.StatusCode))
}

func readRefs(from io.Reader) (*packp.AdvRefs, error) {
	refs := packp.NewAdvRefs()
	err := refs.Decode(io.LimitReader(from, maxAnswer))
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return refs, nil // a repository without a commit
	case err != nil:
		return nil, fmt.Errorf("the remote's list of branches ends early or makes no sense: %w", err)
	}
	return refs, nil
}
