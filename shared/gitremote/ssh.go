package gitremote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"svc.example/svc/shared/terminal"
)

func (r *Remote) openSSH(ctx context.Context, service string, key []byte) (*exchange, error) {
	settings, err := r.sshSettings(key)
	if err != nil {
		return nil, err
	}
	conn, err := r.dial(ctx, "tcp", r.Address.host)
	if err != nil {
		return nil, err
	}
	// A context that ends closes the connection, with whatever waits for it.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	end := func() { stop(); _ = conn.Close() }
	x, err := r.converse(conn, settings, service)
	if err != nil {
		end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	x.close = end
	return x, nil
}

func (r *Remote) sshSettings(key []byte) (*ssh.ClientConfig, error) {
	if r.KnownHosts == "" {
		return nil, refuse("the host's key is not known: write it into a file (ssh-keyscan, compared with what the host tells of its keys), and name that with --remote-known-hosts")
	}
	known, err := knownhosts.New(r.KnownHosts)
	if err != nil {
		return nil, refuse("the file of known hosts cannot be read: %v", err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		return nil, refuse("the key in %s has a passphrase, which nobody is there to type: make a deploy key without one (ssh-keygen -t ed25519 -N '')", r.KeyFile)
	}
	if err != nil {
		return nil, refuse("%s holds no private key in PEM or OpenSSH's form", r.KeyFile)
	}
	return &ssh.ClientConfig{
		User: r.Address.user,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: func(host string, at net.Addr, key ssh.PublicKey) error {
			err := known(host, at, key)
			if wrong := (*knownhosts.KeyError)(nil); errors.As(err, &wrong) {
				if len(wrong.Want) == 0 {
					return refuse("%s shows a key that is not in %s: %s. Compare it with what the host tells of its keys, and write it there", host, r.KnownHosts, ssh.FingerprintSHA256(key))
				}
				return refuse("%s shows another key than the one that is pinned in %s: %s instead of %s. Somebody may be in between; where the host itself tells that its key has changed, replace it there", host, r.KnownHosts, ssh.FingerprintSHA256(key), ssh.FingerprintSHA256(wrong.Want[0].Key))
			}
			if err != nil {
				return refuse("%v", err)
			}
			return nil
		},
		HostKeyAlgorithms: algorithms(known, r.Address.host),
	}, nil
}

// algorithms are those of the keys that are pinned for a host, so that it shows one of them.
func algorithms(known ssh.HostKeyCallback, host string) (found []string) {
	wrong := (*knownhosts.KeyError)(nil)
	if err := known(host, &net.TCPAddr{}, nobodysKey{}); !errors.As(err, &wrong) {
		return nil
	}
	for _, k := range wrong.Want {
		if kind := k.Key.Type(); kind == ssh.KeyAlgoRSA {
			found = append(found, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			found = append(found, kind)
		}
	}
	return found
}

// nobodysKey asks a file of known hosts which keys it has.
type nobodysKey struct{}

func (nobodysKey) Type() string                        { return "none" }
func (nobodysKey) Marshal() []byte                     { return []byte("none") }
func (nobodysKey) Verify([]byte, *ssh.Signature) error { return errors.New("nobody's") }

func (r *Remote) converse(conn net.Conn, settings *ssh.ClientConfig, service string) (*exchange, error) {
	c, channels, requests, err := ssh.NewClientConn(conn, r.Address.host, settings)
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return nil, refusal
	}
	if err != nil && strings.Contains(err.Error(), "unable to authenticate") {
		return nil, refuse("%s refuses the deploy key: add its public half there, with the right to write", r.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("the remote ends the handshake: %w", err)
	}
	session, err := ssh.NewClient(c, channels, requests).NewSession()
	if err != nil {
		return nil, err
	}
	in, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said := &beginning{}
	session.Stderr = said
	if err := session.Start(service + " " + quoted(r.Address.path)); err != nil {
		return nil, err
	}
	refs, err := readRefs(out)
	if err != nil {
		_ = conn.Close()
		_ = session.Wait()
		if text := said.String(); text != "" {
			return nil, refuse("%s says: %s", r.Address, terminal.Cut(text, 300))
		}
		return nil, err
	}
	return &exchange{refs: refs, ask: func(request []byte) (io.ReadCloser, error) {
		if _, err := in.Write(request); err != nil {
			return nil, err
		}
		return io.NopCloser(out), in.Close()
	}}, nil
}

// quoted is a path as a shell at the server takes it for one word.
func quoted(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
}

// beginning keeps the first of what is written.
type beginning struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := 4<<10 - b.kept.Len(); room > 0 {
		b.kept.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *beginning) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimSpace(b.kept.String())
}
